"""zhang-two-notions: a model trained at prompt length N keeps an error however long the test prompt (section 3.1)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, stacked_limits
from icl_lib.experiments.zhang.wishart import empirical_covariances, risk_over_contexts
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import variable
from icl_lib.tasks import LinearRegression
from icl_lib.theory.zhang import error
from icl_lib.theory.zhang.optimum import Gamma


@dataclass(frozen=True)
class TwoNotions:
    """Error / d of the model trained at N, on prompts of length M; condition number 1 is the identity covariance.

    ``M`` are lengths drawn by empirical covariance; ``M_examples`` one length whose examples meet the attention layer.
    """

    d: int
    kappa: tuple[float, ...]
    N: tuple[int, ...]
    M: tuple[int, ...]
    contexts: int
    M_examples: int
    prompts: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error over M, to lengths that no sample of examples reaches, and put e(N, M) beside it."""
        covariances = [geometric_covariance(self.d, kappa, seed) for kappa in self.kappa]
        long = np.stack([self._contexts(Lambda, seed) for Lambda in covariances]) / self.d
        short = np.stack([self._examples(Lambda, seed) for Lambda in covariances]) / self.d
        cells, unit = "kappa N M", "per dimension"
        length = np.geomspace(self.M[0], self.M[-1], 61)
        lines = np.array([self._theory(Lambda, length) for Lambda in covariances])
        infinite = np.array([self._theory(Lambda, [np.inf])[:, 0] for Lambda in covariances])
        shrinkage = np.array([error.isotropic_shrinkage(self.d, N) for N in self.N])
        return xr.Dataset(
            {
                "risk": variable(cells, long[..., 0], "measured error", unit),
                "risk_se": variable(cells, long[..., 1], "standard error", unit),
                "risk_theory": variable(cells, long[..., 2], "e(N, M)", unit),
                "risk_vanishing": variable(cells, long[..., 3], "e(infinity, M)", unit),
                "attention": variable("kappa N", short[:, 0], "measured error, attention layer", unit),
                "attention_se": variable("kappa N", short[:, 1], "standard error", unit),
                "attention_theory": variable("kappa N", short[:, 2], "e(N, M)", unit),
                "attention_exchanged": variable("kappa N", short[:, 3], "e(M, N)", unit),
                "risk_line": variable("kappa N length", lines / self.d, "e(N, M)", unit),
                "floor_theory": variable("kappa N", infinite / self.d, "e(N, infinity)", unit),
                "shrinkage": variable("N", shrinkage, "a = 1 / (1 + (d + 1)/N)"),
                "shrinkage_without_trace_term": variable("N", 1 / (1 + 1 / np.array(self.N)), "1 / (1 + 1/N)"),
            },
            coords={
                "kappa": list(self.kappa),
                "N": list(self.N),
                "M": list(self.M),
                "length": length,
                "M_examples": self.M_examples,
            },
        )

    def _theory(self, Lambda, lengths) -> np.ndarray:
        return np.array([[error.averaged_error(Lambda, N, M) for M in lengths] for N in self.N])

    def _contexts(self, Lambda, seed) -> np.ndarray:
        contexts = {M: empirical_covariances(Lambda, M, self.contexts, seed, f"two-notions/{M}") for M in self.M}
        inverses = [np.linalg.inv(Gamma(Lambda, N)) for N in self.N]
        measured = [[risk_over_contexts(Lambda, inverse, contexts[M]) for M in self.M] for inverse in inverses]
        vanishing = [[error.averaged_error(Lambda, np.inf, M) for M in self.M]] * len(self.N)
        return np.concatenate([measured, np.stack([self._theory(Lambda, self.M), vanishing], axis=-1)], axis=-1)

    def _examples(self, Lambda, seed) -> np.ndarray:
        model = LinearSelfAttention(*stacked_limits(Lambda, self.N))
        law, M = LinearRegression(torch.tensor(Lambda)), self.M_examples
        measured = risk(model, law, prompts=self.prompts, length=M, seed=seed, name="two-notions/examples")
        theory = [error.averaged_error(Lambda, N, M) for N in self.N]
        exchanged = [error.averaged_error(Lambda, M, N) for N in self.N]
        return np.stack([*measured, theory, exchanged])


_LENGTHS = (20, 60, 600, 6_000, 60_000, 1_000_000)

TWO_NOTIONS = Experiment(
    slug="zhang-two-notions",
    title="Trained at length N, tested at any length",
    paper="zhang",
    section="3.1",
    notebook="zhang_3_preliminaries",
    quick=TwoNotions(20, (1.0, 10.0), (40, 70, 100), _LENGTHS, contexts=400, M_examples=200, prompts=10_000),
    full=TwoNotions(20, (1.0, 10.0), (40, 70, 100), _LENGTHS, contexts=10_000, M_examples=200, prompts=60_000),
)
