"""zhang-two-notions: a model trained at prompt length N keeps an error however long the test prompt (section 3.1)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance, stacked_limits
from papers.zhang.dimensions import along_d, at_d, draws
from papers.zhang.near_misses import of_averages, of_blocks
from papers.zhang.theory import error
from papers.zhang.theory.optimum import Gamma
from papers.zhang.wishart import empirical_covariances, risk_over_contexts


@dataclass(frozen=True)
class TwoNotions(Declaration):
    """Error / d of the model trained at N, on prompts of length M; condition number 1 is the identity covariance.

    d            dimensions of inputs; kappa: condition numbers of the covariance; N: training lengths
    M            test lengths drawn by empirical covariance; contexts: empirical covariances of each length at the largest d
    M_examples   the test length whose examples meet the attention layer; prompts: test prompts at that length
    """

    d: Several[Count]
    kappa: Several[Positive]
    N: Several[Count]
    M: Several[Count]
    contexts: AtLeastTwo
    M_examples: Count
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if 1.0 not in self.kappa:
            raise ValueError(f"kappa is {self.kappa}: take 1 as one of them, where the floor has a form of its own")
        if max(self.M) > self.M[-1]:
            raise ValueError(f"M is {self.M}: take the longest last")
        if min(self.M) < max(self.d):
            raise ValueError(f"M is {self.M}, d is {self.d}: take lengths of at least d, which empirical covariances need")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error over M, to lengths that no sample of examples reaches."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        cells_of = dict(zip([f"{d}/{kappa:g}" for kappa in self.kappa], self._covariances(d, seed), strict=True))
        long = np.stack([self._contexts(Lambda, seed, cell) for cell, Lambda in cells_of.items()]) / d
        short = np.stack([self._examples(Lambda, seed, cell) for cell, Lambda in cells_of.items()]) / d
        cells, unit = "kappa N M", "per dimension"
        return xr.Dataset(
            {
                "risk": variable(cells, long[..., 0], "measured error", unit),
                "risk_se": variable(cells, long[..., 1], "standard error", unit),
                "attention": variable("kappa N", short[:, 0], "measured error, attention layer", unit),
                "attention_se": variable("kappa N", short[:, 1], "standard error", unit),
            },
            coords={"kappa": list(self.kappa), "N": list(self.N), "M": list(self.M), "M_examples": self.M_examples},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put e(N, M) beside it, with N infinite, with M infinite, and with N and M exchanged."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        length, M = np.geomspace(self.M[0], self.M[-1], 61), self.M_examples
        columns = {
            "risk_theory": ("kappa N M", self._errors(d, seed, self.N, self.M), "e(N, M)"),
            "risk_vanishing": ("kappa N M", self._errors(d, seed, [np.inf] * len(self.N), self.M), "e(infinity, M)"),
            "attention_theory": ("kappa N", self._errors(d, seed, self.N, [M])[..., 0], "e(N, M)"),
            "attention_exchanged": ("kappa N", self._errors(d, seed, [M], self.N)[:, 0], "e(M, N)"),
            "risk_line": ("kappa N length", self._errors(d, seed, self.N, length), "e(N, M)"),
            "floor_theory": ("kappa N", self._errors(d, seed, self.N, [np.inf])[..., 0], "e(N, infinity)"),
        }
        shrinkage = {
            "shrinkage": ([error.isotropic_shrinkage(d, N) for N in self.N], "a = 1 / (1 + (d + 1)/N)"),
            "shrinkage_without_trace_term": (1 / (1 + 1 / np.array(self.N)), "1 / (1 + 1/N)"),
        }
        found = dataset.assign_coords(length=length).assign(
            {name: variable(*column, "per dimension") for name, column in columns.items()}
            | {name: variable("N", *column) for name, column in shrinkage.items()}
        )
        return found.assign(
            risk_near=near_misses("kappa N M", self._near(found, d, seed), "per dimension"),
            risk_se=of_blocks(dataset.risk_se, self.contexts),
        )

    @expectation
    def _near(self, found: xr.Dataset, d: int, seed: int) -> dict[str, np.ndarray]:
        wrong = of_averages(self._covariances(d, seed), self.N, self.M)
        floor = found.risk_theory.where(self.M[-1] != found.M, found.floor_theory)
        return {label: values.swapaxes(1, 2) / d for label, values in wrong.items()} | {"M = ∞ for the longest M": floor.values}

    @expectation
    def _errors(self, d: int, seed: int, N, M) -> np.ndarray:
        """Return e(N, M) / d by kappa, N and M."""
        covariances = self._covariances(d, seed)
        return np.array([error.averaged_error(Lambda, np.array(N)[:, None], np.array(M)) for Lambda in covariances]) / d

    def _covariances(self, d: int, seed: int) -> list[np.ndarray]:
        return [geometric_covariance(d, kappa, seed) for kappa in self.kappa]

    def _contexts(self, Lambda, seed, cell) -> list[list[Estimate]]:
        count = draws(self.d, len(Lambda), self.contexts)
        contexts = {M: empirical_covariances(Lambda, M, count, seed, f"two-notions/{cell}/{M}") for M in self.M}
        inverses = [np.linalg.inv(Gamma(Lambda, N)) for N in self.N]
        return [[risk_over_contexts(Lambda, inverse, contexts[M]) for M in self.M] for inverse in inverses]

    def _examples(self, Lambda, seed, cell) -> Estimate:
        model, law = LinearSelfAttention(*stacked_limits(Lambda, self.N)), LinearRegression(torch.tensor(Lambda))
        return risk(model, law, prompts=self.prompts, length=self.M_examples, seed=seed, name=f"two-notions/{cell}/examples")


_LENGTHS = (20, 60, 600, 6_000, 60_000, 1_000_000)

TWO_NOTIONS = Experiment(
    slug="zhang-two-notions",
    title="Trained at length N, tested at any length",
    section="3.1",
    quick=TwoNotions((20, 5), (1.0, 10.0), (40, 70, 100), _LENGTHS, contexts=400, M_examples=200, prompts=800),
    full=TwoNotions((20, 5), (1.0, 10.0), (40, 70, 100), _LENGTHS, contexts=10_000, M_examples=200, prompts=60_000),
)
