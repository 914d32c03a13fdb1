"""lenses-what-is-left: the excess of trained networks, token by token: what is one wrong vector, and what is no vector."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import Experiment, expectation, variable
from icl_lib.measure.estimate import mean
from papers.ahn.theory import depth, wishart
from papers.dherin.trained import Training
from papers.dherin.trainings import ONE_BLOCK, PREFIX_ATTENTION
from papers.lenses.s4_what_is_left import parts
from papers.lenses.s4_what_is_left.asked import Asked
from papers.lenses.s4_what_is_left.contexts import isotropic, least_norm
from papers.lenses.s4_what_is_left.readers import CHUNK, Reader, dimension, names, readers
from papers.lenses.theory import what_is_left as left
from papers.regression.decoders import DecoderTraining
from papers.regression.trainings import FIXED

NAMES = {
    "excess": "risk beyond that of the posterior mean",
    "missed": "its part in one vector: squared distance of the answers' vector from the posterior mean",
    "curved": "its part in no vector: mean square of what is not linear in the query",
}


@dataclass(frozen=True)
class WhatIsLeft(Asked):
    """Shipped networks after k examples of contexts as in their training; those of one training are told apart by seed.

    queries            of each context, half of which fit the vector that the others are held to

    Shared stream: weights: blocks and decoders are trained each for themselves, as for the pages that ship them.
    Shared stream: data/#: the same.
    """

    def __post_init__(self):
        super().__post_init__()
        if self.queries < 4 * max(map(dimension, self.trainings)):
            raise ValueError("half of the queries fit a vector: take four times as many as dimensions, or more")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Estimate excess and parts for each network, as shares of the risk of no answer, d."""
        found = np.array([self._training(each, seed, device) for each in self.trainings])
        columns = {}
        for place, (name, told) in enumerate(NAMES.items()):
            columns[name] = variable("network seed k", found[..., place, 0], f"{told}, over d")
            columns[f"{name}_se"] = variable("network seed k", found[..., place, 1], "standard error over contexts")
        return xr.Dataset(columns, coords={"network": names(*self.trainings), "k": list(self.k)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the share that is no vector beside the parts, and the means over the networks of a training."""
        means = {
            f"{name}_mean": dataset[name].mean("seed").assign_attrs(long_name=f"{told}, mean over networks", units="1")
            for name, told in NAMES.items()
        }
        share = (dataset.curved / (dataset.curved + dataset.missed)).assign_attrs(
            long_name="share of the excess that no vector carries", units="1"
        )
        steps = [[self._one_step(dimension(each), k) if k <= each.N else np.nan for k in self.k] for each in self.trainings]
        return dataset.assign(
            share=share, one_step=variable("network k", steps, "excess of the best single gradient step, over d"), **means
        )

    @expectation
    def _one_step(self, d: int, k: int) -> float:
        """Return the excess of the best single step on k examples, over d."""
        return left.excess(depth.least_error(wishart.moments(d, k, 2), 1), d, k)

    def _training(self, training: Training | DecoderTraining, seed: int, device: str) -> np.ndarray:
        found = readers(training, seed, device)
        return np.array(
            [self._network(each, training, f"what is left/{training.name}/{s}", seed) for s, each in enumerate(found)]
        )

    def _network(self, reader: Reader, training: Training | DecoderTraining, role: str, seed: int) -> np.ndarray:
        """Return mean and standard error of each part after each number of examples; NaN beyond the training length."""
        d, found = dimension(training), np.full((len(self.k), len(NAMES), 2), np.nan)
        drawn = isotropic(seed, role, (self.contexts, training.N, self.queries), d)
        for place, k in enumerate(self.k):
            if k <= training.N:
                each = [split(reader, *(part[i : i + CHUNK] for part in drawn[1:]), k) for i in range(0, self.contexts, CHUNK)]
                found[place] = np.stack(mean(torch.cat(each, -1) / d), -1)
        return found


def split(reader: Reader, x: Tensor, y: Tensor, queries: Tensor, k: int) -> Tensor:
    """Return excess, distance from the posterior mean and what is not linear, for each context, w ~ N(0, I) without noise."""
    answers, c, M = reader.read(x, y, queries, k).output, least_norm(x[:, :k], y[:, :k]), torch.eye(x.shape[-1], dtype=x.dtype)
    return torch.stack(
        [parts.square(answers, queries, c), parts.distance(answers, queries, c, M), parts.curved(answers, queries, M)]
    )


_QUICK = WhatIsLeft(
    blocks=(ONE_BLOCK, PREFIX_ATTENTION),
    decoders=(FIXED[0], FIXED[2]),
    k=(1, 2, 3, 4, 5, 7, 10, 20, 50, 100),
    contexts=40,
    queries=48,
)
WHAT_IS_LEFT = Experiment(
    slug="lenses-what-is-left",
    title="The excess of trained networks: one wrong vector, or none",
    quick=_QUICK,
    full=replace(_QUICK, contexts=1000, queries=64),
)
