"""li-pruning-shares: the 0-1 error out of domain over the share alpha', whole and with 40% of the neurons deleted."""

from dataclasses import dataclass, replace

import torch
import xarray as xr

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
)
from icl_lib.seeds import stream
from papers.li.classification import wrong
from papers.li.odr import ODRPatterns
from papers.li.pruning import largest_first, random_large
from papers.li.s3_4_pruning.pruning import deleted_margins, first
from papers.li.task_sets import task_set
from papers.li.theory.floor import vote_error
from papers.li.trained import A, Setting, train_models

DELETED = ("none", "smallest first", "largest first", "random")
"""Smallest first counts all neurons; the other two orders delete among the large ones."""


@dataclass(frozen=True)
class PruningShares(Declaration):
    """One deletion of a fraction R in each order, tested out of domain at several shares alpha' and one length.

    seeds     models that are trained
    R         fraction of rows deleted, of all rows where the smallest go first, else of the long ones
    alphas    shares alpha' of contexts with a pattern of the task; length: examples of a test prompt
    S_1       coefficient sum of the ODR patterns
    odr       patterns out of domain
    prompts   test prompts of a draw at each share
    """

    setting: Setting
    seeds: AtLeastTwo
    R: Share
    alphas: Several[PositiveShare]
    length: Count
    S_1: float
    odr: ODRPatterns
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train, delete and count errors; all deletions meet the same prompts."""
        (trained,) = train_models((self.setting,), self.seeds, seed, device)[self.setting.T]
        W_O, m = trained.parameters["W_O"], self.setting.m
        short = first(-W_O.norm(dim=-1), torch.full(W_O.shape[:1], round(self.R * m)))
        gone = [torch.zeros_like(short), short, largest_first(W_O, self.R), random_large(stream(seed, "random"), W_O, self.R)]
        patterns, tasks = self.odr.drawn(trained, self.S_1, seed, "patterns"), task_set("all", self.odr.count)
        probe = {"length": self.length, "prompts": self.prompts, "seed": seed}
        margins = [
            deleted_margins(trained, ~torch.stack(gone, 1), patterns, tasks, alpha=alpha, name=f"prompts/{alpha:g}", **probe)
            for alpha in self.alphas
        ]
        error = torch.stack([wrong(margin).mean(-1) for margin in margins])
        return xr.Dataset(
            {"error": variable("alpha seed deleted", error.numpy(), "0-1 error out of domain")},
            coords={"alpha": list(self.alphas), "deleted": list(DELETED)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the vote law of section 3.2 beside it."""
        law = [vote_error(self.length, alpha) for alpha in self.alphas]
        return dataset.assign(error_theory=variable("alpha", law, "missing pattern times wrong majority"))


_QUICK = PruningShares(
    setting=replace(A, T=100, B=96),
    seeds=4,
    R=0.4,
    alphas=(0.6, 0.8, 1.0),
    length=14,
    S_1=1.1,
    odr=ODRPatterns(count=3, distractors=10, draws=5),
    prompts=1000,
)
PRUNING_SHARES = Experiment(
    slug="li-pruning-shares",
    title="Deletion over the share of the task's patterns",
    quick=_QUICK,
    full=replace(_QUICK, setting=A, seeds=12, odr=replace(_QUICK.odr, draws=10), prompts=1500),
)
