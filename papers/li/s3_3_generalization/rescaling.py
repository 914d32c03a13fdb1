"""li-rescaling: error, hinge and attention when S_1 rescales the patterns, with the vote law beside them."""

from dataclasses import dataclass, replace

import xarray as xr

from icl_lib.companion.declaration import AtLeastTwo, Declaration, Several
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from papers.li.s3_3_generalization.odr import SHORT, ODRTest, idr_scores, means
from papers.li.theory.coefficient_sum import mean_gap, rescaled_gap
from papers.li.theory.prompt_length import attention_mass, vote_error
from papers.li.trained import A, B, Setting, train_models


@dataclass(frozen=True)
class Rescaling(Declaration):
    """Models of the first setting on S_1 mu_j; the other settings are trained along and not read."""

    settings: Several[Setting]
    S_1: Several[float]
    test: ODRTest
    seeds: AtLeastTwo

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
        gamma, at = mean_gap(dataset.scores.values), (self.test.alpha, self.test.length)
        gaps = {
            "theory": ("S_1^2 gamma", [rescaled_gap(gamma, S_1) for S_1 in self.S_1]),
            "linear": ("|S_1| gamma", [abs(S_1) * gamma for S_1 in self.S_1]),
        }
        return dataset.assign(
            {
                f"{name}_{gap}": variable("S_1 seed", [[law(g, *at) for g in row] for row in rows], f"{text} at gap {formula}")
                for name, law, text in (("error", vote_error, "vote law"), ("mass", attention_mass, "attention"))
                for gap, (formula, rows) in gaps.items()
            }
        )


_QUICK = Rescaling(
    settings=SHORT, S_1=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3), seeds=3,
    test=ODRTest(count=3, distractors=10, draws=4, prompts=400, alpha=0.8, length=20),
)  # fmt: skip
RESCALING = Experiment(
    slug="li-rescaling",
    title="The coefficient sum as a rescaling",
    quick=_QUICK,
    full=replace(_QUICK, settings=(A, B), seeds=12, test=replace(_QUICK.test, draws=12, prompts=1000)),
)
