"""li-training: hinge loss and error along SGD, on training tasks and on unseen ones, with and without sight of the query."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge

from icl_lib.companion.declaration import Count, Declaration, Several, Whole
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.measure.classification import hinge, wrong
from icl_lib.tasks.task_sets import task_set, unseen_tasks
from papers.li.evaluate import in_domain
from papers.li.theory import start
from papers.li.trained import A, Setting, Trained, train_models

LONG_NAMES = {
    "hinge_training": "hinge loss on fresh prompts of training tasks",
    "error_training": "classification error on fresh prompts of training tasks",
    "hinge_unseen": "hinge loss on unseen tasks",
    "error_unseen": "classification error on unseen tasks",
    "mass_unseen": "attention on the query's pattern, unseen tasks",
    "hinge_blind": "hinge loss with uniform attention, training tasks",
    "error_blind": "classification error with uniform attention, training tasks",
    "excess_blind": "mean of max(0, |F| - 1) with uniform attention, training tasks",
}


@dataclass(frozen=True)
class Course(Declaration):
    """``seeds`` models of ``setting`` per set of training tasks, read at ``steps`` and at the last step.

    Every reading takes ``prompts`` fresh prompts of the setting's length and share.
    """

    setting: Setting
    tasks: Several[str]
    steps: Several[Whole]
    seeds: Annotated[int, Ge(2)]
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train all task sets as one batch and read the models on the way."""
        settings = tuple(replace(self.setting, tasks=tasks) for tasks in self.tasks)
        found = train_models(settings, self.seeds, seed, device, marks=self.steps)
        readings = [[self._read(found[step][k], step, seed) for step in found] for k in range(len(settings))]
        return xr.Dataset(
            {
                name: variable("tasks step seed", np.array([[at[name] for at in row] for row in readings]), long_name)
                for name, long_name in LONG_NAMES.items()
            },
            coords={"tasks": list(self.tasks), "step": list(found), "seed": range(self.seeds)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the hinge loss of an output that does not know the query beside it, and how often there is nothing to see."""
        blind_hinge = start.blind_hinge(1 + dataset.excess_blind.values)  # linear in |F| above 1, and 1 below
        absent = 1 - start.present(self.setting.alpha, self.setting.l)
        return dataset.assign(
            hinge_blind_theory=variable("tasks step seed", blind_hinge, "mean of max(1, (1 + |F|)/2) over the same prompts"),
            absent=variable((), absent, "share of prompts that lack the query's pattern"),
        )

    def _read(self, trained: Trained, step: int, seed: int) -> dict[str, np.ndarray]:
        setting = trained.setting
        own = task_set(setting.tasks, setting.M1)
        fresh = dict(alpha=setting.alpha, length=setting.l, prompts=self.prompts, seed=seed)
        training = in_domain(trained, own, **fresh, name=f"training/{step}")
        unseen = in_domain(trained, unseen_tasks(own, setting.M1), **fresh, name=f"unseen/{step}")
        without = in_domain(blind(trained), own, **fresh, name=f"blind/{step}")
        return {
            "hinge_training": hinge(training.margin).mean(-1).numpy(),
            "error_training": wrong(training.margin).mean(-1).numpy(),
            "hinge_unseen": hinge(unseen.margin).mean(-1).numpy(),
            "error_unseen": wrong(unseen.margin).mean(-1).numpy(),
            "mass_unseen": unseen.mass.nanmean(-1).numpy(),
            "hinge_blind": hinge(without.margin).mean(-1).numpy(),
            "error_blind": wrong(without.margin).mean(-1).numpy(),
            "excess_blind": (without.margin.abs() - 1).relu().mean(-1).numpy(),
        }


def blind(trained: Trained) -> Trained:
    """Return the models with W_Q = 0: scores 0 for every query, so uniform attention; the MLP stays as trained."""
    return trained._replace(parameters=trained.parameters | {"W_Q": torch.zeros_like(trained.parameters["W_Q"])})


TRAINING = Experiment(
    slug="li-training",
    title="Training by SGD on the hinge loss",
    quick=Course(
        setting=replace(A, B=64, T=120), tasks=("cyclic 3", "cyclic 1", "one-sided"), steps=(0, 20, 40, 60), seeds=3,
        prompts=1000,
    ),
    full=Course(
        setting=A, tasks=("cyclic 3", "cyclic 1", "one-sided"), steps=(0, 10, 20, 30, 40, 60, 100, 200, 400), seeds=10,
        prompts=4000,
    ),
)  # fmt: skip
