"""zhang-risk: Theorem 4.2 against Monte Carlo, for linear, noisy and cubic test labels."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, stacked_limits, standard_normal
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import variable
from icl_lib.tasks import CubicLabels, LinearLabels
from icl_lib.theory.zhang import error


@dataclass(frozen=True)
class Risk:
    """Test error of the trained model over training lengths N, test lengths M and three test label laws."""

    d: int
    kappa: float
    noise_sd: float
    N: tuple[int, ...]
    M: tuple[int, ...]
    prompts: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of LSA with the weights of Theorem 4.1 and put Theorem 4.2 beside it."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        w = standard_normal((self.d,), seed, "w")
        w /= np.sqrt(w @ Lambda @ w)
        covariance, weights = torch.tensor(Lambda), torch.tensor(w)
        laws = {
            "noiseless": (LinearLabels(covariance, weights, 0.0), error.noiseless_labels(Lambda, w)),
            "noisy": (
                LinearLabels(covariance, weights, self.noise_sd),
                error.noisy_labels(Lambda, w, self.noise_sd),
            ),
            "cubic": (CubicLabels(covariance, weights), error.cubic_labels(Lambda, w)),
        }
        cells = np.array([[self._column(Lambda, M, *laws[name], seed, name) for M in self.M] for name in laws])
        terms = ("risk", "risk_se", "best_linear", "variance", "bias")
        names = ("measured error", "standard error", "best linear error", "variance term", "bias term")
        return xr.Dataset(
            {term: variable("labels M N", cells[:, :, k], names[k], "y^2") for k, term in enumerate(terms)}
            | {"risk_theory": variable("labels M N", cells[:, :, 2:].sum(2), "error by Theorem 4.2", "y^2")},
            coords={"labels": list(laws), "N": list(self.N), "M": list(self.M)},
        )

    def _column(self, Lambda, M, law, moments, seed, name) -> np.ndarray:
        model = LinearSelfAttention(*stacked_limits(Lambda, self.N))
        measured = risk(model, law, prompts=self.prompts, length=M, seed=seed, name=f"risk/{name}/{M}")
        theory = np.array([error.error_terms(Lambda, N, M, moments) for N in self.N])
        return np.stack([*measured, *theory.T])


RISK = Experiment(
    slug="zhang-risk",
    title="Theorem 4.2 against Monte Carlo",
    paper="zhang",
    section="4.1",
    notebook="zhang_4_1_convergence",
    quick=Risk(d=5, kappa=10.0, noise_sd=0.5, N=(10, 40), M=(5, 20, 80), prompts=60_000),
    full=Risk(d=5, kappa=10.0, noise_sd=0.5, N=(10, 40, 160), M=(5, 10, 20, 40, 80), prompts=1_000_000),
)
