"""li-floor: the error over prompt length, against the vote law, the best predictor and the literal test condition."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, InnerShare, Several, Whole, expectation, variable
from icl_lib.seeds import stream
from papers.li.classification import CHUNK_TOKENS, same_pattern, wrong
from papers.li.counted import counted
from papers.li.patterns import Codes
from papers.li.s3_2_data_and_tasks.unseen_tasks import SHORT, Sets, settings_of
from papers.li.task_sets import all_tasks, task_set, unseen_tasks
from papers.li.theory import floor
from papers.li.trained import A, Setting, Trained, train_models

DIMS = ("tasks", "alpha", "l", "seed")
RESOLVED = 0.02
"""Cells whose predicted error is smaller are not judged: too few errors to count."""


@dataclass(frozen=True)
class Floor(Declaration):
    """Models of some task sets, tested on unseen tasks (all tasks where none is unseen) over share and length.

    sets            trained as one batch: name of the training tasks, norms beta and |q|
    tested          those of ``sets`` that are read
    seeds           models of each set
    alphas          shares of contexts with a pattern of the task; lengths: examples of a test prompt
    prompts         test prompts of a model in a cell, a tenth of them before training
    best_prompts    prompts of a cell for the best predictor
    exact_lengths   most examples for which the error of the best predictor is summed exactly
    """

    base: Setting
    sets: Sets
    tested: Sets
    seeds: Count
    alphas: Several[InnerShare]
    lengths: Several[Count]
    prompts: Annotated[int, Ge(10)]
    best_prompts: Count
    exact_lengths: Whole

    def __post_init__(self):
        super().__post_init__()
        if not set(self.tested) <= set(self.sets):
            raise ValueError("a tested set is not trained: name it among sets as well")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Count errors of the trained models, of their starts and of the best predictor."""
        marks = train_models(settings_of(self.base, self.sets), self.seeds, seed, device, (0,))
        first, last = ([marks[step][self.sets.index(one)] for one in self.tested] for step in (0, self.base.T))
        found = self._table(lambda l, alpha: [self._errors(one, alpha, l, self.prompts, seed) for one in last])
        start = self._table(lambda l, alpha: self._errors(first[0], alpha, l, self.prompts // 10, seed)[0])
        best = self._table(lambda l, alpha: self._best(alpha, l, seed))
        text = "0-1 error when at least a share alpha/2 of the contexts has the query's pattern"
        columns = {
            "error": variable("alpha l tasks seed", found[..., 0, :], "0-1 error"),
            "error_guaranteed": variable("alpha l tasks seed", found[..., 1, :], text),
            "error_start": variable("alpha l seed", start, "0-1 error before training"),
            "best": variable("alpha l", best, "error of the best predictor, measured"),
            "best_se": variable("alpha l", np.sqrt(best * (1 - best) / self.best_prompts), "its standard error"),
            "all_pairs": variable("tasks", [_all_pairs(one.setting) for one in last], "1: all pairs trained"),
        }
        names = [tasks for tasks, _, _ in self.tested]
        axes = (names, list(self.alphas), list(self.lengths), range(self.seeds))
        return xr.Dataset(columns, dict(zip(DIMS, axes, strict=True))).transpose(*DIMS)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the laws beside it."""

        def best(l: int, alpha: float) -> float:
            return floor.best_error(l, alpha, self.base.M1) if l <= self.exact_lengths else np.nan

        return dataset.assign(self._counted(dataset)).assign(
            missing=variable("alpha l", self._table(floor.missing), "probability that the query's pattern is missing"),
            error_theory=variable("alpha l", self._table(floor.vote_error), "error of the vote law"),
            error_shorter=variable("alpha l", self._table(lambda l, alpha: floor.vote_error(l - 1, alpha)), "l - 1 for l"),
            best_theory=variable("alpha l", self._table(best), "error of the best predictor, summed exactly"),
        )

    @expectation
    def _counted(self, dataset: xr.Dataset) -> dict[str, xr.Variable]:
        """Return the errors of the models of all tasks, the vote law and its near misses."""
        laws = {
            "": floor.vote_error,
            "l − 1 for l": lambda l, alpha: floor.vote_error(l - 1, alpha),
            "the term k = l/2 in full": lambda l, alpha: floor.vote_error(l, alpha) + _even(l, alpha) / 2,
        }
        law, *misses = (xr.DataArray(self._table(each), dims=("alpha", "l")) for each in laws.values())
        errors = dataset.error.sel(tasks="all").drop_vars(["alpha", "l", "tasks"])
        return counted(
            "error_counted", errors, law, dict(zip(list(laws)[1:], misses, strict=True)), prompts=self.prompts, least=RESOLVED
        )

    def _table(self, law: Callable) -> np.ndarray:
        """Return ``law(l, alpha)`` of every cell, (alpha, l, ...)."""
        return np.array([[law(l, alpha) for l in self.lengths] for alpha in self.alphas])

    def _errors(self, trained: Trained, alpha: float, l: int, prompts: int, seed: int) -> np.ndarray:
        """Return the error, and that given the guaranteed count of the query's pattern; (2, seeds)."""
        setting = trained.setting
        own = task_set(setting.tasks, setting.M1)
        everything = len(own) == setting.M1 * (setting.M1 - 1)
        law = setting.law(own if everything else unseen_tasks(own, setting.M1), alpha)
        model = trained.model().on(law.patterns)
        generator = stream(seed, f"floor/{setting.tasks}/{alpha}/{l}")
        size = max(1, CHUNK_TOKENS // (self.seeds * (l + 1)))
        chunks = [min(size, prompts - begin) for begin in range(0, prompts, size)]
        parts = [_lost(model, law.codes(generator, (self.seeds, chunk), l)) for chunk in chunks]
        lost, count = (torch.cat(part, -1) for part in zip(*parts, strict=True))
        guaranteed = count >= alpha / 2 * l - 1e-9  # where the bound is a whole number it counts
        return torch.stack([lost.mean(-1), (lost * guaranteed).sum(-1) / guaranteed.sum(-1)]).numpy()

    def _best(self, alpha: float, l: int, seed: int) -> float:
        """Return the error of the best predictor, the model that ``floor.best_score`` defines."""
        M1 = self.base.M1
        law = self.base.law(all_tasks(M1), alpha)
        codes = law.codes(stream(seed, f"best/{alpha}/{l}"), (self.best_prompts,), l)
        pattern, y = (part[:, :-1].numpy() for part in (codes.pattern, codes.y))
        score = floor.best_score(pattern, y, codes.pattern[:, -1].numpy(), alpha, M1)
        return float(wrong(torch.from_numpy(score) * codes.y[:, -1]).mean())


def _lost(model, codes: Codes) -> tuple[Tensor, Tensor]:
    """Return the 0-1 loss of every prompt, and how many contexts have the query's pattern."""
    return wrong(codes.y[..., -1] * model(codes)), same_pattern(codes).sum(-1)


def _even(l: int, alpha: float) -> float:
    """Return the term k = l/2 of the vote law."""
    return 0.0 if l % 2 else 2.0**-l * comb(l, l // 2) * (1 - alpha) ** (l // 2)


def _all_pairs(setting: Setting) -> int:
    pairs = {frozenset(pair) for pair in task_set(setting.tasks, setting.M1).tolist()}
    return int(2 * len(pairs) == setting.M1 * (setting.M1 - 1))


TESTED = (("cyclic 3", 2.0, 1.0), ("cyclic 1", 2.0, 1.0), ("all", 2.0, 1.0))

FLOOR = Experiment(
    slug="li-floor",
    title="Error over prompt length",
    quick=Floor(
        base=replace(SHORT, T=100),
        sets=TESTED,
        tested=TESTED,
        seeds=5,
        alphas=(0.4, 0.8),
        lengths=(2, 4, 6),
        prompts=4_000,
        best_prompts=6_000,
        exact_lengths=8,
    ),
    full=Floor(
        base=A,
        sets=TESTED,
        tested=TESTED,
        seeds=10,
        alphas=(0.2, 0.4, 0.6, 0.8, 0.9),
        lengths=(1, 2, 3, 4, 6, 8, 10, 12, 16, 20),
        prompts=30_000,
        best_prompts=100_000,
        exact_lengths=12,
    ),
)
