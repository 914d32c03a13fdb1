"""li-prompt-length: how many contexts an error below eps takes, over the share alpha'."""

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.li.odr import ODRTest, idr_scores, means
from icl_lib.experiments.li.trained import A, B, Setting, Trained, train_models
from icl_lib.results import variable
from icl_lib.theory.li.coefficient_sum import mean_gap
from icl_lib.theory.li.prompt_length import crossing, length_bracket, vote_error


@dataclass(frozen=True)
class PromptLength:
    """Models of the first setting on ODR patterns of sum S_1, over alpha' and the prompt length l."""

    settings: tuple[Setting, ...]
    alpha: tuple[float, ...]
    lengths: tuple[int, ...]
    eps: float
    S_1: float
    test: ODRTest
    seeds: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure errors, and where they pass ``eps``; the vote law and its floor beside them."""
        found = train_models(self.settings, self.seeds, seed, device, marks=(0,))
        start, trained = found[0][0], found[self.settings[0].T][0]
        error = self._errors(trained, seed)
        untrained = self._errors(start, seed)
        law = self._law(float(mean_gap(idr_scores(trained)).mean()))
        perfect = self._law(float("inf"))
        missing = np.array([[(1 - alpha / 2) ** l for l in self.lengths] for alpha in self.alpha])
        literal = [self._error(trained, alpha, ceil(1 / alpha), seed) for alpha in self.alpha]
        return xr.Dataset(
            {
                "error": variable("alpha length seed", error, "0-1 error out of domain"),
                "error_untrained": variable("alpha length seed", untrained, "0-1 error of the start"),
                "error_theory": variable("alpha length", law, "vote law at the trained score gap"),
                "error_perfect": variable("alpha length", perfect, "vote law at an infinite score gap"),
                "missing": variable("alpha length", missing, "probability that the query's pattern is absent"),
                "error_literal": variable("alpha seed", literal, "0-1 error at l = 1/alpha', rounded up"),
                "needed": variable("alpha seed", self._needed(error), "length at which the error passes eps"),
                "needed_untrained": variable("alpha seed", self._needed(untrained), "the same for the start"),
                "needed_theory": variable("alpha", self._needed(law[..., None])[:, 0], "the same for the vote law"),
                "bracket": variable("side alpha", self._bracket(), "simple bounds on the needed length"),
            },
            coords={"alpha": list(self.alpha), "length": list(self.lengths), "side": ["lower", "upper"]},
        )

    def _error(self, trained: Trained, alpha: float, length: int, seed: int) -> np.ndarray:
        return means(self.test.at(alpha, length).combined(trained, self.S_1, seed, "odr")).error

    def _errors(self, trained: Trained, seed: int) -> np.ndarray:
        return np.array([[self._error(trained, alpha, l, seed) for l in self.lengths] for alpha in self.alpha])

    def _law(self, gap: float) -> np.ndarray:
        return np.array([[vote_error(gap, alpha, l) for l in self.lengths] for alpha in self.alpha])

    def _bracket(self) -> np.ndarray:
        """Return bounds for errors between half and all of the probability that the query's pattern is absent."""
        lower = [length_bracket(2 * self.eps, alpha)[0] for alpha in self.alpha]
        return np.array([lower, [length_bracket(self.eps, alpha)[1] for alpha in self.alpha]])

    def _needed(self, errors: np.ndarray) -> np.ndarray:
        lengths = np.array(self.lengths, float)
        return np.array([[crossing(lengths, column, self.eps) for column in row.T] for row in errors])


PROMPT_LENGTH = Experiment(
    slug="li-prompt-length",
    title="Prompt length and the share of the task's patterns",
    paper="li",
    section="3.3",
    notebook="li_3_3_generalization",
    quick=PromptLength(
        settings=(replace(A, T=250), replace(B, T=250)), alpha=(0.4, 0.6, 0.8, 1.0), lengths=(2, 4, 6, 8, 12, 16, 24),
        eps=0.01, S_1=1.1, seeds=3, test=ODRTest(count=3, distractors=10, draws=4, prompts=1200, alpha=0.8, length=20),
    ),
    full=PromptLength(
        settings=(A, B), alpha=(0.2, 0.3, 0.4, 0.6, 0.8, 1.0), lengths=(2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56),
        eps=0.01, S_1=1.1, seeds=12, test=ODRTest(count=3, distractors=10, draws=12, prompts=400, alpha=0.8, length=20),
    ),
)  # fmt: skip
