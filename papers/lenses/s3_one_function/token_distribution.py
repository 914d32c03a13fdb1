"""lenses-token-distribution: what no change of weights for all queries carries, for two distributions of tokens."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Le
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Declaration,
    Experiment,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
)
from icl_lib.measure.estimate import mean
from icl_lib.measure.slope import log_log_slope
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.lenses.theory import one_function

GAUSSIAN, PATTERNS = "Gaussian", "patterns"
TOKENS = (GAUSSIAN, PATTERNS)
RAY = np.linspace(0, 6, 61)
"""Lengths of the key at which the log-partition function is drawn."""


@dataclass(frozen=True)
class TokenDistribution(Declaration):
    """Softmax attention over contexts of tokens with covariance I, and fresh queries of length sqrt(d).

    d          dimension of tokens and queries
    x          variance of a logit, eps^2 d
    N          tokens of a context
    contexts   of each kind; queries: of each context
    """

    d: Several[Annotated[int, Ge(2), Le(6)]]
    x: Several[Positive]
    N: Several[AtLeastTwo]
    contexts: AtLeastTwo
    queries: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if len(self.N) < 3 or self.queries < max(self.d) + 2:
            raise ValueError("take three lengths N or more, and more queries than an affine map of them has rows")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit one affine map of the queries to the outputs of each context, and measure what it leaves."""
        found = [[[[self._left(seed, kind, d, x, N) for N in self.N] for x in self.x] for d in self.d] for kind in TOKENS]
        left, error, whole = np.moveaxis(np.array(found), -1, 0)
        dims = "tokens d x N"
        columns = {
            "left": variable(dims, left, "variance of the output that one affine map of the query leaves"),
            "left_se": variable(dims, error, "standard error over contexts"),
            "whole": variable(dims, whole, "variance of the output over queries"),
        }
        return xr.Dataset(columns, coords={"tokens": list(TOKENS), "d": list(self.d), "x": list(self.x), "N": list(self.N)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the limits of long contexts beside it: N times what Gaussian tokens leave, and what patterns leave."""
        short, long = dataset.N.values[-2:]
        weights = np.array([-short, long]) / (long - short)  # of the two longest: they take out the next term in 1/N
        left, error = (
            {kind: dataset[name].sel(tokens=kind).values[..., -2:] for kind in TOKENS} for name in ("left", "left_se")
        )
        limit = {GAUSSIAN: weights * dataset.N.values[-2:], PATTERNS: weights}
        end, spread = {}, {}
        for kind, by in limit.items():
            end[kind], spread[kind] = (left[kind] * by).sum(-1), np.linalg.norm(error[kind] * by, axis=-1)
        found = dataset.assign(
            share=(dataset.left / dataset.whole).assign_attrs(long_name="share of the output's variance that no patch carries"),
            slope=variable(
                "tokens d x", log_log_slope(dataset.N.values[-3:].astype(float), dataset.left.values[..., -3:]), "exponent in N"
            ),
            gaussian=variable("d x", end[GAUSSIAN], "N times what Gaussian tokens leave in the end"),
            gaussian_se=variable("d x", spread[GAUSSIAN], "its standard error"),
            gaussian_theory=variable("d x", self._each(one_function.gaussian_left), "its limit"),
            gaussian_near=near_misses("d x", {label: self._each(one) for label, one in GAUSSIAN_MISSES.items()}),
            floor=variable("d x", end[PATTERNS], "what patterns leave in the end"),
            floor_se=variable("d x", spread[PATTERNS], "its standard error"),
            floor_theory=variable("d x", self._each(one_function.pattern_left), "its limit"),
            floor_near=near_misses("d x", {label: self._each(one) for label, one in PATTERN_MISSES.items()}),
            **self._ray(seed),
        )
        found = found.assign_coords(t=("t", RAY, {"long_name": "length of the key", "units": "1"}))
        return found.assign({name: found[name].assign_attrs(blocks=self.contexts) for name in ("gaussian_se", "floor_se")})

    @expectation
    def _ray(self, seed: int) -> dict[str, xr.Variable]:
        """Return Phi_C of the shortest contexts along the first axis, with its parabola at 0 and its asymptote."""
        drawn = [tokens(stream(seed, f"token distribution/ray/{kind}"), kind, self.N[0], self.d[0]).numpy() for kind in TOKENS]
        k = RAY[:, None] * np.eye(self.d[0])[0]
        along = [each[:, 0] for each in drawn]
        curves = {
            "phi": [one_function.log_partition(k, each) for each in drawn],
            "parabola": [each.mean() * RAY + each.var() * RAY**2 / 2 for each in along],
            "asymptote": [each.max() * RAY + np.log((each == each.max()).mean()) for each in along],
        }
        words = ("log-partition function along an axis", "its parabola at 0", "the largest logit, as it looks up")
        return {name: variable("tokens t", each, told) for (name, each), told in zip(curves.items(), words, strict=True)}

    def _each(self, formula) -> list[list[float]]:
        return [[formula(d, x) for x in self.x] for d in self.d]

    def _left(self, seed: int, kind: str, d: int, x: float, N: int) -> tuple[float, float, float]:
        generator = stream(seed, f"token distribution/{kind}/{d}/{x}/{N}")
        rest, whole = zip(*(self._context(generator, kind, d, x, N) for _ in range(self.contexts)), strict=True)
        return *mean(torch.stack(rest)), float(torch.stack(whole).mean())

    def _context(self, generator: torch.Generator, kind: str, d: int, x: float, N: int) -> tuple[Tensor, Tensor]:
        like = torch.zeros((), dtype=torch.float64)
        z, q = tokens(generator, kind, N, d), normal(generator, (self.queries, d), like)
        q = q * d**0.5 / q.norm(dim=-1, keepdim=True)
        A = ((x / d) ** 0.5 * q @ z.T).softmax(-1) @ z
        affine = torch.cat([torch.ones_like(q[:, :1]), q], -1)
        rest = A - affine @ torch.linalg.lstsq(affine, A).solution
        return rest.square().sum() / (self.queries - d - 1), A.var(0).sum()


def tokens(generator: torch.Generator, kind: str, N: int, d: int) -> Float[Tensor, "N d"]:
    """Draw N tokens of mean 0 and covariance I: N(0, I), or sqrt(d) times an axis with either sign."""
    if kind == GAUSSIAN:
        return normal(generator, (N, d), torch.zeros((), dtype=torch.float64))
    axis, sign = (torch.randint(high, (N,), generator=generator) for high in (d, 2))
    return torch.eye(d, dtype=torch.float64)[axis] * (d**0.5 * (2 * sign - 1))[:, None]


GAUSSIAN_MISSES = {
    "d for d + u": partial(one_function.gaussian_left, kernel=lambda u, d: d * np.exp(u)),
    "d + 1 for d": lambda d, x: one_function.gaussian_left(d + 1, x),
}
PATTERN_MISSES = {
    "over d + 1 directions": lambda d, x: one_function.pattern_left(d, x) * d / (d + 1),
    "curvature at 0": one_function.pattern_left_at_zero,
    "mean curvature": one_function.pattern_left_mean_curvature,
}
_QUICK = TokenDistribution(d=(2, 3), x=(0.5, 1.5), N=(20, 80, 320, 1280), contexts=700, queries=40)
TOKEN_DISTRIBUTION = Experiment(
    slug="lenses-token-distribution",
    title="Which tokens one patch serves",
    quick=_QUICK,
    full=replace(_QUICK, d=(2, 3, 5), N=(20, 80, 320, 1280, 5120), contexts=4000),
)
