"""li-unseen-tasks: training on few tasks, error on all others, for task sets that meet Condition 3.2 and that do not."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Positive, PositiveShare, Several, expectation, variable
from papers.li.classification import Readings, hinge, wrong
from papers.li.evaluate import in_domain
from papers.li.task_sets import covers, task_set, unseen_tasks
from papers.li.theory import coverage, floor
from papers.li.trained import A, Setting, Trained, train_models

Sets = Several[tuple[str, Positive, Positive]]
"""Training sets by name, each with the norms beta and |q| of its models."""


def settings_of(base: Setting, sets: Sets) -> tuple[Setting, ...]:
    """Return ``base`` with each name and norms in turn."""
    return tuple(replace(base, tasks=tasks, beta=beta, q=q) for tasks, beta, q in sets)


@dataclass(frozen=True)
class UnseenTasks(Declaration):
    """``base`` trained on each of the sets, tested on training tasks and on unseen ones with length l and share alpha.

    sets      trained as one batch: name of the training tasks, norms beta and |q|
    seeds     models of each set
    l         examples of a test prompt; alpha: share of examples with a pattern of the task
    prompts   test prompts of a model, as many on training tasks as on unseen ones
    """

    base: Setting
    sets: Sets
    seeds: Count
    l: Count
    alpha: PositiveShare
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train all models as one batch; read them and their starts on fresh prompts."""
        settings, M1 = settings_of(self.base, self.sets), self.base.M1
        own = [task_set(setting.tasks, M1) for setting in settings]
        rest = [unseen_tasks(tasks, M1) for tasks in own]
        marks = train_models(settings, self.seeds, seed, device, (0,))
        first, last = marks[0], marks[self.base.T]
        unseen = [self._read(trained, tasks, seed, "unseen") for trained, tasks in zip(last, rest, strict=True)]
        seen = [self._read(trained, tasks, seed, "trained") for trained, tasks in zip(last, own, strict=True)]
        start = [self._read(trained, tasks, seed, "start") for trained, tasks in zip(first, own, strict=True)]
        columns = {
            "error": (_errors(unseen), "0-1 error on unseen tasks"),
            "hinge": ([hinge(reading.margin).mean(-1) for reading in unseen], "hinge loss on unseen tasks"),
            "mass": ([reading.mass.nanmean(-1) for reading in unseen], "attention on the query's pattern, unseen tasks"),
            "error_trained": (_errors(seen), "0-1 error on training tasks"),
            "error_start": (_errors(start), "0-1 error on training tasks before training"),
        }
        return xr.Dataset(
            {name: variable("set seed", np.stack(values), text) for name, (values, text) in columns.items()}
            | {
                "covers": variable("set", [int(covers(tasks, M1)) for tasks in own], "1 when the tasks meet Condition 3.2"),
                "trained_tasks": variable("set", [len(tasks) for tasks in own], "|T_tr|"),
            },
            coords={
                "set": [f"{setting.tasks}, β={setting.beta:g}, |q|={setting.q:g}" for setting in settings],
                "seed": range(self.seeds),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put beside it the error that the stronger memory of each set predicts."""
        settings = settings_of(self.base, self.sets)
        missing = floor.missing(self.l, self.alpha)
        predicted = np.array([self._predicted(setting) for setting in settings])
        unseen = 1 - dataset.trained_tasks.values / (self.base.M1 * (self.base.M1 - 1))
        return dataset.assign(
            error_theory=variable("set", predicted, "predicted error"),
            error_all=variable("set", predicted * unseen, "the same over all tasks, of which the trained ones are learnt"),
            missing=variable("", missing, "probability that the query's pattern is missing"),
            memory=variable("set", [_memory(setting) for setting in settings], "stronger memory, predicted"),
        )

    def _read(self, trained: Trained, tasks: Tensor, seed: int, part: str) -> Readings:
        name = f"{part}/{trained.setting.tasks}/{trained.setting.beta}/{trained.setting.q}"
        return in_domain(trained, tasks, alpha=self.alpha, length=self.l, prompts=self.prompts, seed=seed, name=name)

    @expectation
    def _predicted(self, setting: Setting) -> float:
        start = floor.start_vote_error(self.l, self.alpha, (setting.delta * setting.beta) ** 2)
        balanced = floor.vote_error(self.l, self.alpha)
        return coverage.unseen_error(task_set(setting.tasks, setting.M1).numpy(), setting.M1, start, balanced)


def _memory(setting: Setting) -> float:
    tasks, M1, beta, q = task_set(setting.tasks, setting.M1).numpy(), setting.M1, setting.beta, setting.q
    return max(coverage.key_memory(tasks, M1, setting.alpha, beta, q), coverage.value_memory(tasks, M1, beta, q))


def _errors(readings: list[Readings]) -> list[Tensor]:
    return [wrong(reading.margin).mean(-1) for reading in readings]


UNCOVERED = tuple((name, 1.0, 1.0) for name in ("single", "one-sided", "first half"))
SHORT = replace(A, T=160, B=64)
"""A quarter of the batch and 160 steps suffice for the verdicts; beta = 1 needs most of them."""
QUICK = (
    *((name, 2.0, 1.0) for name in ("cyclic 1", "cyclic 2", "cyclic 3", "both directions")),
    *UNCOVERED,
    *(("one-sided", 2.0, 1.0), ("one-sided", 3.0, 1.0), ("one-sided", 4.0, 0.5)),
)
"""One batch for all quick experiments of section 3.2: models cost little once a batch runs."""
FULL = (
    *((f"cyclic {r}", beta, 1.0) for beta in (1.0, 2.0, 3.0) for r in (1, 2, 3)),
    ("both directions", 1.0, 1.0),
    *UNCOVERED,
)

_QUICK = UnseenTasks(base=SHORT, sets=QUICK, seeds=3, l=20, alpha=0.8, prompts=4_000)
UNSEEN_TASKS = Experiment(
    slug="li-unseen-tasks",
    title="Unseen tasks after training on few",
    quick=_QUICK,
    full=replace(_QUICK, base=A, sets=FULL, seeds=10, prompts=40_000),
)
