"""li-training: hinge loss and error along SGD, on training tasks and on unseen ones, with and without sight of the query."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, Whole, expectation, variable
from papers.li.classification import hinge, wrong
from papers.li.evaluate import in_domain
from papers.li.task_sets import task_set, unseen_tasks
from papers.li.theory import start
from papers.li.trained import A, Setting, Trained, train_models

LOSSES = {"hinge": (hinge, "hinge loss"), "error": (wrong, "classification error")}
WHERE = {
    "training": "on fresh prompts of training tasks",
    "unseen": "on unseen tasks",
    "blind": "with uniform attention, training tasks",
}
EXCESS = "mean of max(0, |F| - 1) with uniform attention, training tasks"


@dataclass(frozen=True)
class Course(Declaration):
    """``seeds`` models of ``setting`` per set of training tasks, read at ``steps`` and at the last step.

    tasks     names of the sets of training tasks
    steps     after which the models are read; the last step is added
    seeds     models of each set
    prompts   fresh prompts of a model at a reading
    Prompts have the setting's length and share.
    """

    setting: Setting
    tasks: Several[str]
    steps: Several[Whole]
    seeds: AtLeastTwo
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train all task sets as one batch and read the models on the way."""
        settings = tuple(replace(self.setting, tasks=tasks) for tasks in self.tasks)
        found = train_models(settings, self.seeds, seed, device, marks=self.steps)
        margins = {
            where: [[self._margin(where, found[step][k], step, seed) for step in found] for k in range(len(settings))]
            for where in WHERE
        }
        columns = {
            f"{name}_{where}": variable("tasks step seed", _means(loss, margins[where]), f"{text} {WHERE[where]}")
            for name, (loss, text) in LOSSES.items()
            for where in WHERE
        }
        excess = variable("tasks step seed", _means(lambda F: (F.abs() - 1).relu(), margins["blind"]), EXCESS)
        coords = {"tasks": list(self.tasks), "step": list(found), "seed": range(self.seeds)}
        return xr.Dataset(columns | {"excess_blind": excess}, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the hinge loss of an output that does not know the query beside it, and how often there is nothing to see."""
        blind_hinge = start.blind_hinge(1 + dataset.excess_blind.values)  # linear in |F| above 1, and 1 below
        absent = 1 - start.present(self.setting.alpha, self.setting.l)
        return dataset.assign(
            hinge_blind_theory=variable("tasks step seed", blind_hinge, "mean of max(1, (1 + |F|)/2) over the same prompts"),
            absent=variable((), absent, "share of prompts that lack the query's pattern"),
        )

    def _margin(self, where: str, trained: Trained, step: int, seed: int) -> Tensor:
        """Return z F (seed, prompt) on training tasks, on unseen ones, or on training tasks without sight of the query."""
        setting, own = trained.setting, task_set(trained.setting.tasks, trained.setting.M1)
        tasks = unseen_tasks(own, setting.M1) if where == "unseen" else own
        models = blind(trained) if where == "blind" else trained
        fresh = dict(alpha=setting.alpha, length=setting.l, prompts=self.prompts, seed=seed)
        return in_domain(models, tasks, **fresh, name=f"{where}/{step}").margin


def _means(loss: Callable[[Tensor], Tensor], margins: list[list[Tensor]]) -> np.ndarray:
    return np.array([[loss(margin).mean(-1).numpy() for margin in row] for row in margins])


def blind(trained: Trained) -> Trained:
    """Return the models with W_Q = 0: scores 0 for every query, so uniform attention; the MLP stays as trained."""
    return trained._replace(parameters=trained.parameters | {"W_Q": torch.zeros_like(trained.parameters["W_Q"])})


_QUICK = Course(
    setting=replace(A, B=64, T=120), tasks=("cyclic 3", "cyclic 1", "one-sided"), steps=(0, 20, 40, 60), seeds=3, prompts=1000
)
TRAINING = Experiment(
    slug="li-training",
    title="Training by SGD on the hinge loss",
    quick=_QUICK,
    full=replace(_QUICK, setting=A, steps=(0, 10, 20, 30, 40, 60, 100, 200, 400), seeds=10, prompts=4000),
)
