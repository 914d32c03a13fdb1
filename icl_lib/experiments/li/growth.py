"""li-growth: how W_Q and W_K grow on relevant and irrelevant patterns, and which scores they learn."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.li.attention import FULL_COURSE, QUICK_COURSE
from icl_lib.experiments.li.course import NAMES, Course, pattern_scores, unseen
from icl_lib.experiments.li.trained import Trained
from icl_lib.measure.mechanism import growth
from icl_lib.results import variable
from icl_lib.tasks.task_sets import task_set
from icl_lib.theory.li.mechanism import task_laplacian

ONE_SHIFT = "A, r = 1"


@dataclass(frozen=True)
class GrowthOfScores:
    """``shown``: steps at which the score matrices are kept; ``early``: the step at which modes are compared."""

    course: Course
    shown: tuple[int, ...]
    early: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read the weights at every mark."""
        models = self.course.models(seed, device)
        steps = list(self.course.marks)
        lengths = np.array([[_lengths(trained) for trained in models[name].values()] for name in NAMES])
        changes = np.array([[_changes(trained) for trained in models[name].values()] for name in NAMES])
        keys = np.array([[_keys(models[name][0], trained) for trained in models[name].values()] for name in NAMES])
        match = np.array([_match(models[name][steps[-1]]) for name in NAMES])
        scores = np.array([[_relevant(models[name][step]).mean(0) for step in self.shown] for name in NAMES])
        modes, eigenvalue, uniform = _modes(models[ONE_SHIFT][self.early])
        laplacian = np.array([_laplacian(models[name][0]) for name in NAMES])
        return xr.Dataset(
            {
                "length": variable(
                    "setting step kind quantity seed", lengths.astype("float32"), "length of W p, mean over patterns p"
                ),
                "change": variable(
                    "setting step kind seed", changes.astype("float32"), "|u'W_K'W_Q u / delta^2 - 1|, mean over patterns u"
                ),
                "key_change": variable("setting step direction seed", keys.astype("float32"), "|W_K u - start| / |start|"),
                "match": variable("setting tasks seed", match, "correlation of Laplacian and scores, different patterns"),
                "scores": variable("setting shown key query", scores, "u_j'W_K'W_Q u_k, mean over seeds"),
                "laplacian": variable("setting key query", laplacian, "Laplacian of the tasks"),
                "mode_growth": variable("seed mode", modes, "ln(u'W_K'W_Q u / delta^2) of the Laplacian's modes"),
                "eigenvalue": variable("mode", eigenvalue, "eigenvalue of the Laplacian of the tasks"),
                "eigenvalue_uniform": variable("mode", uniform, "eigenvalue of the Laplacian of all tasks"),
            },
            coords={
                "setting": list(NAMES),
                "step": steps,
                "kind": ["relevant", "irrelevant", "relevant, in no task"],
                "quantity": ["|W_Q p|", "|W_K p|", "W_Q p along p"],
                "direction": ["mean pattern", "one pattern"],
                "tasks": ["trained", "not trained"],
                "shown": list(self.shown),
                "seed": np.arange(self.course.seeds),
            },
            attrs={"early": self.early},
        )


def _lengths(trained: Trained) -> np.ndarray:
    """Return (kind, quantity, S): means over relevant patterns in a task, irrelevant ones, relevant ones in no task."""
    patterns, named = trained.setting.patterns(), _named(trained)
    groups = (patterns.relevant[named], patterns.irrelevant, patterns.relevant[~named])
    return np.array([_group(trained, rows) for rows in groups])


def _group(trained: Trained, rows: Tensor) -> np.ndarray:
    if len(rows) == 0:
        return np.full((3, len(trained.parameters["W_Q"])), np.nan)
    found = [growth(trained.parameters[name], rows) for name in ("W_Q", "W_K")]
    return torch.stack([g.norm.mean(-1) for g in found] + [found[0].projection.mean(-1)]).numpy()


def _named(trained: Trained) -> Tensor:
    tasks = task_set(trained.setting.tasks, trained.setting.M1)
    return torch.isin(torch.arange(trained.setting.M1), tasks)


def _changes(trained: Trained) -> np.ndarray:
    """Return (kind, S): mean relative change of the score of a pattern with itself."""
    own = abs(np.diagonal(pattern_scores(trained), axis1=1, axis2=2) / trained.setting.delta**2 - 1)
    named = _named(trained).numpy()
    M1 = trained.setting.M1
    unnamed = own[:, :M1][:, ~named].mean(1) if (~named).any() else np.full(len(own), np.nan)
    return np.array([own[:, :M1][:, named].mean(1), own[:, M1:].mean(1), unnamed])


def _keys(start: Trained, trained: Trained) -> np.ndarray:
    """Return (direction, S): how far the keys of the mean pattern and of one pattern have moved."""
    relevant = start.setting.patterns().relevant
    directions = torch.stack([relevant.mean(0), relevant[0]])
    before, after = (
        torch.einsum("sai,ni->nsa", one.parameters["W_K"][..., : directions.shape[-1]], directions) for one in (start, trained)
    )
    return ((after - before).norm(dim=-1) / before.norm(dim=-1)).numpy()


def _relevant(trained: Trained) -> np.ndarray:
    return pattern_scores(trained)[:, : trained.setting.M1, : trained.setting.M1]


def _laplacian(trained: Trained) -> np.ndarray:
    return task_laplacian(task_set(trained.setting.tasks, trained.setting.M1).numpy(), trained.setting.M1)


def _match(trained: Trained) -> np.ndarray:
    """Return (tasks, S): correlation, over pairs of different patterns, of the learnt scores with a Laplacian."""
    M1 = trained.setting.M1
    off = ~np.eye(M1, dtype=bool)
    learnt = _relevant(trained)[:, off]
    laplacians = (_laplacian(trained), task_laplacian(unseen(trained.setting).numpy(), M1))
    return np.array([[np.corrcoef(laplacian[off], row)[0, 1] for row in learnt] for laplacian in laplacians])


def _modes(trained: Trained) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ln(u'W_K'W_Q u / delta^2), (S, mode), for the Laplacian's eigenvectors u, its eigenvalues, those of all tasks."""
    setting = trained.setting
    eigenvalue, basis = np.linalg.eigh(_laplacian(trained))
    grown = np.einsum("jm,sjk,km->sm", basis, _relevant(trained), basis)
    everything = np.linalg.eigvalsh(task_laplacian(task_set("all", setting.M1).numpy(), setting.M1))
    return np.log(grown / setting.delta**2), eigenvalue, everything


GROWTH = Experiment(
    slug="li-growth",
    title="Growth of queries, keys and scores",
    paper="li",
    section="4",
    notebook="li_4_mechanism",
    quick=GrowthOfScores(QUICK_COURSE, shown=(0, 30, 100, 300), early=30),
    full=GrowthOfScores(FULL_COURSE, shown=(0, 30, 100, 1000), early=30),
)  # fmt: skip
