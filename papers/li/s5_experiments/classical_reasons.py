"""li-classical-reasons: which settings bring the classical learners to the ranking of the slides."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import (
    Count,
    Declaration,
    Experiment,
    NotNegative,
    Positive,
    Several,
    expectation,
    variable,
)
from icl_lib.seeds import stream
from papers.li.classifiers import GaussianSVM, LinearSVM, LogisticRegression, NearestNeighbours
from papers.li.odr import ODRPatterns
from papers.li.published import LEARNERS as SLIDES
from papers.li.published import learner_points
from papers.li.s5_experiments.classical import QUICK, classical_faults, icl_faults
from papers.li.task_sets import all_tasks
from papers.li.trained import A, Setting, Trained, train_models

LEARNERS = ("ICL", "logistic", "linear SVM", "Gaussian SVM", "1-NN", "3-NN")


@dataclass(frozen=True)
class Variant(Declaration):
    """One change of the classical learners or of the prompts: C and gamma, the bound K of kappa, a scale of all inputs.

    name           what the variant is called
    C              inverse strength of regularisation, of logistic regression and of both SVMs
    gamma_factor   what multiplies the default gamma of the Gaussian kernel
    K              bound on kappa in the test prompts; scale: what multiplies the inputs of the classical learners
    """

    name: str
    C: Positive = 1.0
    gamma_factor: Positive = 1.0
    K: NotNegative = 0.5
    scale: Positive = 1.0

    def learners(self) -> list:
        """Return the classical learners in the order of ``LEARNERS``."""
        return [
            LogisticRegression(self.C),
            LinearSVM(self.C),
            GaussianSVM(self.C, self.gamma_factor),
            NearestNeighbours(1),
            NearestNeighbours(3),
        ]


@dataclass(frozen=True)
class ClassicalReasons(Declaration):
    """Models trained at K = 1/2, all variants tested at one share alpha' and some lengths; otherwise as li-classical.

    seeds     models that are trained; S_1: coefficient sum of the ODR patterns
    odr       patterns out of domain
    prompts   test prompts of a draw in a cell
    alpha     share alpha' of contexts with a pattern of the task; lengths: examples of a test prompt
    """

    setting: Setting
    seeds: Count
    S_1: float
    odr: ODRPatterns
    prompts: Count
    alpha: float
    lengths: Several[Count]
    variants: Several[Variant]

    def __post_init__(self):
        super().__post_init__()
        if (self.alpha, "ICL") not in SLIDES:
            raise ValueError(f"alpha = {self.alpha}: the slides compare learners at shares of 0.8 and 0.6, take one of them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every learner's error in every variant on prompts that differ in kappa and scale alone."""
        (trained,) = train_models((self.setting,), self.seeds, seed, device)[self.setting.T]
        errors = np.array([[self._cell(trained, variant, l, seed) for l in self.lengths] for variant in self.variants])
        return xr.Dataset(
            {"error": variable("variant l learner seed", errors, "classification error out of domain")},
            coords={
                "variant": [variant.name for variant in self.variants],
                "l": list(self.lengths),
                "learner": list(LEARNERS),
                "seed": range(self.seeds),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the points of the slides beside it, and how far each variant is from them."""
        slides = np.array([learner_points(self.alpha, name, self.lengths) for name in LEARNERS])
        resolution = 0.5 / (self.seeds * self.odr.draws * self.prompts)
        errors = np.maximum(dataset.error.values.mean(-1), resolution)  # variant, l, learner
        distance = np.nanmean(abs(np.log(errors / slides.T)[..., 1:]), (1, 2))
        least = (errors[:, 0, 1:] / errors[:, 0, :1]).min(1)
        return dataset.assign(
            slides=variable("learner l", slides, "read off the authors' slides by eye, about 10%"),
            distance=variable("variant", distance, "mean |ln(error / slides)|, classical learners"),
            least_ratio=variable("variant", least, "error of the best learner over that of the model, shortest prompts"),
        )

    def _cell(self, trained: Trained, variant: Variant, l: int, seed: int) -> np.ndarray:
        """Return the error of every learner and seed."""
        wider = trained._replace(setting=replace(trained.setting, K=variant.K))
        patterns = self.odr.drawn(wider, self.S_1, seed, "odr")
        law = wider.setting.law(all_tasks(self.odr.count), self.alpha, patterns)
        codes = law.codes(stream(seed, f"classical-reasons/{l}"), (self.seeds, self.odr.draws, self.prompts), l)
        classical = classical_faults(variant.learners(), codes, patterns, variant.scale)
        return torch.stack([*icl_faults([wider], codes, patterns), *classical]).flatten(2).mean(-1).numpy()


VARIANTS = (
    Variant("defaults"),
    Variant("C = 100", C=100.0),
    Variant("C = 0.1", C=0.1),
    Variant("γ × 10", gamma_factor=10.0),
    Variant("inputs × ½", scale=0.5),
    Variant("K = 1", K=1.0),
    Variant("K = 1.25", K=1.25),
    Variant("K = 1.5", K=1.5),
    Variant("K = 1.75", K=1.75),
    Variant("K = 2", K=2.0),
    Variant("K = 3", K=3.0),
)
_QUICK = ClassicalReasons(
    setting=QUICK,
    seeds=6,
    S_1=1.1,
    odr=ODRPatterns(count=3, distractors=10, draws=2),
    prompts=20,
    alpha=0.6,
    lengths=(6, 20),
    variants=tuple(variant for variant in VARIANTS if variant.name in ("defaults", "K = 3")),
)
CLASSICAL_REASONS = Experiment(
    slug="li-classical-reasons",
    title="What changes the ranking of classical learners",
    quick=_QUICK,
    full=replace(
        _QUICK, setting=A, seeds=10, odr=replace(_QUICK.odr, draws=10), prompts=30, lengths=(6, 12, 20), variants=VARIANTS
    ),
)
