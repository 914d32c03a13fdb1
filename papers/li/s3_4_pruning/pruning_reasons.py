"""li-pruning-reasons: in which networks does deleting long rows cost 0-1 error out of domain?"""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    PositiveShare,
    Several,
    Share,
    expectation,
    variable,
    variables,
)
from icl_lib.seeds import stream
from papers.li.classification import hinge, wrong
from papers.li.odr import ODRPatterns
from papers.li.pruning import largest_first, random_large, small_neurons
from papers.li.published import pruned_points
from papers.li.s3_4_pruning.magnitudes import train_each
from papers.li.s3_4_pruning.pruning import contributions, deleted_margins
from papers.li.softmax_attention import output_weights
from papers.li.task_sets import task_set
from papers.li.theory import pruning
from papers.li.trained import A, B, Setting, Trained

ORDERS = ("largest first", "random")


@dataclass(frozen=True)
class PruningReasons(Declaration):
    """Deletion of fractions R of the long rows in several settings; random deletion is repeated.

    settings                 name and letters of each setting; seeds: models of each setting
    R                        fractions of the long rows of W_O that are deleted; repeats: random deletions of each fraction
    S_1                      coefficient sum of the ODR patterns; odr: patterns out of domain
    alpha, length, prompts   prompts for each draw
    """

    settings: Several[tuple[str, Setting]]
    seeds: AtLeastTwo
    R: Several[Share]
    repeats: Count
    S_1: float
    odr: ODRPatterns
    alpha: PositiveShare
    length: Count
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        if self.R[0] != 0:
            raise ValueError(f"R = {self.R} must begin with 0: errors are compared with those of the whole network")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train every setting, delete and measure."""
        names, settings = zip(*self.settings, strict=True)
        found = train_each(settings, self.seeds, seed, device)
        cells = [self.read(models[setting.T], seed) for models, setting in zip(found, settings, strict=True)]
        columns = variables(NAMES, cells, "setting {} seed", "f4") | variables(COUNTS, cells, "setting {} seed")
        coords = {"setting": list(names), "order": list(ORDERS), "R": list(self.R)}
        return xr.Dataset(columns, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the error beside it that follows from the probability that random deletion takes all rows of a label.

        Only large rows are deleted: a label with a small row that contributes cannot be silenced.
        """
        cells = np.ndindex(len(self.settings), 2, len(self.R), self.seeds)
        P = np.reshape([self._silenced(dataset, *cell) for cell in cells], (-1, 2, len(self.R), self.seeds))
        both = P.min(1) * (P == 1).all(1)
        one = P.sum(1) - 2 * both
        lost, error = one + both, pruning.random_error(dataset.error.values[:, 1, :1], one, both)
        return dataset.assign(
            {
                name: variable("setting R seed", values.astype("f4"), text)
                for name, values, text in (("lost", lost, LOST), ("error_theory", error, ERROR))
            }
            | pruned_points()
        )

    @expectation
    def _silenced(self, dataset: xr.Dataset, setting: int, label: int, R: int, seed: int) -> float:
        """Return the probability that random deletion takes all rows of a label that contribute."""
        large, deleted = dataset.large.values[setting, :, seed], dataset.deleted.values[setting, R, seed]
        if dataset.safe.values[setting, label, seed]:
            return 0.0
        return pruning.label_lost(int(large[label]), int(large.sum()), int(deleted))

    def read(self, trained: Trained, seed: int) -> dict[str, np.ndarray]:
        """Return all readings of one setting, the seed last."""
        W_O, m = trained.parameters["W_O"], trained.setting.m
        positive, small = output_weights(m) > 0, small_neurons(W_O)
        kept = [~largest_first(W_O, R) for R in self.R]
        kept += [~random_large(stream(seed, f"random/{k}"), W_O, R) for R in self.R for k in range(self.repeats)]
        kept += [positive.expand_as(small), ~positive.expand_as(small)]
        patterns, tasks = self.odr.drawn(trained, self.S_1, seed, "patterns"), task_set("all", self.odr.count)
        probe = {"alpha": self.alpha, "length": self.length, "prompts": self.prompts, "seed": seed, "name": "prompts"}
        margin = deleted_margins(trained, torch.stack(kept, 1), patterns, tasks, **probe)
        plus, minus = margin[:, -2], margin[:, -1]
        error, cost = (self.by_order(loss(margin[:, :-2]).mean(-1)) for loss in (wrong, hinge))
        safe = small & (contributions(trained) > 0)
        labels = torch.stack([positive, ~positive])[:, None]
        return {
            "error": error,
            "hinge": cost,
            "mixed": ((plus != 0) & (minus != 0)).double().mean(-1).numpy(),
            "large": (~small & labels).sum(-1).numpy(),
            "safe": (safe & labels).sum(-1).numpy(),
            "deleted": (~torch.stack(kept[: len(self.R)])).sum(-1).numpy(),
        }

    def by_order(self, loss: Tensor) -> np.ndarray:
        """Return (order, R, seed) from (seed, deletion); repeats are averaged."""
        ordered, at_random = loss[:, : len(self.R)], loss[:, len(self.R) :].unflatten(1, (len(self.R), self.repeats)).mean(-1)
        return torch.stack([ordered, at_random]).mT.numpy()


NAMES = {
    "error": ("order R", "0-1 error"),
    "hinge": ("order R", "hinge loss"),
    "mixed": ("", "share of prompts that activate rows of both labels"),
}
LOST = "probability that random deletion takes all rows of a label that contribute"
ERROR = "0-1 error predicted from that probability, random deletion"
COUNTS = {
    "large": ("label", "large rows of the label"),
    "safe": ("label", "small rows of the label that contribute"),
    "deleted": ("R", "rows deleted"),
}
"""Readings of one setting: dimensions beside setting and seed, and what they are."""

ONE = replace(A, tasks="cyclic 1")

SHORT = replace(A, T=70, B=128)

_QUICK = PruningReasons(
    settings=(
        ("A", SHORT),
        ("r = 1", replace(SHORT, tasks="cyclic 1")),
        ("m = 20", replace(SHORT, m=20)),
        ("m = 10", replace(SHORT, m=10)),
        ("m = 10, r = 1", replace(SHORT, tasks="cyclic 1", m=10)),
    ),
    seeds=4,
    R=(0.0, 0.2, 0.4, 0.6, 0.8, 0.9),
    repeats=25,
    S_1=1.1,
    odr=ODRPatterns(count=3, distractors=10, draws=4),
    alpha=0.6,
    length=20,
    prompts=300,
)
PRUNING_REASONS = Experiment(
    slug="li-pruning-reasons",
    title="When deletion costs 0-1 error",
    quick=_QUICK,
    full=replace(
        _QUICK,
        settings=(
            ("A", A),
            ("A, 60 steps", replace(A, T=60)),
            ("ξ = 1/√m", replace(A, xi=0.1)),
            ("K = 1.5", replace(A, K=1.5)),
            ("|q| = 0.5", replace(A, q=0.5)),
            ("B", B),
            ("r = 1", ONE),
            ("r = 1, 60 steps", replace(ONE, T=60)),
            ("m = 50", replace(A, m=50)),
            ("m = 20", replace(A, m=20)),
            ("m = 10", replace(A, m=10)),
            ("m = 20, r = 1", replace(ONE, m=20)),
            ("m = 10, r = 1", replace(ONE, m=10)),
        ),
        seeds=12,
        R=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        repeats=20,
        odr=replace(_QUICK.odr, draws=10),
        prompts=600,
    ),
)
