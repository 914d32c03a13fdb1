"""li-prompt-length: how many contexts an error below eps takes, over the share alpha'."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated

import numpy as np
import xarray as xr
from annotated_types import Gt, Lt

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, PositiveShare, Several, expectation, variable
from papers.li.classification import wrong
from papers.li.counted import counted
from papers.li.evaluate import means
from papers.li.s3_3_generalization.odr import SHORT, ODRTest, idr_scores
from papers.li.theory.coefficient_sum import mean_gap
from papers.li.theory.prompt_length import crossing, length_bracket, vote_error
from papers.li.trained import A, B, Setting, Trained, train_models

RESOLVED = 0.05
"""Cells whose predicted error is smaller are not judged by themselves: too few errors to count."""


@dataclass(frozen=True)
class PromptLength(Declaration):
    """Models of the first setting on ODR patterns of sum S_1, over alpha' and the prompt length l.

    alpha   shares alpha' of contexts with a pattern of the task; lengths: examples of a test prompt
    eps     error for which the prompt length is sought; S_1: coefficient sum of the patterns; seeds: models of each setting
    """

    settings: Several[Setting]
    alpha: Several[PositiveShare]
    lengths: Several[Count]
    eps: Annotated[float, Gt(0), Lt(0.5)]
    S_1: float
    test: ODRTest
    seeds: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError(f"lengths {self.lengths} must rise: the error is followed from short prompts to long ones")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure errors, and the scores between the patterns."""
        found = train_models(self.settings, self.seeds, seed, device, marks=(0,))
        start, trained = found[0][0], found[self.settings[0].T][0]
        literal, guaranteed = np.moveaxis([self._literal(trained, alpha, seed) for alpha in self.alpha], 1, 0)
        return xr.Dataset(
            {
                "error": variable("alpha length seed", self._errors(trained, seed), "0-1 error out of domain"),
                "error_untrained": variable("alpha length seed", self._errors(start, seed), "0-1 error of the start"),
                "error_literal": variable("alpha seed", literal, "0-1 error at l = 1/alpha', rounded up"),
                "error_guaranteed": variable("alpha seed", guaranteed, "the same, a share alpha'/2 has the query's pattern"),
                "scores": variable("seed key query", idr_scores(trained), "score of an IDR pattern under an IDR query"),
            },
            coords={"alpha": list(self.alpha), "length": list(self.lengths)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the vote law and its floor beside the errors, and where each of them passes ``eps``."""
        gap = float(mean_gap(dataset.scores.values).mean())
        law = np.array([[vote_error(gap, alpha, l) for l in self.lengths] for alpha in self.alpha])
        missing = np.array([[(1 - alpha / 2) ** l for l in self.lengths] for alpha in self.alpha])
        lower = [length_bracket(2 * self.eps, alpha)[0] for alpha in self.alpha]  # half the missing probability
        upper = [length_bracket(self.eps, alpha)[1] for alpha in self.alpha]
        needed, untrained = (self._needed(dataset[name].values) for name in ("error", "error_untrained"))
        return dataset.assign(self._counted(dataset, law, missing, gap)).assign(
            error_theory=variable("alpha length", law, "vote law at the trained score gap"),
            missing=variable("alpha length", missing, "probability that the query's pattern is absent"),
            needed=variable("alpha seed", needed, "length at which the error passes eps"),
            needed_untrained=variable("alpha seed", untrained, "the same for the start"),
            needed_theory=variable("alpha", self._needed(law[..., None])[:, 0], "the same for the vote law"),
            needed_theory_low=variable("alpha", lower, "simple lower bound on the needed length"),
            needed_theory_high=variable("alpha", upper, "simple upper bound on the needed length"),
            needed_stated=variable("alpha", 1 / np.array(self.alpha), "1/alpha', the stated length"),
        )

    @expectation
    def _counted(self, dataset: xr.Dataset, law: np.ndarray, missing: np.ndarray, gap: float) -> dict[str, xr.Variable]:
        """Return the errors that are frequent enough, the vote law and its near misses."""
        shorter = [[vote_error(gap, alpha, l - 1) for l in self.lengths] for alpha in self.alpha]
        near = {"l − 1 for l": np.array(shorter), "a fair coin for the other labels": missing / 2}
        cells = ("alpha", "length")
        return counted(
            "error_counted",
            dataset.error.drop_vars(cells),
            xr.DataArray(law, dims=cells),
            {label: xr.DataArray(values, dims=cells) for label, values in near.items()},
            prompts=self.test.draws * self.test.prompts,
            least=RESOLVED,
        )

    def _error(self, trained: Trained, alpha: float, length: int, seed: int) -> np.ndarray:
        return means(self.test.at(alpha, length).combined(trained, self.S_1, seed, "odr")).error

    def _literal(self, trained: Trained, alpha: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the error at l = 1/alpha' rounded up, and that of its prompts with the query's pattern.

        There alpha' l/2 is between 1/2 and 1, so a share alpha'/2 is one context; no attention is read where there is none.
        """
        read = self.test.at(alpha, ceil(1 / alpha)).combined(trained, self.S_1, seed, "odr")
        lost, present = wrong(read.margin).flatten(1), ~read.mass.flatten(1).isnan()
        return lost.mean(-1).numpy(), ((lost * present).sum(-1) / present.sum(-1)).numpy()

    def _errors(self, trained: Trained, seed: int) -> np.ndarray:
        return np.array([[self._error(trained, alpha, l, seed) for l in self.lengths] for alpha in self.alpha])

    @expectation
    def _needed(self, errors: np.ndarray) -> np.ndarray:
        lengths = np.array(self.lengths, float)
        return np.array([[crossing(lengths, column, self.eps) for column in row.T] for row in errors])


_QUICK = PromptLength(
    settings=SHORT,
    alpha=(0.3, 0.6, 1.0),
    lengths=(2, 4, 6, 8, 12, 16, 24, 32),
    eps=0.01,
    S_1=1.1,
    seeds=3,
    test=ODRTest(count=3, distractors=10, draws=4, prompts=1200, alpha=0.8, length=20),
)
PROMPT_LENGTH = Experiment(
    slug="li-prompt-length",
    title="Prompt length and the share of the task's patterns",
    quick=_QUICK,
    full=replace(
        _QUICK,
        settings=(A, B),
        alpha=(0.2, 0.3, 0.4, 0.6, 0.8, 1.0),
        lengths=(2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56),
        seeds=12,
        test=replace(_QUICK.test, draws=12, prompts=400),
    ),
)
