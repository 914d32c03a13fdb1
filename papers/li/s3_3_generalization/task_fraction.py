"""li-task-fraction: the number of training tasks, in domain and out of domain."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from numpy import ndarray

from icl_lib.companion import Count, Declaration, Experiment, Several, expectation, variable
from icl_lib.seeds import stream
from papers.li.classification import wrong
from papers.li.evaluate import in_domain, means
from papers.li.patterns import combined_patterns
from papers.li.s3_3_generalization.odr import ODRTest, idr_scores
from papers.li.task_sets import cyclic_tasks, task_set, unseen_tasks
from papers.li.theory.coefficient_sum import mean_gap, off_diagonal_mean, pair_gaps
from papers.li.trained import A, Setting, Trained, train_models


@dataclass(frozen=True)
class TaskFraction(Declaration):
    """Models trained on the r M1 tasks (a, a + h mod M1), h = 1..r, for several r, tested on unseen tasks and out of domain.

    shifts   numbers r of shifts, each of which gives M1 training tasks
    S_1      coefficient sum of the ODR patterns
    frames   draws of ODR patterns for mean and spread of the score gap
    seeds    models of each r
    """

    base: Setting
    shifts: Several[Count]
    S_1: float
    test: ODRTest
    frames: Count
    seeds: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure errors, attention and the scores between patterns for every r."""
        settings = tuple(replace(self.base, tasks=f"cyclic {r}") for r in self.shifts)
        trained = train_models(settings, self.seeds, seed, device)[self.base.T]
        out = [self.test.combined(one, self.S_1, seed, "odr") for one in trained]
        draws = np.array([wrong(readings.margin).mean(-1).numpy() for readings in out])
        mass = np.array([readings.mass.nanmean(-1).numpy() for readings in out])
        pairs = np.array([_pair_gaps(one, r) for one, r in zip(trained, self.shifts, strict=True)])
        dims = "shifts seed"
        return xr.Dataset(
            {
                "error_in": variable(
                    dims, [self._in_domain(one, seed) for one in trained], "0-1 error, unseen tasks in domain"
                ),
                "error_out": variable(dims, draws.mean(-1), "0-1 error out of domain, mean over draws"),
                "error_worst": variable(dims, draws.max(-1), "0-1 error out of domain, worst draw"),
                "mass_out": variable(dims, mass.mean(-1), "attention on the query's pattern out of domain"),
                "mass_worst": variable(dims, mass.min(-1), "the same, worst draw"),
                "gap_trained": variable(dims, pairs[:, 0], "score gap to patterns that shared a training task"),
                "gap_untrained": variable(dims, pairs[:, 1], "score gap to patterns that never did"),
                "scores": variable("shifts seed key query", [idr_scores(one) for one in trained], "score, IDR patterns"),
                "tasks": variable("shifts", [r * self.base.M1 for r in self.shifts], "number of training tasks"),
            },
            coords={"shifts": list(self.shifts)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put beside it what the scores say of ODR patterns, on average and over draws, and the stated number of tasks."""
        W, apart = dataset.scores.values, ~np.eye(self.test.count, dtype=bool)
        axes = torch.eye(self.base.M1, dtype=torch.float64)
        k = combined_patterns(stream(seed, "frames"), axes, self.test.count, self.S_1, self.frames).numpy()
        gaps = [[pair_gaps(one, k) for one in row] for row in W]
        mean = [[off_diagonal_mean(one).mean() for one in row] for row in gaps]
        spread = [[one[:, apart].std() for one in row] for row in gaps]
        dims = "shifts seed"
        return dataset.assign(
            gap_out=variable(dims, mean, "mean score gap over ODR draws"),
            gap_out_low=variable(dims, np.subtract(mean, spread), "one standard deviation over draws and pairs below it"),
            gap_out_high=variable(dims, np.add(mean, spread), "one standard deviation over draws and pairs above it"),
            gap_spread=variable(dims, spread, "standard deviation over draws and pairs of the score gap"),
            gap_theory=variable(dims, mean_gap(W), "gamma"),
            tasks_stated=variable("", self.base.M1 * (self.base.M1 - 1) ** 0.5, "(M1 - 1)^(-1/2) of all M1 (M1 - 1) tasks"),
        )

    def _in_domain(self, trained: Trained, seed: int) -> ndarray:
        """Return the error on unseen tasks; with all tasks trained nothing is unseen and all count."""
        M1, tasks = self.base.M1, task_set(trained.setting.tasks, self.base.M1)
        tested = unseen_tasks(tasks, M1) if len(tasks) < M1 * (M1 - 1) else tasks
        at = {"alpha": self.test.alpha, "length": self.test.length, "prompts": self.test.draws * self.test.prompts}
        return means(in_domain(trained, tested, **at, seed=seed, name="unseen")).error


def _pair_gaps(trained: Trained, r: int) -> tuple[ndarray, ndarray]:
    """Return the mean gap of a query's own pattern above those it was paired with in training, and above the rest."""
    M1 = trained.setting.M1
    together = np.zeros((M1, M1), bool)
    for a, b in cyclic_tasks(M1, r).tolist():
        together[a, b] = together[b, a] = True
    W = idr_scores(trained)
    gap = np.diagonal(W, axis1=-2, axis2=-1)[:, None, :] - W
    apart = ~together & ~np.eye(M1, dtype=bool)
    return gap[:, together].mean(-1), gap[:, apart].mean(-1) if apart.any() else np.full(len(W), np.nan)


_QUICK = TaskFraction(
    base=replace(A, T=120, B=128),
    shifts=(1, 2, 3),
    S_1=1.1,
    frames=2000,
    seeds=3,
    test=ODRTest(count=3, distractors=10, draws=32, prompts=30, alpha=0.8, length=20),
)
TASK_FRACTION = Experiment(
    slug="li-task-fraction",
    title="How many training tasks are enough",
    quick=_QUICK,
    full=replace(
        _QUICK, base=A, shifts=(1, 2, 3, 4, 5), frames=20000, seeds=12, test=replace(_QUICK.test, draws=20, prompts=500)
    ),
)
