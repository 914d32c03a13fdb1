"""zhang-one-step: one gradient step with the best scalar step size, against the trained model (footnote 2)."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate
from icl_lib.measure.risk import risk
from icl_lib.models.baselines import OneGradientStep
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance
from papers.zhang.dimensions import along_d, at_d, draws
from papers.zhang.near_misses import of_blocks, of_gammas
from papers.zhang.theory import error, one_step
from papers.zhang.theory.optimum import Gamma
from papers.zhang.wishart import empirical_covariances, risk_over_contexts


@dataclass(frozen=True)
class OneStep(Declaration):
    """Error / tr Lambda of the best scalar step over condition numbers kappa and prompt lengths; tr Lambda is that at every d.

    d        dimensions of inputs; trace: tr Lambda; kappa: condition numbers of the covariance
    M        prompt lengths whose examples are drawn one by one; prompts: of each length M
    M_long   prompt lengths drawn by empirical covariance; contexts: empirical covariances of each length at the largest d
    Shared stream: one-step/#/#/#: the step and the trained model meet the same contexts.
    """

    d: Several[Count]
    trace: Positive
    kappa: Several[Positive]
    M: Several[Count]
    prompts: AtLeastTwo
    M_long: Several[Count]
    contexts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if list(self.M_long) != sorted(self.M_long) or self.M_long[0] < max(self.d):
            raise ValueError(f"long lengths {self.M_long}: take rising ones, from d = {max(self.d)} on")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the best scalar step, and the trained model at long lengths."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        covariances = self._covariances(d, seed)
        short, long, trained = (
            np.array([[measure(Lambda, M, seed, f"{d}/{kappa:g}") for M in lengths] for kappa, Lambda in covariances.items()])
            / self.trace
            for measure, lengths in ((self._examples, self.M), (self._contexts, self.M_long), (self._trained, self.M_long))
        )
        step, model = "relative error, best scalar step, measured", "relative error, trained model with N = M, measured"
        return xr.Dataset(
            {
                "risk": variable("kappa M", short[..., 0], step),
                "risk_se": variable("kappa M", short[..., 1], "standard error"),
                "risk_long": variable("kappa M_long", long[..., 0], step),
                "risk_long_se": variable("kappa M_long", long[..., 1], "standard error"),
                "trained_long": variable("kappa M_long", trained[..., 0], model),
                "trained_long_se": variable("kappa M_long", trained[..., 1], "standard error"),
            },
            coords={"kappa": list(self.kappa), "M": list(self.M), "M_long": list(self.M_long)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the formulas of both beside them, at the lengths measured and along a line."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        covariances, length = list(self._covariances(d, seed).values()), np.geomspace(self.M[0], self.M_long[-1], 61)

        def tabulate(formula, lengths) -> np.ndarray:
            return np.array([[formula(Lambda, M) for M in lengths] for Lambda in covariances]) / self.trace

        def trained(Lambda: np.ndarray, M: float) -> float:
            return error.averaged_error(Lambda, M, M)

        step, exact = "relative error, best scalar step, formula", "the same formula without the fluctuation of the context"
        model = "relative error, trained model with N = M, formula"
        floor = [one_step.relative_floor(Lambda) for Lambda in covariances]
        wrong = of_gammas(lambda Gamma: tabulate(partial(_wrong_risk, Gamma), self.M_long))
        wrong["M = ∞ for the longest M, κ > 1"] = tabulate(_step_risk, self.M_long)
        skewed = np.array(self.kappa) > 1
        wrong["M = ∞ for the longest M, κ > 1"][skewed, -1] = np.array(floor)[skewed]
        return dataset.assign_coords(length=length).assign(
            {
                "risk_theory": variable("kappa M", tabulate(_step_risk, self.M), step),
                "risk_exact_context": variable("kappa M", tabulate(_exact_context, self.M), exact),
                "risk_long_theory": variable("kappa M_long", tabulate(_step_risk, self.M_long), step),
                "trained_long_theory": variable("kappa M_long", tabulate(trained, self.M_long), model),
                "risk_line": variable("kappa length", tabulate(_step_risk, length), step),
                "trained_line": variable("kappa length", tabulate(trained, length), "relative error, trained model, formula"),
                "risk_long_near": near_misses("kappa M_long", wrong),
                "risk_long_se": of_blocks(dataset.risk_long_se, self.contexts),
                "floor_theory": variable("kappa", floor, "relative error, best scalar step, infinite context"),
            }
        )

    def _covariances(self, d: int, seed: int) -> dict[float, np.ndarray]:
        """Return the covariance by condition number."""
        return {kappa: self.trace / d * geometric_covariance(d, kappa, seed, f"basis/{kappa:g}") for kappa in self.kappa}

    def _examples(self, Lambda: np.ndarray, M: int, seed: int, cell: str) -> Estimate:
        model = OneGradientStep(one_step.best_step_size(Lambda, M))
        law = LinearRegression(torch.tensor(Lambda))
        return risk(model, law, prompts=self.prompts, length=M, seed=seed, name=f"one-step/{cell}/{M}")

    def _contexts(self, Lambda: np.ndarray, M: int, seed: int, cell: str) -> Estimate:
        contexts = self._long(Lambda, M, seed, f"one-step/{cell}/{M}")
        return risk_over_contexts(Lambda, one_step.best_step_size(Lambda, M) * np.eye(len(Lambda)), contexts)

    def _trained(self, Lambda: np.ndarray, M: int, seed: int, cell: str) -> Estimate:
        contexts = self._long(Lambda, M, seed, f"one-step/{cell}/{M}")
        return risk_over_contexts(Lambda, np.linalg.inv(Gamma(Lambda, M)), contexts)

    def _long(self, Lambda: np.ndarray, M: int, seed: int, role: str) -> torch.Tensor:
        return empirical_covariances(Lambda, M, draws(self.d, len(Lambda), self.contexts), seed, role)


def _step_risk(Lambda: np.ndarray, M: float) -> float:
    return one_step.risk(Lambda, M, one_step.best_step_size(Lambda, M))


def _wrong_risk(Gamma, Lambda: np.ndarray, M: float) -> float:
    """Return the least error if E[Lambda_hat^2] were ``Gamma`` Lambda."""
    square = Lambda @ Lambda
    return float(np.trace(Lambda) - np.trace(square) ** 2 / np.trace(Gamma(Lambda, M) @ square))


def _exact_context(Lambda: np.ndarray, M: float) -> float:
    return one_step.risk(Lambda, np.inf, one_step.best_step_size(Lambda, M))


_KAPPA, _M_LONG = (1.0, 3.0, 10.0, 100.0), (100, 1_000, 10_000, 1_000_000)

_QUICK = OneStep(d=(20, 5), trace=20.0, kappa=_KAPPA, M=(10, 40), prompts=1_000, M_long=_M_LONG, contexts=200)
ONE_STEP = Experiment(
    slug="zhang-one-step",
    title="One gradient step with a scalar step size",
    quick=_QUICK,
    full=replace(_QUICK, prompts=400_000, contexts=5_000),
)
