"""ahn-random-covariances: layers on prompts whose inputs have a covariance of their own."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Experiment, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.seeds import stream
from papers.ahn import layers
from papers.ahn.depth.shaped import Shaped
from papers.ahn.theory import depth
from papers.ahn.theory import random_covariances as random


@dataclass(frozen=True)
class RandomCovariances(Shaped):
    """Each prompt draws Lambda diagonal with independent Exp(1) entries, then x, x_q ~ N(0, Lambda) and w ~ N(0, I).

    long       examples of the contexts that are read with the step sizes of the limit N -> infinity, at the last d
    contexts   of each shape; the error is averaged over the sum of the variances and over the size of the context exactly: it
               is a polynomial of both, and few large ones carry it
    """

    long: Several[AtLeastTwo]
    contexts: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error with the best step sizes of each shape, and in long contexts with those of the limit."""
        own = [self._measured(seed, f"own/{d}/{N}", d, N, _finite(d, N)) for d, N in self.pairs]
        far = [self._measured(seed, f"long/{N}", self.d[-1], N, _limit) for N in self.long]
        columns = {}
        for name, dims, found in (("error", "shape layers", own), ("far", "long layers", far)):
            columns[name] = variable(dims, [each.value for each in found], "error over the variance of a label")
            columns[f"{name}_se"] = variable(dims, [each.standard_error for each in found], "standard error")
            columns[f"{name}_se"].attrs["blocks"] = self.contexts
        return xr.Dataset(columns, coords={**self.coords, "long": list(self.long)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the least errors by exact moments beside it, and the limit."""
        return dataset.assign(
            error_theory=self.table(_least, "least error"),
            error_near=near_misses("shape layers", {name: self.table(each) for name, each in NEAR.items()}),
            limit=variable("layers", [random.limit_error(L) for L in self.each], "2/((L + 1)(L + 2))"),
            limit_plain=variable("layers", [1 / (L + 1) for L in self.each], "1/(L + 1), of the weight e^-lambda"),
        )

    def _measured(self, seed: int, role: str, d: int, N: int, chosen) -> Estimate:
        """Measure E tr(Lambda P(S)^2)/d, the mean over tasks and queries of the squared error."""
        generator, sizes = stream(seed, f"random covariances/{role}/variances"), self.layers + 1
        steps, errors = [layers.steps(chosen(L), d) for L in self.each], []
        for x in layers.examples(seed, f"random covariances/{role}", self.contexts, N, d):
            variances = torch.empty(len(x), d, dtype=x.dtype).exponential_(generator=generator)
            share = variances / variances.sum(-1, keepdim=True)
            S, found = layers.covariance(layers.of_size_1(x) * share[:, None].sqrt()), 0
            for total, often in zip(*layers.sizes(d, sizes), strict=True):
                for size, weight in zip(*layers.sizes(N * d / 2, sizes), strict=True):
                    left = [layers.left(each, total * 2 * size * S).square() for each in steps]
                    off = torch.stack([torch.einsum("bi,bij->b", share, each) for each in left])
                    found = found + often * weight * total / d * off
            errors.append(found)
        return mean(torch.cat(errors, -1))


def _finite(d: int, N: int):
    return lambda L: depth.step_sizes(random.moments(d, N, 2 * L), L)


def _limit(L: int) -> np.ndarray:
    return depth.step_sizes(random.limit_moments(2 * L), L)


@expectation
def _least(d: int, N: int, L: int) -> float:
    return depth.least_error(random.moments(d, N, 2 * L), L)


NEAR = {
    "1 for d": lambda d, N, L: _least(1, N, L),
    "N + 1 for N": lambda d, N, L: _least(d, N + 1, L),
}
_QUICK = RandomCovariances(d=(2, 3), N=(4, 6), long=(40, 160), layers=3, contexts=10_000)
RANDOM_COVARIANCES = Experiment(
    slug="ahn-random-covariances",
    title="More layers where every prompt has a covariance of its own",
    quick=_QUICK,
    full=replace(_QUICK, d=(2, 3, 2, 3), N=(4, 6, 20, 20), long=(60, 240, 960), contexts=60_000),
)
