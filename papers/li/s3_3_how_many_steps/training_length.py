"""li-training-length: how many steps training takes with short training prompts, over the share alpha."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, PositiveShare, Several, variable
from papers.li.evaluate import in_domain, means
from papers.li.task_sets import task_set, unseen_tasks
from papers.li.trained import A, Setting, Trained, train_models


@dataclass(frozen=True)
class TrainingLength(Declaration):
    """``base`` trained with prompts of each length l_tr and share alpha, read every ``each`` steps on one test distribution.

    lengths      l_tr, examples of a training prompt; alphas: shares of examples with a pattern of the task
    each         steps of training between readings; seeds: models of each length and share
    alpha_test   share of contexts of a test prompt with a pattern of the task
    length       examples of a test prompt; prompts: test prompts of a model at a reading
    The test is on unseen tasks.
    """

    base: Setting
    lengths: Several[Count]
    alphas: Several[PositiveShare]
    each: Count
    seeds: AtLeastTwo
    alpha_test: PositiveShare
    length: Count
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        if self.base.T % self.each:
            raise ValueError(f"each = {self.each}: the last step T = {self.base.T} is to be among those that are read")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train one batch a length; keep the last error, and the step at which the hinge on test prompts first falls to 1/2."""
        marks = tuple(range(0, self.base.T + 1, self.each))
        hinges, errors = [], []
        for l in self.lengths:
            settings = tuple(replace(self.base, l=l, alpha=alpha) for alpha in self.alphas)
            found = train_models(settings, self.seeds, seed, device, marks)
            hinges.append([[self._read(found[mark][k], seed).hinge for mark in marks] for k in range(len(settings))])
            errors.append([self._read(found[self.base.T][k], seed).error for k in range(len(settings))])
        steps = first_fall(np.moveaxis(np.array(hinges), 2, 0), 0.5) * self.each
        dims, names = "training_length alpha seed", (list(self.lengths), list(self.alphas))
        return xr.Dataset(
            {
                "error": variable(dims, np.array(errors), "0-1 error on unseen tasks at the end of training"),
                "steps": variable(dims, steps, "steps until the hinge on unseen tasks falls to 1/2"),
            },
            coords=dict(zip(dims.split(), names, strict=False)),
        )

    def _read(self, trained: Trained, seed: int):
        setting = trained.setting
        tasks = unseen_tasks(task_set(setting.tasks, setting.M1), setting.M1)
        at = {"alpha": self.alpha_test, "length": self.length, "prompts": self.prompts}
        return means(in_domain(trained, tasks, **at, seed=seed, name="unseen"))


def first_fall(readings: Float[np.ndarray, "marks ..."], level: float) -> Float[np.ndarray, "..."]:
    """Return where readings first fall to a level, in marks from the first, by a line between two; NaN where they do not."""
    below = readings <= level
    last = np.maximum(below.argmax(0), 1)
    high, low = (np.take_along_axis(readings, place[None], 0)[0] for place in (last - 1, last))
    return np.where(below.any(0), np.where(below[0], 0.0, last - (level - low) / (high - low)), np.nan)


_QUICK = TrainingLength(
    base=replace(A, tasks="cyclic 1", T=200, B=64),
    lengths=(1, 2, 3),
    alphas=(0.45, 0.9),
    each=20,
    seeds=3,
    alpha_test=0.8,
    length=20,
    prompts=200,
)
TRAINING_LENGTH = Experiment(
    slug="li-training-length",
    title="Training prompts shorter than 1/α",
    quick=_QUICK,
    full=replace(
        _QUICK,
        base=replace(_QUICK.base, T=600),
        lengths=(1, 2, 3, 5, 10, 20),
        alphas=(0.2, 0.4, 0.8),
        each=10,
        seeds=8,
        prompts=1000,
    ),
)
