"""li-growth: how W_Q and W_K grow on relevant and irrelevant patterns, and which scores they learn."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from scipy.optimize import brentq
from torch import Tensor

from icl_lib.companion import Declaration, Experiment, Several, Whole, expectation, variable
from papers.li.mechanism import growth
from papers.li.published import PROJECTED_ENDS
from papers.li.s4_mechanism.attention import FULL_COURSE, QUICK_COURSE
from papers.li.s4_mechanism.course import NAMES, Course, pattern_scores, unseen
from papers.li.task_sets import task_set
from papers.li.theory.coverage import grown_form, unit_push
from papers.li.theory.mechanism import eigenspaces, mean_on_spaces, task_laplacian
from papers.li.trained import Setting, Trained

ONE_SHIFT = "A, r = 1"
GROWN = "distance of the scores from the grown first push, as a share of what has grown"


@dataclass(frozen=True)
class GrowthOfScores(Declaration):
    """The lengths of W_Q p and W_K p at every mark of ``course``, and the scores at some of them.

    shown   marks at which the scores are kept, the last one included; early: mark at which modes are compared
    """

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
        columns = {
            name: variable(
                f"setting step {dims} seed", [[read(now, of[0]) for now in of.values()] for of in models.values()], text
            )
            for name, (dims, text, read) in READINGS.items()
        }
        scores = [[_relevant(models[name][step]) for step in self.shown] for name in NAMES]
        return xr.Dataset(
            columns | {"scores_of_seed": variable("setting shown seed key query", scores, "u_j'W_K'W_Q u_k")},
            coords={
                "setting": list(NAMES),
                "step": list(self.course.marks),
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
            "grown_miss": variable("setting shown seed", _grown_misses(settings, scores.values), GROWN),
            "match": variable("setting tasks seed", match, "correlation of Laplacian and scores, different patterns"),
            "scores": variable("setting shown key query", scores.mean("seed").values, "u_j'W_K'W_Q u_k, mean over seeds"),
            "plotted_end": variable("part", PROJECTED_ENDS, "|W_Q p| and its part along p, read off the authors' plot by eye"),
            "plotted_step": variable("part", [self.course.marks[-1]] * 2, "where they are drawn: at the last step"),
            "laplacian": variable("setting key query", laplacian, "Laplacian of the tasks"),
        }
        one_shift = scores.sel(setting=ONE_SHIFT, shown=self.early).values
        modes = _modes(settings[NAMES.index(ONE_SHIFT)], one_shift)
        return dataset.assign(columns | modes).assign_coords(tasks=["trained", "not trained"])


def _by_kind(values: Tensor, setting: Setting) -> np.ndarray:
    """Return means over relevant patterns in a task, irrelevant ones, relevant ones in no task, from one of each pattern."""
    pattern = torch.arange(setting.M1 + setting.M2)
    relevant, named = pattern < setting.M1, torch.isin(pattern, task_set(setting.tasks, setting.M1))
    return np.array([values[..., kind].mean(-1).numpy() for kind in (named, ~relevant, relevant & ~named)], "f4")


def _lengths(trained: Trained, start: Trained) -> np.ndarray:
    """Return |W_Q p|, |W_K p| and the part of W_Q p along p, (kind, quantity, S)."""
    every = torch.cat(trained.setting.patterns())
    query, key = (growth(trained.parameters[name], every) for name in ("W_Q", "W_K"))
    return _by_kind(torch.stack([query.norm, key.norm, query.projection]), trained.setting)


def _changes(trained: Trained, start: Trained) -> np.ndarray:
    """Return the mean relative change of the score of a pattern with itself, (kind, S)."""
    own = torch.from_numpy(pattern_scores(trained)).diagonal(dim1=1, dim2=2)
    return _by_kind((own / trained.setting.delta**2 - 1).abs(), trained.setting)


def _keys(trained: Trained, start: Trained) -> np.ndarray:
    """Return how far the keys of the mean pattern and of one pattern have moved, (direction, S)."""
    relevant = start.setting.patterns().relevant
    directions = torch.stack([relevant.mean(0), relevant[0]])
    before, after = (
        torch.einsum("sai,ni->nsa", one.parameters["W_K"][..., : relevant.shape[-1]], directions) for one in (start, trained)
    )
    return ((after - before).norm(dim=-1) / before.norm(dim=-1)).numpy().astype("f4")


READINGS = {
    "length": ("kind quantity", "length of W p, mean over patterns p", _lengths),
    "change": ("kind", "|u'W_K'W_Q u / delta^2 - 1|, mean over patterns u", _changes),
    "key_change": ("direction", "|W_K u - start| / |start|", _keys),
}
"""Of a model and its start: dimensions beside setting, step and seed, what it is, how it is read."""


def _relevant(trained: Trained) -> np.ndarray:
    return pattern_scores(trained)[:, : trained.setting.M1, : trained.setting.M1]


def _laplacian(setting: Setting) -> np.ndarray:
    return task_laplacian(task_set(setting.tasks, setting.M1).numpy(), setting.M1)


def _match(setting: Setting, scores: np.ndarray) -> np.ndarray:
    """Return (tasks, S): correlation, over pairs of different patterns, of the learnt scores with a Laplacian."""
    off = ~np.eye(setting.M1, dtype=bool)
    laplacians = (_laplacian(setting), task_laplacian(unseen(setting).numpy(), setting.M1))
    return np.array([[np.corrcoef(laplacian[off], row)[0, 1] for row in scores[:, off]] for laplacian in laplacians])


def _grown_misses(settings: tuple[Setting, ...], scores: np.ndarray) -> np.ndarray:
    """Return for (setting, shown, S) scores their distance from the grown first push, one fitted number each."""
    rows = [[[_grown_miss(one, form) for form in at] for at in each] for one, each in zip(settings, scores, strict=True)]
    return np.array(rows)


def _grown_miss(setting: Setting, form: np.ndarray) -> float:
    M1, size = setting.M1, np.linalg.norm(form)
    G = unit_push(task_set(setting.tasks, M1).numpy(), M1, setting.alpha, setting.beta, setting.q)

    def grown(tau: float) -> np.ndarray:
        return grown_form(G, setting.delta, tau)[:M1, :M1]

    if size <= np.linalg.norm(grown(0.0)) or np.allclose(form, grown(0.0)):
        return np.nan  # nothing has grown
    tau = brentq(lambda tau: np.linalg.norm(grown(tau)) - size, 0.0, 8 / np.linalg.norm(G, 2))
    return float(np.linalg.norm(form - grown(tau)) / np.linalg.norm(form - grown(0.0)))


def _modes(setting: Setting, scores: np.ndarray) -> dict[str, xr.Variable]:
    """Return by eigenspace of the Laplacian the growth of the scores S, ln of the mean u'Su / delta^2 over its unit vectors."""
    everything = task_laplacian(task_set("all", setting.M1).numpy(), setting.M1)
    eigenvalue, P = eigenspaces(_laplacian(setting))
    growth, multiplicity = np.log(mean_on_spaces(P, scores) / setting.delta**2), np.einsum("nii->n", P).round().astype(int)
    weight = multiplicity * eigenvalue
    slope = weight @ growth.mean(0) / (weight @ eigenvalue)
    return {
        "mode_growth": variable("seed mode", growth, "ln(tr(P W_K'W_Q) / (tr P delta^2)), P on an eigenspace of the Laplacian"),
        "mode_line": variable("mode", slope * eigenvalue, "the growth, proportional to the eigenvalue"),
        "eigenvalue": variable("mode", eigenvalue, "eigenvalue of the Laplacian of the tasks"),
        "multiplicity": variable("mode", multiplicity, "dimension of the eigenspace"),
        "eigenvalue_uniform": variable("mode", mean_on_spaces(P, everything), "the same mean of the Laplacian of all tasks"),
    }


GROWTH = Experiment(
    slug="li-growth",
    title="Growth of queries, keys and scores",
    quick=GrowthOfScores(QUICK_COURSE, shown=(0, 30, 100, 150), early=30),
    full=GrowthOfScores(FULL_COURSE, shown=(0, 30, 100, 1000), early=30),
)
