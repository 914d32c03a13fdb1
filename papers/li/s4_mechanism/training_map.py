"""li-training-map: the scores between patterns and the responses of the neurons, step by step."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, PositiveShare, variable
from papers.li.classification import hinge
from papers.li.evaluate import in_domain
from papers.li.mechanism import neurons
from papers.li.s4_mechanism.attention import FULL_COURSE, QUICK_COURSE
from papers.li.s4_mechanism.course import NAMES, Course, pattern_scores, unseen
from papers.li.trained import Trained

ON = ("right label only", "both labels", "wrong label only", "neither")
"""At which of (mean pattern; q) and (mean pattern; -q) a row is active; the right label has the sign of a."""


@dataclass(frozen=True)
class TrainingMap(Declaration):
    """The course of section 4 at narrow steps: its first models one by one, and the means of all on ``prompts`` prompts.

    alpha     share of contexts with a pattern of the task; length: examples of a prompt
    prompts   of unseen tasks, for a model at a mark
    """

    course: Course
    alpha: PositiveShare
    length: Count
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read the first model of every setting at every mark, and the means of all models."""
        models = self.course.models(seed, device)
        means = np.array([[self._means(one, seed) for one in models[name].values()] for name in NAMES])
        rows = np.array([[_responses(one) for one in models[name].values()] for name in NAMES])
        scores = [[_scores(one) for one in models[name].values()] for name in NAMES]
        sign = models[NAMES[0]][0].model().a.sign().numpy()
        feature, label = rows[:, :, 0], rows[:, :, 1]
        return xr.Dataset(
            {
                "mass": variable("setting step seed", means[:, :, 0], "attention on the query's pattern, unseen tasks"),
                "hinge": variable("setting step seed", means[:, :, 1], "hinge loss, unseen tasks"),
                "scores": variable("setting step key query", scores, "score of an IDR pattern under an IDR query, one model"),
                "feature_response": variable("setting step neuron", feature, "a row of W_O W_V on the mean pattern, one model"),
                "label_response": variable("setting step neuron", label, "the same row on (0; q)"),
                "sign": variable("neuron", sign, "sign of a"),
                "rows": variable("setting step on", active_on(feature, label * sign), "rows by where they are active"),
            },
            coords={
                "setting": list(NAMES),
                "step": list(self.course.marks),
                "on": list(ON),
                "seed": np.arange(self.course.seeds),
            },
        )

    def _means(self, trained: Trained, seed: int) -> tuple[np.ndarray, np.ndarray]:
        fresh = dict(alpha=self.alpha, length=self.length, prompts=self.prompts, seed=seed)
        readings = in_domain(trained, unseen(trained.setting), name="map", **fresh)
        return readings.mass.nanmean(-1).numpy(), hinge(readings.margin).mean(-1).numpy()


def active_on(feature: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Count rows by where they are active, in the order of ``ON``; ``own`` is the label response times the sign of a."""
    right, wrong = feature + own > 0, feature - own > 0
    groups = (right & ~wrong, right & wrong, ~right & wrong, ~right & ~wrong)
    return np.stack([group.sum(-1) for group in groups], -1)


def _responses(trained: Trained) -> np.ndarray:
    """Return what the rows of the first model give on the mean pattern and on (0; q), (2, m)."""
    rows = neurons(trained.model())
    feature = rows.feature[0] @ trained.setting.patterns().relevant.mean(0)
    return np.array([feature.numpy(), (rows.label[0] @ trained.setting.label()).numpy()])


def _scores(trained: Trained) -> np.ndarray:
    """Return the scores of IDR patterns (rows) under IDR queries (columns) in the first model, (M1, M1)."""
    M1, beta = trained.setting.M1, trained.setting.beta
    return pattern_scores(trained)[0, :M1, :M1] * beta**2


_RISE = (0, 10, 20, 25, 30, 35, 40, 45, 50, 60, 80, 100)
"""Most happens between steps 30 and 60."""
_QUICK = TrainingMap(QUICK_COURSE, alpha=0.8, length=20, prompts=500)
TRAINING_MAP = Experiment(
    slug="li-training-map",
    title="Attention and neurons step by step",
    quick=_QUICK,
    full=replace(_QUICK, course=replace(FULL_COURSE, marks=(*_RISE, 200, 400, 1000)), prompts=2000),
)
