"""dherin-costs: operations of a decoding step with the context and of one with patches, counted by PyTorch, and predicted."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from torch.utils.flop_counter import FlopCounterMode

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, variable
from papers.dherin.architectures import Sizes, architecture, words
from papers.dherin.patched_generation import with_context, with_patches
from papers.dherin.theory import generation as theory


@dataclass(frozen=True)
class Costs(Declaration):
    """One Llama-style network and one step after each of ``lengths`` tokens; times are the least of ``repeats``.

    depth     blocks of the network
    lengths   tokens of a text after which one step is counted and timed
    repeats   times that a step is timed; the least time counts
    """

    sizes: Sizes
    depth: Count
    lengths: Several[AtLeastTwo]
    repeats: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Count the operations of matrix products, and take the time."""
        built = architecture("Llama", self.depth, self.sizes)
        weights = {key: weight.to(device) for key, weight in built.weights(seed, 0).items()}
        steps = with_context(built.network, weights), with_patches(built.network, built.site, weights)
        texts = [words(seed, f"text/{T}", self.sizes, T).to(device) for T in self.lengths]
        counted = np.array([[counts(lambda: step(text)) for text in texts] for step in steps], float)  # noqa: B023
        seconds = np.array([[self.seconds(lambda: step(text)) for text in texts] for step in steps])  # noqa: B023
        return xr.Dataset(
            {
                "operations": variable("decoding length", counted, "operations of matrix products, counted by PyTorch"),
                "ratio": variable("length", counted[1] / counted[0], "operations with patches over those with the context"),
                "seconds": variable("decoding length", seconds, "time of a step on the machine that ran this", "s"),
            },
            coords={"decoding": ["context", "patches"], "length": list(self.lengths)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the formulas beside it."""
        D, H, L, V = self.sizes.width, self.sizes.hidden, self.depth, self.sizes.vocabulary
        patch = theory.patch_products(D, H, L, V)
        full = np.array([theory.full_cost(D, H, L, V, T) for T in self.lengths], float)
        own = full - 2 * D * V + patch  # the states with the context need no read-out
        ratio = [theory.cost_ratio(D, H, L, V, T, True) for T in self.lengths]
        even = theory.break_even(D, H, L, V)
        return dataset.assign(
            operations_theory=variable("decoding length", np.stack([full, own]), "the same from the formulas"),
            patch_products=variable("", float(patch), "operations of the patch alone, from the formula"),
            ratio_cached=variable(
                "length", ratio, "the same with outer products, when keys and values are kept, from the formulas"
            ),
            even=variable("", even, "length from which a patch alone is cheaper than a cached step"),
        )

    def seconds(self, step: Callable) -> float:
        """Return the least time of some repeats."""
        best = float("inf")
        for _ in range(self.repeats):
            began = time.perf_counter()
            step()
            best = min(best, time.perf_counter() - began)
        return best


def counts(step: Callable) -> int:
    """Return the operations of matrix products in one call, two for a multiplication and an addition."""
    with FlopCounterMode(display=False) as counter:
        step()
    return counter.get_total_flops()


_QUICK = Costs(
    sizes=Sizes(width=48, heads=6, hidden=128, experts=4, active=2, vocabulary=97), depth=6, lengths=(4, 16, 64), repeats=2
)
COSTS = Experiment(
    slug="dherin-costs",
    title="The cost of a patch",
    quick=_QUICK,
    full=replace(_QUICK, lengths=(2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)),
)
