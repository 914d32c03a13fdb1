"""The training courses of section 4: four settings, one batch, snapshots on the way."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from icl_lib.companion import Count, Declaration, Several, Whole
from papers.li.mechanism import bilinear_form
from papers.li.task_sets import task_set, unseen_tasks
from papers.li.trained import Setting, Trained, train_models

NAMES = ("A", "B", "A, r = 1", "half of the patterns")
"""The second last trains one cyclic shift, the last only tasks among the first half of the patterns (no Condition 3.2)."""


@dataclass(frozen=True)
class Course(Declaration):
    """``seeds`` models each of two settings, of the first with fewer tasks, and of the first with uncovered patterns.

    seeds   models of each setting; marks: steps of training after which models are read
    """

    first: Setting
    second: Setting
    seeds: Count
    marks: Several[Whole]

    def __post_init__(self):
        super().__post_init__()
        if (self.marks[0], self.marks[-1]) != (0, self.first.T) or list(self.marks) != sorted(set(self.marks)):
            raise ValueError(f"marks {self.marks} must rise, begin at 0 and end at T = {self.first.T}")

    def settings(self) -> tuple[Setting, ...]:
        """Return the four settings in the order of ``NAMES``."""
        return self.first, self.second, *(replace(self.first, tasks=tasks) for tasks in ("cyclic 1", "first half"))

    def models(self, seed: int, device: str) -> dict[str, dict[int, Trained]]:
        """Return by setting the models at each step of ``marks``."""
        found = train_models(self.settings(), self.seeds, seed, device, self.marks)
        return {name: {step: found[step][k] for step in self.marks} for k, name in enumerate(NAMES)}


def unseen(setting: Setting) -> Tensor:
    """Return the tasks that were not trained."""
    return unseen_tasks(task_set(setting.tasks, setting.M1), setting.M1)


def pattern_scores(trained: Trained) -> np.ndarray:
    """Return u_j^T W_K^T W_Q u_k for the unit vectors u of all patterns, relevant ones first; (S, M1 + M2, M1 + M2)."""
    patterns, beta = trained.setting.patterns(), trained.setting.beta
    units = torch.cat([patterns.relevant, patterns.irrelevant]) / beta
    d = units.shape[-1]
    return torch.einsum("ji,sin,kn->sjk", units, bilinear_form(trained.model())[:, :d, :d], units).numpy()
