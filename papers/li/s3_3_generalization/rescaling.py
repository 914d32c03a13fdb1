"""li-rescaling: error, hinge and attention when S_1 rescales the patterns, with the vote law beside them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, variable
from papers.li.evaluate import Means, means, out_of_domain
from papers.li.patterns import Patterns
from papers.li.s3_3_generalization.odr import SHORT, ODRTest, idr_scores
from papers.li.theory.coefficient_sum import mean_gap, rescaled_gap
from papers.li.theory.prompt_length import attention_mass, vote_error
from papers.li.trained import A, B, Setting, Trained, train_models


@dataclass(frozen=True)
class Rescaling(Declaration):
    """Models of the first setting on S_1 mu_j; the other settings are trained along and not read.

    S_1     factors on the patterns, and coefficient sums of the patterns of fixed norm
    sums    the S_1 at which lengths vary; lengths: examples of a test prompt
    seeds   models of each setting
    S_1 times patterns of sum 1 beside it, as new and as few as those of fixed norm.
    """

    settings: Several[Setting]
    S_1: Several[float]
    sums: Several[float]
    lengths: Several[Count]
    test: ODRTest
    seeds: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure at every S_1."""
        trained = train_models(self.settings, self.seeds, seed, device, marks=(0,))[self.settings[0].T][0]
        scaled = [means(self.test.rescaled(trained, S_1, seed, "scaled")) for S_1 in self.S_1]
        fixed = [means(self.test.combined(trained, S_1, seed, "fixed")) for S_1 in self.S_1]
        new = [self._new(trained, S_1, seed).error for S_1 in self.S_1]
        tests = [self.test.at(self.test.alpha, l) for l in self.lengths]
        by_length = [[means(test.rescaled(trained, S_1, seed, "length")).error for test in tests] for S_1 in self.sums]
        dims = "S_1 seed"
        return xr.Dataset(
            {
                "error": variable(dims, [cell.error for cell in scaled], "0-1 error, rescaling"),
                "hinge": variable(dims, [cell.hinge for cell in scaled], "hinge loss, rescaling"),
                "mass": variable(dims, [cell.mass for cell in scaled], "attention on the query's pattern, rescaling"),
                "error_new": variable(dims, new, "0-1 error, rescaling of three new patterns of sum 1"),
                "error_length": variable("sum length seed", by_length, "0-1 error over the prompt length, rescaling"),
                "error_fixed": variable(dims, [cell.error for cell in fixed], "0-1 error, fixed norm"),
                "hinge_fixed": variable(dims, [cell.hinge for cell in fixed], "hinge loss, fixed norm"),
                "scores": variable("seed key query", idr_scores(trained), "score of an IDR pattern under an IDR query"),
            },
            coords={"S_1": list(self.S_1), "sum": list(self.sums), "length": list(self.lengths)},
        )

    def _new(self, trained: Trained, S_1: float, seed: int) -> Means:
        """Read the models on S_1 times ODR patterns of coefficient sum 1: patterns, tasks and prompts as at fixed norm."""
        test = self.test
        relevant, irrelevant = test.drawn(trained, 1.0, seed, f"new/patterns/{S_1:g}")
        at = {"alpha": test.alpha, "length": test.length, "prompts": test.prompts}
        return means(out_of_domain(trained, Patterns(S_1 * relevant, irrelevant), **at, seed=seed, name=f"new/{S_1:g}"))

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the vote law beside it, at the score gap that the convention gives and at one that is linear in S_1."""
        gamma, S_1, at = mean_gap(dataset.scores.values), np.array(self.S_1)[:, None], (self.test.alpha, self.test.length)
        gaps = {"theory": ("S_1^2 gamma", rescaled_gap(gamma, S_1)), "linear": ("|S_1| gamma", abs(S_1) * gamma)}
        return dataset.assign(
            error_length_theory=self._by_length(gamma, rescaled_gap), error_long=self._by_length(gamma, lambda g, S_1: S_1 * g)
        ).assign(
            {
                f"{name}_{gap}": variable("S_1 seed", law(gap_there, *at), f"{text} at gap {formula}")
                for name, law, text in (("error", vote_error, "vote law"), ("mass", attention_mass, "attention"))
                for gap, (formula, gap_there) in gaps.items()
            }
        )

    @expectation
    def _by_length(self, gamma: np.ndarray, gap: Callable) -> xr.Variable:
        """Return the vote law at each sum and length."""
        gaps = gap(gamma, np.array(self.sums)[:, None])
        law = np.stack([vote_error(gaps, self.test.alpha, l) for l in self.lengths], axis=1)
        return variable("sum length seed", law, "vote law over the prompt length")


_QUICK = Rescaling(
    settings=SHORT,
    S_1=(0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.3),
    sums=(0.5, 0.7, 0.9, 1.1, 1.3),
    lengths=(4, 8, 20),
    seeds=3,
    test=ODRTest(count=3, distractors=10, draws=4, prompts=1200, alpha=0.8, length=20),
)
RESCALING = Experiment(
    slug="li-rescaling",
    title="The coefficient sum as a rescaling",
    quick=_QUICK,
    full=replace(
        _QUICK,
        settings=(A, B),
        S_1=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3),
        lengths=(4, 6, 8, 10, 12, 14, 16, 18, 20),
        seeds=12,
        test=replace(_QUICK.test, draws=12, prompts=1000),
    ),
)
