"""li-rescaling: error, hinge and attention when S_1 rescales the patterns, with the vote law beside them."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import xarray as xr
from annotated_types import Ge

from icl_lib.companion.declaration import Declaration, Several
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from papers.li.s3_3_generalization.odr import ODRTest, idr_scores, means
from papers.li.theory.coefficient_sum import mean_gap, rescaled_gap
from papers.li.theory.prompt_length import attention_mass, vote_error
from papers.li.trained import A, B, Setting, train_models


@dataclass(frozen=True)
class Rescaling(Declaration):
    """Models of the first setting on S_1 mu_j; the other settings are trained along and not read."""

    settings: Several[Setting]
    S_1: Several[float]
    test: ODRTest
    seeds: Annotated[int, Ge(2)]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure at every S_1."""
        trained = train_models(self.settings, self.seeds, seed, device, marks=(0,))[self.settings[0].T][0]
        scaled = [means(self.test.rescaled(trained, S_1, seed, "scaled")) for S_1 in self.S_1]
        fixed = [means(self.test.combined(trained, S_1, seed, "fixed")) for S_1 in self.S_1]
        dims = "S_1 seed"
        return xr.Dataset(
            {
                "error": variable(dims, [cell.error for cell in scaled], "0-1 error, rescaling"),
                "hinge": variable(dims, [cell.hinge for cell in scaled], "hinge loss, rescaling"),
                "mass": variable(dims, [cell.mass for cell in scaled], "attention on the query's pattern, rescaling"),
                "error_fixed": variable(dims, [cell.error for cell in fixed], "0-1 error, fixed norm"),
                "hinge_fixed": variable(dims, [cell.hinge for cell in fixed], "hinge loss, fixed norm"),
                "scores": variable("seed key query", idr_scores(trained), "score of an IDR pattern under an IDR query"),
            },
            coords={"S_1": list(self.S_1)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the vote law beside it, at the score gap that the convention gives and at one that is linear in S_1."""
        gamma, dims = mean_gap(dataset.scores.values), "S_1 seed"
        quadratic = [rescaled_gap(gamma, S_1) for S_1 in self.S_1]
        linear = [abs(S_1) * gamma for S_1 in self.S_1]

        def table(law, gaps: list[np.ndarray]) -> np.ndarray:
            return np.array([[law(gap, self.test.alpha, self.test.length) for gap in row] for row in gaps])

        return dataset.assign(
            error_theory=variable(dims, table(vote_error, quadratic), "vote law at gap S_1^2 gamma"),
            mass_theory=variable(dims, table(attention_mass, quadratic), "attention at gap S_1^2 gamma"),
            mass_linear=variable(dims, table(attention_mass, linear), "attention at gap |S_1| gamma"),
            error_linear=variable(dims, table(vote_error, linear), "vote law at gap |S_1| gamma"),
        )


S_1 = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3)

RESCALING = Experiment(
    slug="li-rescaling",
    title="The coefficient sum as a rescaling",
    quick=Rescaling(
        settings=(replace(A, T=250), replace(B, T=250)), S_1=S_1, seeds=3,
        test=ODRTest(count=3, distractors=10, draws=4, prompts=400, alpha=0.8, length=20),
    ),
    full=Rescaling(
        settings=(A, B), S_1=S_1, seeds=12,
        test=ODRTest(count=3, distractors=10, draws=12, prompts=1000, alpha=0.8, length=20),
    ),
)  # fmt: skip
