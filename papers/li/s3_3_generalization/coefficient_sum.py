"""li-coefficient-sum: hinge, error and margin over the coefficient sum S_1, patterns of fixed norm."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import AtLeastTwo, Declaration, Experiment, Several, expectation, variable
from papers.li.evaluate import Means, means
from papers.li.s3_3_generalization.odr import SHORT, ODRTest, idr_scores, responses, without_features
from papers.li.softmax_attention import output_weights
from papers.li.theory import coefficient_sum as theory
from papers.li.theory.prompt_length import attention_mass
from papers.li.trained import A, B, Setting, train_models


@dataclass(frozen=True)
class CoefficientSum(Declaration):
    """Models of several settings on ODR patterns of coefficient sum S_1: "fixed norm", and "rescaling" beside it.

    names   of the settings; S_1: coefficient sums; seeds: models of each setting
    """

    names: Several[str]
    settings: Several[Setting]
    S_1: Several[float]
    test: ODRTest
    seeds: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if len(self.names) != len(self.settings):
            raise ValueError(f"{len(self.names)} names for {len(self.settings)} settings: give one name to each")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure at every S_1, and read the responses of the neurons and the scores between the patterns."""
        trained = train_models(self.settings, self.seeds, seed, device, marks=(0,))[self.settings[0].T]
        fixed = self._sweep(trained, seed, lambda one, S_1: self.test.combined(one, S_1, seed, "fixed"))
        scaled = self._sweep(trained, seed, lambda one, S_1: self.test.rescaled(one, S_1, seed, "scaled"))
        deaf = [without_features(one) for one in trained]
        deaf = self._sweep(deaf, seed, lambda one, S_1: self.test.combined(one, S_1, seed, "fixed"))
        _, phi, lam = (np.array(part) for part in zip(*map(responses, trained), strict=True))
        scores = [idr_scores(one) for one in trained]
        dims = "setting S_1 seed"
        return xr.Dataset(
            {
                "error": variable(dims, fixed.error, "0-1 error, fixed norm"),
                "hinge": variable(dims, fixed.hinge, "hinge loss, fixed norm"),
                "mass": variable(dims, fixed.mass, "attention on the query's pattern, fixed norm"),
                "margin": variable(dims, fixed.margin, "mean margin z F, fixed norm"),
                "error_rescaled": variable(dims, scaled.error, "0-1 error, rescaling"),
                "hinge_rescaled": variable(dims, scaled.hinge, "hinge loss, rescaling"),
                "mass_rescaled": variable(dims, scaled.mass, "attention on the query's pattern, rescaling"),
                "hinge_without_features": variable(dims, deaf.hinge, "hinge loss of the models without feature responses"),
                "feature_response": variable("setting seed neuron", phi, "a row of W_O W_V on the mean IDR pattern"),
                "label_response": variable("setting seed neuron", lam, "a row of W_O W_V on (0; q)"),
                "ratio": variable("setting seed", phi.sum(-1) / abs(lam).sum(-1), "feature over label response"),
                "scores": variable("setting seed key query", scores, "score of an IDR pattern under an IDR query"),
            },
            coords={"setting": list(self.names), "S_1": list(self.S_1)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the margin that the trained rows of W_O W_V predict beside it, and the ratio of rows along (mu_bar, q)."""
        dims = "setting S_1 seed"
        aligned = [theory.feature_to_label(one.beta, one.q, one.M1) for one in self.settings]
        return dataset.assign(
            margin_theory=variable(dims, self._margin(dataset, 1.0), "margin predicted from the trained rows"),
            margin_half=variable(dims, self._margin(dataset, 0.5), "margin predicted with half of the features"),
            margin_labels_only=variable(dims, self._margin(dataset, 0.0), "margin predicted without features"),
            ratio_theory=variable("setting", aligned, "beta^2/(M1 |q|^2)"),
        )

    def _sweep(self, trained, seed: int, read) -> Means:
        cells = [[means(read(one, S_1)) for S_1 in self.S_1] for one in trained]
        return Means(*(np.array([[getattr(cell, name) for cell in row] for row in cells]) for name in Means._fields))

    @expectation
    def _margin(self, dataset: xr.Dataset, features: float) -> list[list[np.ndarray]]:
        """Predict the margins from the weights alone, with ``features`` times the feature responses."""
        a = output_weights(self.settings[0].m).numpy()
        read = (dataset[name].values for name in ("feature_response", "label_response", "scores"))
        return [
            [theory.margin(S_1, a, features * phi, lam, expected_vote(scores, self.test)) for S_1 in self.S_1]
            for phi, lam, scores in zip(*read, strict=True)
        ]


def expected_vote(scores: np.ndarray, test: ODRTest) -> np.ndarray:
    """Return the attention-weighted label that the mean gap of the scores (S, M1, M1) predicts, one number a model."""
    present = 1 - (1 - test.alpha / 2) ** test.length
    return theory.mean_label(present * attention_mass(theory.mean_gap(scores), test.alpha, test.length), test.alpha)


_QUICK = CoefficientSum(
    names=("A", "B"),
    settings=SHORT,
    seeds=3,
    S_1=(-1.3, -1.0, 0.0, 0.5, 0.9, 1.0, 1.1, 1.3),
    test=ODRTest(count=3, distractors=10, draws=4, prompts=300, alpha=0.8, length=20),
)
COEFFICIENT_SUM = Experiment(
    slug="li-coefficient-sum",
    title="Hinge, error and margin over the coefficient sum",
    quick=_QUICK,
    full=replace(
        _QUICK,
        settings=(A, B),
        seeds=12,
        S_1=(-1.3, -1.0, -0.5, 0.0, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3),
        test=replace(_QUICK.test, draws=12, prompts=500),
    ),
)
