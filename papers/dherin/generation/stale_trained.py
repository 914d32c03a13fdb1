"""dherin-stale-trained: in a trained regression network, the patch made for one query used for another of the same context."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, variable
from icl_lib.patches.network import forward, patched_network
from icl_lib.patches.sites import Matrix
from icl_lib.seeds import stream
from papers.dherin.trained import ManyBlocks, Training, regression, tokens, trained
from papers.dherin.trainings import FOUR_BLOCKS

PATCHES = ("recomputed", "stale", "none")


@dataclass(frozen=True)
class StaleTrained(Declaration):
    """A shipped network of pre-norm blocks; ``draws`` sets of ``prompts`` contexts of N examples, two queries each.

    N   examples of a context; prompts: contexts of a set; draws: sets, each of which gives a median
    """

    training: Training
    N: Count
    prompts: AtLeastTwo
    draws: Count

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.training.model, ManyBlocks):
            raise ValueError("the patch is one of down projections: take a training of ManyBlocks")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the distance of the prediction for the second query from that with the context."""
        network, weights = (model := trained(self.training, seed, "cpu")).network, model.replicate(0)
        site, found = Matrix("W_down"), []
        for draw in range(self.draws):
            prompts = regression(self.training.model.d).sample(stream(seed, f"prompts/{draw}"), (self.prompts,), self.N)
            one = tokens(prompts)
            two = one.clone()
            two[:, -1] = one.roll(1, 0)[:, -1]
            one, two = (network.embed(weights, each) for each in (one, two))
            (of_one, _), (of_two, out) = network.states(weights, one), network.states(weights, two)
            old, _ = patched_network(network, site, weights, [state.at(-1) for state in of_one], one[:, -1:])
            _, left = patched_network(network, site, weights, [state.at(-1) for state in of_two], two[:, -1:])
            lefts = (left, forward(network, old, two[:, -1:]), forward(network, network.blocks(weights), two[:, -1:]))
            found.append([off(network.read(weights, each)[:, -1], network.read(weights, out)[:, -1]) for each in lefts])
        text = "median distance from the prediction with the context, over the root mean square of the predictions"
        return xr.Dataset({"error": variable("draw patches", np.array(found), text)}, coords={"patches": list(PATCHES)})


def off(found: Tensor, expected: Tensor) -> float:
    """Return the median of |found - expected| over the root mean square of expected."""
    return ((found - expected).abs().median() / expected.square().mean().sqrt()).item()


_QUICK = StaleTrained(training=FOUR_BLOCKS, N=40, prompts=60, draws=6)
STALE_TRAINED = Experiment(
    slug="dherin-stale-trained",
    title="A patch for another query, trained network",
    quick=_QUICK,
    full=replace(_QUICK, prompts=200, draws=20),
)
