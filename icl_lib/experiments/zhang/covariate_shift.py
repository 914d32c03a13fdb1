"""zhang-covariate-shift: context and query from another covariance than that of training; LSA beside least squares."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.baselines import MinimumNormOLS
from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, stacked_limits, standard_normal
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import variable
from icl_lib.tasks import LinearLabels
from icl_lib.theory.zhang import shifts


@dataclass(frozen=True)
class CovariateShift:
    """Errors on one task when inputs are scaled by c (covariance c^2 Lambda), or drawn from another covariance."""

    d: int
    kappa: float
    test_kappa: float
    scale: tuple[float, ...]
    N: tuple[int, ...]
    M: tuple[int, ...]
    prompts: int
    ols_prompts: int
    length: tuple[int, ...]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure LSA and least squares; put the covariate-shift formula and its limit beside them."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        w = standard_normal((self.d,), seed, "w")
        w /= np.sqrt(w @ Lambda @ w)
        tests = {f"inputs × {c:g}": c**2 * Lambda for c in self.scale}
        tests["other covariance"] = geometric_covariance(self.d, self.test_kappa, seed, "test basis")
        cells = np.array([[self._cell(Lambda, w, L, M, seed, name) for M in self.M] for name, L in tests.items()])
        ols = [[self._ols(w, L, M, seed, name) for M in self.M] for name, L in tests.items()]
        names = ("measured error of LSA", "standard error", "error by the formula", "same, query left unshifted")
        terms = ("risk", "risk_se", "risk_theory", "unshifted_query_theory")
        coords = {"test": list(tests), "M": list(self.M), "N": list(self.N), "c": list(self.scale)}
        return xr.Dataset(
            {term: variable("test M N", cells[:, :, k], names[k], "y^2") for k, term in enumerate(terms)}
            | {
                "ols": variable("test M", ols, "error of minimum-norm least squares", "y^2"),
                "zero": variable("test", [w @ L @ w for L in tests.values()], "error of predicting 0", "y^2"),
            }
            | self._limits(Lambda, w, tests),
            coords=coords | {"length": list(self.length)},
        )

    def _cell(self, Lambda, w, Lambda_test, M, seed, name) -> np.ndarray:
        model = LinearSelfAttention(*stacked_limits(Lambda, self.N))
        law = LinearLabels(torch.tensor(Lambda_test), torch.tensor(w), 0.0)
        measured = risk(model, law, prompts=self.prompts, length=M, seed=seed, name=f"covariate-shift/{name}/{M}")
        theory = [[shifts.shift_error(Lambda, N, M, Lambda_test, Q, w) for N in self.N] for Q in (Lambda_test, Lambda)]
        return np.stack([*measured, *theory])

    def _ols(self, w, Lambda_test, M, seed, name) -> float:
        law = LinearLabels(torch.tensor(Lambda_test), torch.tensor(w), 0.0)
        role = f"covariate-shift/{name}/{M}/ols"
        return risk(MinimumNormOLS(), law, prompts=self.ols_prompts, length=M, seed=seed, name=role).value

    def _limits(self, Lambda, w, tests) -> dict[str, xr.Variable]:
        limit = [shifts.covariate_shift_limit(Lambda, L, w) for L in tests.values()]
        scaled = [shifts.scaling_limit(Lambda, c, w) for c in self.scale]
        long = [[shifts.covariate_shift_error(Lambda, K, K, c**2 * Lambda, w) for K in self.length] for c in self.scale]
        return {
            "limit": variable("test", limit, "limit N, M -> infinity of the formula", "y^2"),
            "scaling_limit": variable("c", scaled, "c^2 (c^2 - 1)^2 ||w||_Lambda^2", "y^2"),
            "long_theory": variable("c length", long, "error by the formula at N = M = length", "y^2"),
        }


COVARIATE_SHIFT = Experiment(
    slug="zhang-covariate-shift",
    title="Covariate shift: LSA errs, least squares does not",
    paper="zhang",
    section="4.2",
    notebook="zhang_4_2_shifts",
    quick=CovariateShift(
        d=5,
        kappa=10.0,
        test_kappa=5.0,
        scale=(0.5, 2.0, 3.0),
        N=(20, 200),
        M=(10, 40, 160),
        prompts=10_000,
        ols_prompts=500,
        length=(10_000, 100_000, 1_000_000),
    ),
    full=CovariateShift(
        d=5,
        kappa=10.0,
        test_kappa=5.0,
        scale=(0.5, 2.0, 3.0),
        N=(20, 200),
        M=(10, 20, 40, 80, 160, 320),
        prompts=150_000,
        ols_prompts=2_000,
        length=(10_000, 100_000, 1_000_000),
    ),
)
