"""lenses-small-logits: softmax attention as a slope, its series in the size of the logits, and one patch for all queries."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Le, MinLen
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Count,
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
from papers.regression import shapes

STEP = 1e-5
"""Half the width of the central differences."""


@dataclass(frozen=True)
class SmallLogits(Declaration):
    """Softmax attention with values V z_i and logits eps <z_i, K q>, all drawn from normal distributions.

    d, N       entries of a query and tokens of a context, one of each a shape; tokens have one entry more than queries
    eps        sizes of the logits at which the series is cut
    o          entries of a value
    terms      most terms of the series
    queries    at which outputs are kept
    blocks, fitted   fits of one affine map at eps = 1, and queries of each
    """

    d: Several[Annotated[int, Ge(1), Le(3)]]
    N: Several[AtLeastTwo]
    eps: Annotated[tuple[Positive, ...], MinLen(2)]
    o: Count
    terms: Count
    queries: Count
    blocks: AtLeastTwo
    fitted: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, N=self.N)
        if len({*self.d}) < len(self.d):
            raise ValueError(f"d is {self.d}: take each d once")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Keep the outputs at some queries, at all sizes of the logits and at 1, and the slope of the best affine map."""
        drawn = [self._drawn(seed, place) for place in range(len(self.d))]
        sizes = (*self.eps, 1.0)
        outputs = [[softmax_attention(*each[:3], eps, each[3]).numpy() for eps in sizes] for each in drawn]
        fits = [mean(self._fits(seed, place, *each[:3])) for place, each in enumerate(drawn)]
        value, error = (np.concatenate(each) for each in zip(*fits, strict=True))
        columns = {
            "output": variable("shape eps query entry", outputs, "output of softmax attention"),
            "patch": variable("coefficient", value, "linear part of the best affine map of the query, logits of size 1"),
            "patch_se": variable("coefficient", error, "standard error over fits"),
        }
        columns["patch_se"].attrs["blocks"] = self.blocks
        return xr.Dataset(columns, coords={"shape": shapes.told(d=self.d, N=self.N), "eps": list(sizes)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the slope of the log-partition function beside the outputs, the series, and the mean curvature."""
        drawn = [[each.numpy() for each in self._drawn(seed, place)] for place in range(len(self.d))]
        curvatures = {
            name: np.concatenate([(V @ one(K, z) @ K).ravel() for V, K, z, _ in drawn]) for name, one in CURVATURES.items()
        }
        slopes, bare = (
            [[_differences(function, V, K, z, eps, q) for eps in dataset.eps.values] for V, K, z, q in drawn]
            for function in (one_function.log_partition, _without_logarithm)
        )
        left = {name: self._left(dataset, drawn, one) for name, (_, one) in SERIES.items()}
        rates = {name: log_log_slope(np.array(self.eps), each) for name, each in left.items()}
        scale = abs(dataset.output).mean(["query", "entry"]) + 0 * dataset.output
        size = (dataset.patch**2).mean() ** 0.5 + 0 * dataset.patch
        terms = np.arange(1, self.terms + 1)
        return dataset.assign(
            output_theory=variable("shape eps query entry", slopes, "V grad Phi_C(eps K q), by central differences"),
            output_near=near_misses("shape eps query entry", {"without the logarithm": bare}),
            output_scale=scale.assign_attrs(long_name="mean size of the outputs", units="1"),
            **{
                f"left{end}": variable("terms small", left[end], f"what {told} leaves, as a share")
                for end, (told, _) in SERIES.items()
            },
            **{f"rate{end}": variable("terms", rates[end], f"its exponent, {told}") for end, (told, _) in SERIES.items()},
            patch_theory=variable("coefficient", curvatures.pop("mean"), "V E[Hessian of Phi_C at K q] K"),
            patch_near=near_misses("coefficient", curvatures),
            patch_scale=size.assign_attrs(long_name="root mean square of the coefficients", units="1"),
        ).assign_coords(terms=terms, small=list(self.eps))

    def _drawn(self, seed: int, place: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Draw V, K, tokens and queries of a shape; logits at eps = 1 have a variance of 1 over tokens and queries."""
        d, N, like = self.d[place], self.N[place], torch.zeros((), dtype=torch.float64)
        shapes = {"V": (self.o, d + 1), "K": (d + 1, d), "z": (N, d + 1), "q": (self.queries, d)}
        V, K, z, q = (normal(stream(seed, f"small logits/{place}/{name}"), shape, like) for name, shape in shapes.items())
        return V, K / K.norm(), z, q

    def _fits(self, seed: int, place: int, V: Tensor, K: Tensor, z: Tensor) -> Float[Tensor, "c B"]:
        """Fit an affine map to the outputs at fresh queries, once a block; return its linear part, by entries."""
        q = normal(stream(seed, f"small logits/{place}/fitted"), (self.blocks, self.fitted, self.d[place]), V)
        affine = torch.cat([torch.ones_like(q[..., :1]), q], -1)
        found = torch.linalg.lstsq(affine, softmax_attention(V, K, z, 1.0, q)).solution[:, 1:]
        return found.permute(2, 1, 0).flatten(0, 1)

    @expectation
    def _left(self, dataset: xr.Dataset, drawn: list, coefficients) -> np.ndarray:
        """Return what each partial sum leaves of the outputs, root mean square over all, by terms and size."""
        found = np.zeros((self.terms, len(self.eps)))
        for place, (V, K, z, queries) in enumerate(drawn):
            for k, q in enumerate(queries):
                series = coefficients(z @ V.T, z @ (K @ q), self.terms)
                for (n, e), _ in np.ndenumerate(found):
                    guess = one_function.partial_sum(series[: n + 1], self.eps[e])
                    found[n, e] += ((dataset.output.values[place, e, k] - guess) ** 2).sum()
        return (found / (dataset.output.isel(eps=0) ** 2).sum().item()) ** 0.5


def softmax_attention(V: Tensor, K: Tensor, z: Tensor, eps: float, q: Float[Tensor, "*B d"]) -> Float[Tensor, "*B o"]:
    """Return sum_i attn_i V z_i with attn = softmax_i(eps <z_i, K q>)."""
    return (eps * q @ (z @ K).mT).softmax(-1) @ (z @ V.mT)


def _differences(function, V, K, z, eps: float, q) -> np.ndarray:
    """Return V times the central differences of a function of a context at eps K q, queries by rows."""
    k, steps = eps * q @ K.T, STEP * np.eye(z.shape[1])
    ends = [function(k[:, None] + sign * steps, z) for sign in (1, -1)]
    return (ends[0] - ends[1]) @ V.T / (2 * STEP)


def _without_logarithm(k: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.exp(one_function.log_partition(k, z))


SERIES = {
    "": ("the series of cumulants", lambda *tokens: one_function.cumulants(*tokens)),
    "_central": ("a series of central moments", one_function.central_moments),
    "_raw": ("a series of raw moments", one_function.raw_moments),
}
CURVATURES = {
    "mean": lambda K, z: one_function.mean_curvature(K, z),
    "queries on the sphere": lambda K, z: one_function.mean_curvature_on_sphere(K, z),
    "curvature at 0": lambda K, z: one_function.curvature(np.zeros(len(K)), z),
    "attention averaged first": lambda K, z: one_function.averaged_first(K, z),
}
_QUICK = SmallLogits(d=(2, 3), N=(6, 12), eps=(0.0025, 0.005, 0.01, 0.02), o=2, terms=4, queries=20, blocks=40, fitted=1000)
SMALL_LOGITS = Experiment(
    slug="lenses-small-logits",
    title="Attention as a slope, and its series in the size of the logits",
    quick=_QUICK,
    full=replace(_QUICK, queries=40, blocks=100, fitted=5000),
)
