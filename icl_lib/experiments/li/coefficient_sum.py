"""li-coefficient-sum: hinge, error and margin over the coefficient sum S_1, patterns of fixed norm."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.li.odr import Means, ODRTest, idr_scores, means, responses, without_features
from icl_lib.experiments.li.trained import A, B, Setting, Trained, train_models
from icl_lib.results import variable
from icl_lib.theory.li import coefficient_sum as theory
from icl_lib.theory.li.prompt_length import attention_mass


@dataclass(frozen=True)
class CoefficientSum:
    """Models of several settings on ODR patterns of coefficient sum S_1: "fixed norm", and "rescaling" beside it."""

    names: tuple[str, ...]
    settings: tuple[Setting, ...]
    S_1: tuple[float, ...]
    test: ODRTest
    seeds: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure at every S_1, with the margin that the trained rows of W_O W_V predict."""
        trained = train_models(self.settings, self.seeds, seed, device, marks=(0,))[self.settings[0].T]
        fixed = self._sweep(trained, seed, lambda one, S_1: self.test.combined(one, S_1, seed, "fixed"))
        scaled = self._sweep(trained, seed, lambda one, S_1: self.test.rescaled(one, S_1, seed, "scaled"))
        deaf = [without_features(one) for one in trained]
        deaf = self._sweep(deaf, seed, lambda one, S_1: self.test.combined(one, S_1, seed, "fixed"))
        dims = "setting S_1 seed"
        return xr.Dataset(
            {
                "error": variable(dims, fixed.error, "0-1 error, fixed norm"),
                "hinge": variable(dims, fixed.hinge, "hinge loss, fixed norm"),
                "mass": variable(dims, fixed.mass, "attention on the query's pattern, fixed norm"),
                "margin": variable(dims, fixed.margin, "mean margin z F, fixed norm"),
                "margin_theory": variable(dims, self._margin(trained, 1.0), "margin predicted from the trained rows"),
                "margin_labels_only": variable(dims, self._margin(trained, 0.0), "margin predicted without features"),
                "error_rescaled": variable(dims, scaled.error, "0-1 error, rescaling"),
                "hinge_rescaled": variable(dims, scaled.hinge, "hinge loss, rescaling"),
                "mass_rescaled": variable(dims, scaled.mass, "attention on the query's pattern, rescaling"),
                "hinge_without_features": variable(dims, deaf.hinge, "hinge loss of the models without feature responses"),
                "ratio": variable("setting seed", [response_ratio(one) for one in trained], "feature over label response"),
                "ratio_theory": variable("setting", [aligned_ratio(one) for one in self.settings], "beta^2/(M1 |q|^2)"),
            },
            coords={"setting": list(self.names), "S_1": list(self.S_1)},
        )

    def _sweep(self, trained, seed: int, read) -> Means:
        cells = [[means(read(one, S_1)) for S_1 in self.S_1] for one in trained]
        return Means(*(np.array([[getattr(cell, name) for cell in row] for row in cells]) for name in Means._fields))

    def _margin(self, trained: tuple[Trained, ...], features: float) -> list[list[np.ndarray]]:
        """Predict the margins from the weights alone, with ``features`` times the feature responses."""
        return [
            [theory.margin(S_1, a, features * phi, lam, expected_vote(one, self.test)) for S_1 in self.S_1]
            for one, (a, phi, lam) in zip(trained, map(responses, trained), strict=True)
        ]


def expected_vote(trained: Trained, test: ODRTest) -> np.ndarray:
    """Return the attention-weighted label that the mean score gap predicts, one number a model."""
    present = 1 - (1 - test.alpha / 2) ** test.length
    masses = [present * attention_mass(gap, test.alpha, test.length) for gap in theory.mean_gap(idr_scores(trained))]
    return theory.mean_label(np.array(masses), test.alpha)


def response_ratio(trained: Trained) -> np.ndarray:
    """Return sum_r |a_r| phi_r / sum_r |a_r lambda_r|, one number a model: all |a_r| are equal."""
    _, phi, lam = responses(trained)
    return phi.sum(-1) / abs(lam).sum(-1)


def aligned_ratio(setting: Setting) -> float:
    """Return the ratio of rows along (mu_bar, q)."""
    return theory.feature_to_label(setting.beta, setting.q, setting.M1)


S_1 = (-1.3, -1.0, -0.5, 0.0, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3)

COEFFICIENT_SUM = Experiment(
    slug="li-coefficient-sum",
    title="Hinge, error and margin over the coefficient sum",
    paper="li",
    section="3.3",
    notebook="li_3_3_generalization",
    quick=CoefficientSum(
        names=("A", "B"), settings=(replace(A, T=250), replace(B, T=250)), S_1=S_1, seeds=3,
        test=ODRTest(count=3, distractors=10, draws=4, prompts=300, alpha=0.8, length=20),
    ),
    full=CoefficientSum(
        names=("A", "B"), settings=(A, B), S_1=S_1, seeds=12,
        test=ODRTest(count=3, distractors=10, draws=12, prompts=500, alpha=0.8, length=20),
    ),
)  # fmt: skip
