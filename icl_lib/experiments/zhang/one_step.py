"""zhang-one-step: one gradient step with the best scalar step size, against the trained model (footnote 2)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.baselines import OneGradientStep
from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance
from icl_lib.experiments.zhang.wishart import empirical_covariances, risk_over_contexts
from icl_lib.measure.estimate import Estimate
from icl_lib.measure.risk import risk
from icl_lib.results import variable
from icl_lib.tasks import LinearRegression
from icl_lib.theory.zhang import error, one_step
from icl_lib.theory.zhang.optimum import Gamma


@dataclass(frozen=True)
class OneStep:
    """Error / tr Lambda of the best scalar step over condition numbers kappa and prompt lengths.

    ``M``: lengths whose examples are drawn one by one; ``M_long``: lengths drawn by empirical covariance.
    """

    d: int
    kappa: tuple[float, ...]
    M: tuple[int, ...]
    prompts: int
    M_long: tuple[int, ...]
    contexts: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the best scalar step; put its formula and the error of the trained model beside it."""
        covariances = [geometric_covariance(self.d, kappa, seed, f"basis/{kappa:g}") for kappa in self.kappa]
        short = np.array([[self._cell(self._examples, Lambda, M, seed) for M in self.M] for Lambda in covariances])
        long = np.array([[self._cell(self._contexts, Lambda, M, seed) for M in self.M_long] for Lambda in covariances])
        trained = np.array([[self._trained(Lambda, M, seed) for M in self.M_long] for Lambda in covariances])
        length = np.geomspace(self.M[0], self.M_long[-1], 61)
        lines = np.array([[self._line(Lambda, M) for M in length] for Lambda in covariances])
        floor = [one_step.relative_floor(Lambda) for Lambda in covariances]
        names = {
            "trained_long": "relative error, trained model with N = M, measured",
            "trained_long_se": "standard error",
            "trained_long_theory": "relative error, trained model with N = M, formula",
        }
        return xr.Dataset(
            _risks("", "M", short)
            | _risks("_long", "M_long", long)
            | {name: variable("kappa M_long", trained[:, :, k], text) for k, (name, text) in enumerate(names.items())}
            | {
                "risk_line": variable("kappa length", lines[:, :, 0], "relative error, best scalar step, formula"),
                "trained_line": variable("kappa length", lines[:, :, 1], "relative error, trained model, formula"),
                "floor_theory": variable("kappa", floor, "relative error, best scalar step, infinite context"),
            },
            coords={"kappa": list(self.kappa), "M": list(self.M), "M_long": list(self.M_long), "length": length},
        )

    def _cell(self, measure, Lambda, M, seed) -> np.ndarray:
        step_size = one_step.best_step_size(Lambda, M)
        theory = one_step.risk(Lambda, M, step_size), one_step.risk(Lambda, np.inf, step_size)
        return np.array([*measure(Lambda, M, step_size, seed), *theory]) / self.d

    def _line(self, Lambda, M) -> tuple[float, float]:
        step = one_step.risk(Lambda, M, one_step.best_step_size(Lambda, M))
        return step / self.d, error.averaged_error(Lambda, M, M) / self.d

    def _examples(self, Lambda, M, step_size, seed) -> Estimate:
        law = LinearRegression(torch.tensor(Lambda))
        model = OneGradientStep(step_size)
        return risk(model, law, prompts=self.prompts, length=M, seed=seed, name=f"one-step/{M}")

    def _contexts(self, Lambda, M, step_size, seed) -> Estimate:
        contexts = empirical_covariances(Lambda, M, self.contexts, seed, f"one-step/{M}")
        return risk_over_contexts(Lambda, step_size * np.eye(self.d), contexts)

    def _trained(self, Lambda, M, seed) -> np.ndarray:
        contexts = empirical_covariances(Lambda, M, self.contexts, seed, f"one-step/{M}")
        measured = risk_over_contexts(Lambda, np.linalg.inv(Gamma(Lambda, M)), contexts)
        return np.array([*measured, error.averaged_error(Lambda, M, M)]) / self.d


def _risks(suffix: str, length: str, cells: np.ndarray) -> dict[str, xr.Variable]:
    names = {
        f"risk{suffix}": "relative error, best scalar step, measured",
        f"risk{suffix}_se": "standard error",
        f"risk{suffix}_theory": "relative error, best scalar step, formula",
        f"risk{suffix}_exact_context": "the same formula without the fluctuation of the context",
    }
    return {name: variable(f"kappa {length}", cells[:, :, k], text) for k, (name, text) in enumerate(names.items())}


_KAPPA, _M_LONG = (1.0, 3.0, 10.0, 100.0), (100, 1_000, 10_000, 1_000_000)

ONE_STEP = Experiment(
    slug="zhang-one-step",
    title="One gradient step with a scalar step size",
    paper="zhang",
    section="1",
    notebook="zhang_1_introduction",
    quick=OneStep(d=20, kappa=_KAPPA, M=(10, 40), prompts=20_000, M_long=_M_LONG, contexts=200),
    full=OneStep(d=20, kappa=_KAPPA, M=(10, 40), prompts=400_000, M_long=_M_LONG, contexts=5_000),
)
