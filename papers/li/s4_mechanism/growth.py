"""li-growth: how W_Q and W_K grow on relevant and irrelevant patterns, and which scores they learn."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion.declaration import Declaration, Several, Whole
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.tasks.task_sets import task_set
from papers.li.mechanism import growth
from papers.li.s4_mechanism.attention import FULL_COURSE, QUICK_COURSE
from papers.li.s4_mechanism.course import NAMES, Course, pattern_scores, unseen
from papers.li.theory.mechanism import eigenspaces, mean_on_spaces, task_laplacian
from papers.li.trained import Setting, Trained

ONE_SHIFT = "A, r = 1"


@dataclass(frozen=True)
class GrowthOfScores(Declaration):
    """``shown``: marks at which the scores are kept, the last of them; ``early``: that at which modes are compared."""

    course: Course
    shown: Several[Whole]
    early: Whole

    def __post_init__(self):
        super().__post_init__()
        if not {self.early, self.course.marks[-1]} <= set(self.shown) <= set(self.course.marks):
            raise ValueError(f"shown are some of the marks {self.course.marks}, the last and early = {self.early} among them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read the weights at every mark."""
        models = self.course.models(seed, device)
        steps = list(self.course.marks)
        lengths = np.array([[_lengths(trained) for trained in models[name].values()] for name in NAMES])
        changes = np.array([[_changes(trained) for trained in models[name].values()] for name in NAMES])
        keys = np.array([[_keys(models[name][0], trained) for trained in models[name].values()] for name in NAMES])
        scores = np.array([[_relevant(models[name][step]) for step in self.shown] for name in NAMES])
        return xr.Dataset(
            {
                "length": variable(
                    "setting step kind quantity seed", lengths.astype("float32"), "length of W p, mean over patterns p"
                ),
                "change": variable(
                    "setting step kind seed", changes.astype("float32"), "|u'W_K'W_Q u / delta^2 - 1|, mean over patterns u"
                ),
                "key_change": variable("setting step direction seed", keys.astype("float32"), "|W_K u - start| / |start|"),
                "scores_of_seed": variable("setting shown seed key query", scores, "u_j'W_K'W_Q u_k"),
            },
            coords={
                "setting": list(NAMES),
                "step": steps,
                "kind": ["relevant", "irrelevant", "relevant, in no task"],
                "quantity": ["|W_Q p|", "|W_K p|", "W_Q p along p"],
                "direction": ["mean pattern", "one pattern"],
                "shown": list(self.shown),
                "seed": np.arange(self.course.seeds),
            },
            attrs={"early": self.early},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the Laplacians of the tasks beside the scores, and what the scores have grown to on eigenspaces."""
        scores, settings = dataset.scores_of_seed, self.course.settings()
        last = scores.sel(shown=self.course.marks[-1]).values
        match = np.array([_match(setting, learnt) for setting, learnt in zip(settings, last, strict=True)])
        laplacian = np.array([_laplacian(setting) for setting in settings])
        columns = {
            "match": variable("setting tasks seed", match, "correlation of Laplacian and scores, different patterns"),
            "scores": variable("setting shown key query", scores.mean("seed").values, "u_j'W_K'W_Q u_k, mean over seeds"),
            "laplacian": variable("setting key query", laplacian, "Laplacian of the tasks"),
        }
        one_shift = scores.sel(setting=ONE_SHIFT, shown=self.early).values
        modes = _modes(settings[NAMES.index(ONE_SHIFT)], one_shift)
        return dataset.assign(columns | modes).assign_coords(tasks=["trained", "not trained"])


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


def _laplacian(setting: Setting) -> np.ndarray:
    return task_laplacian(task_set(setting.tasks, setting.M1).numpy(), setting.M1)


def _match(setting: Setting, scores: np.ndarray) -> np.ndarray:
    """Return (tasks, S): correlation, over pairs of different patterns, of the learnt scores with a Laplacian."""
    off = ~np.eye(setting.M1, dtype=bool)
    laplacians = (_laplacian(setting), task_laplacian(unseen(setting).numpy(), setting.M1))
    return np.array([[np.corrcoef(laplacian[off], row)[0, 1] for row in scores[:, off]] for laplacian in laplacians])


def _modes(setting: Setting, scores: np.ndarray) -> dict[str, xr.Variable]:
    """Return by eigenspace of the Laplacian the growth of the scores S, ln of the mean u'Su / delta^2 over its unit vectors."""
    everything = task_laplacian(task_set("all", setting.M1).numpy(), setting.M1)
    eigenvalue, P = eigenspaces(_laplacian(setting))
    growth = np.log(mean_on_spaces(P, scores) / setting.delta**2)
    return {
        "mode_growth": variable("seed mode", growth, "ln(tr(P W_K'W_Q) / (tr P delta^2)), P on an eigenspace of the Laplacian"),
        "eigenvalue": variable("mode", eigenvalue, "eigenvalue of the Laplacian of the tasks"),
        "multiplicity": variable("mode", np.einsum("nii->n", P).round().astype(int), "dimension of the eigenspace"),
        "eigenvalue_uniform": variable("mode", mean_on_spaces(P, everything), "the same mean of the Laplacian of all tasks"),
    }


GROWTH = Experiment(
    slug="li-growth",
    title="Growth of queries, keys and scores",
    quick=GrowthOfScores(QUICK_COURSE, shown=(0, 30, 100, 300), early=30),
    full=GrowthOfScores(FULL_COURSE, shown=(0, 30, 100, 1000), early=30),
)  # fmt: skip
