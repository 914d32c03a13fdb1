"""ahn-depth: what L layers of linear attention with one step size each leave of a linear task."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Experiment, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from papers.ahn import layers
from papers.ahn.depth.shaped import Shaped
from papers.ahn.theory import depth, wishart
from papers.zhang.theory import optimum


@dataclass(frozen=True)
class Depth(Shaped):
    """Tasks w ~ N(0, I), inputs x ~ N(0, I), labels <w, x>; layers a_l I in the label slot, queries outside of the context.

    contexts   of each shape; the error is averaged over tasks and queries exactly, by those along the axes, and over sizes of
               the context, of which it is a polynomial
    """

    contexts: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error with the best step sizes."""
        found = [self._measured(seed, d, N) for d, N in self.pairs]
        columns = {
            "error": variable("shape layers", [each.value for each in found], "error over that of no answer"),
            "error_se": variable("shape layers", [each.standard_error for each in found], "standard error"),
        }
        columns["error_se"].attrs["blocks"] = self.contexts
        return xr.Dataset(columns, coords=self.coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the least errors beside it, by exact moments, and for one layer the one by Zhang et al.'s matrix."""
        pairs = self.pairs
        one = dataset.sel(layers=1, drop=True)
        return dataset.assign(
            error_theory=self.table(_least, "least error"),
            error_near=near_misses("shape layers", {name: self.table(each) for name, each in NEAR.items()}),
            one=one.error,
            one_se=one.error_se,
            one_theory=variable("shape", [_zhang(d, N) for d, N in pairs], "error of Zhang et al.'s limit of training"),
            one_near=near_misses("shape", {"d for d + 1": [d / (d + N + 1) for d, N in pairs]}),
        )

    def _measured(self, seed: int, d: int, N: int) -> Estimate:
        one, errors = torch.eye(d, dtype=torch.float64), []
        chosen = [layers.steps(depth.step_sizes(wishart.moments(d, N, 2 * L), L), d) for L in self.each]
        for shape in map(layers.of_size_1, layers.examples(seed, f"depth/{d}/{N}", self.contexts, N, d)):
            found = 0
            for size, weight in zip(*layers.sizes(N * d / 2, self.layers + 1), strict=True):
                x = (2 * size) ** 0.5 * shape
                off = [one - layers.answers(A, x, x, one.expand(len(x), d, d)) for A in chosen]
                found = found + weight * torch.stack([each.square().sum((-1, -2)) / d for each in off])
            errors.append(found)
        return mean(torch.cat(errors, -1))


@expectation
def _least(d: int, N: int, L: int) -> float:
    return depth.least_error(wishart.moments(d, N, 2 * L), L)


@expectation
def _apart(d: int, N: int, L: int) -> float:
    """The least error if E[tr W^j tr W^k] were the product of both means."""
    means = [d]
    for k in range(1, 2 * L + 1):
        means.append((N + k - 1) * means[-1] + sum(means[j] * means[k - 1 - j] for j in range(1, k)))
    return depth.least_error([Fraction(each, d * N**k) for k, each in enumerate(means)], L)


@expectation
def _zhang(d: int, N: int) -> float:
    """tr(I - Gamma^-1)/d."""
    return float(1 - np.trace(np.linalg.inv(optimum.Gamma(np.eye(d), N))) / d)


NEAR = {
    "N + 1 for N": lambda d, N, L: _least(d, N + 1, L),
    "d - 1 for d": lambda d, N, L: _least(d - 1, N, L),
    "traces taken one by one": lambda d, N, L: _apart(d, N, L),
}
_QUICK = Depth(d=(3, 6), N=(12, 20), layers=3, contexts=20_000)
DEPTH = Experiment(
    slug="ahn-depth",
    title="Each layer takes a root of one polynomial",
    quick=_QUICK,
    full=replace(_QUICK, d=(3, 5, 5, 10), N=(10, 10, 20, 20), layers=4, contexts=120_000),
)
