"""zhang-risk: Theorem 4.2 against Monte Carlo, for linear, noisy and cubic test labels."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, NotNegative, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import CubicLabels, LinearLabels
from papers.regression.spectra import geometric_covariance, stacked_limits, standard_normal
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import gathered, of_blocks, of_theorem
from papers.zhang.theory import error


@dataclass(frozen=True)
class Risk(Declaration):
    """Test error of the trained model over training lengths N, test lengths M and three test label distributions.

    d          dimensions of inputs; trace: tr Lambda; kappa: condition number of the covariance
    noise_sd   standard deviation of the noise in noisy labels
    N          training lengths; M: test lengths; prompts: test prompts of a label distribution at each (d, M)
    tr Lambda does not change with d, so that one cannot stand for the other.
    """

    d: Several[Count]
    trace: Positive
    kappa: Positive
    noise_sd: NotNegative
    N: Several[Count]
    M: Several[Count]
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of LSA with the weights of Theorem 4.1."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        Lambda, w = self._task(d, seed)
        model = LinearSelfAttention(*stacked_limits(Lambda, self.N))
        covariance, weights = torch.tensor(Lambda), torch.tensor(w)
        laws = {
            "noiseless": LinearLabels(covariance, weights, 0.0),
            "noisy": LinearLabels(covariance, weights, self.noise_sd),
            "cubic": CubicLabels(covariance, weights),
        }
        found = [
            [risk(model, law, prompts=self.prompts, length=M, seed=seed, name=f"risk/{d}/{name}/{M}") for M in self.M]
            for name, law in laws.items()
        ]
        where = "labels M N"
        return xr.Dataset(
            {
                "risk": variable(where, [[e.value for e in row] for row in found], "measured error", "y^2"),
                "risk_se": variable(where, [[e.standard_error for e in row] for row in found], "standard error", "y^2"),
            },
            coords={"labels": list(laws), "N": list(self.N), "M": list(self.M)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put Theorem 4.2 and its three terms beside it, and what small mistakes in it give."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        Lambda, w = self._task(d, seed)
        laws = (error.noiseless_labels(Lambda, w), error.noisy_labels(Lambda, w, self.noise_sd), error.cubic_labels(Lambda, w))
        terms = np.array([[[error.error_terms(Lambda, N, M, law) for N in self.N] for M in self.M] for law in laws])
        names = {"best_linear": "best linear error", "variance": "variance term", "bias": "bias term"}
        columns = {name: variable("labels M N", terms[..., k], text, "y^2") for k, (name, text) in enumerate(names.items())}
        columns["risk_theory"] = variable("labels M N", terms.sum(-1), "error by Theorem 4.2", "y^2")
        wrong = gathered([[[of_theorem(Lambda, N, M, law) for N in self.N] for M in self.M] for law in laws])
        return dataset.assign(columns).assign(
            risk_near=near_misses("labels M N", wrong, "y^2"), risk_se=of_blocks(dataset.risk_se, self.prompts)
        )

    def _task(self, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda and a w of unit length in its metric."""
        Lambda = self.trace / d * geometric_covariance(d, self.kappa, seed)
        w = standard_normal((d,), seed, "w")
        return Lambda, w / np.sqrt(w @ Lambda @ w)


_QUICK = Risk(d=(5, 2), trace=5.0, kappa=10.0, noise_sd=0.5, N=(10, 40), M=(5, 20, 80), prompts=30_000)
RISK = Experiment(
    slug="zhang-risk",
    title="Theorem 4.2 against Monte Carlo",
    quick=_QUICK,
    full=replace(_QUICK, N=(10, 40, 160), M=(5, 10, 20, 40, 80), prompts=1_000_000),
)
