"""zhang-averaged-error: the exact error e(N, M), its bound, its Monte Carlo, its rates and its best training length."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge

from icl_lib.companion.declaration import Count, Declaration, Positive, Several
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import squared_errors
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import LinearRegression
from papers.zhang.spectra import geometric_covariance, stacked_limits
from papers.zhang.theory import error


@dataclass(frozen=True)
class AveragedError(Declaration):
    """The error averaged over tasks w ~ N(0, I), over condition numbers and both prompt lengths."""

    d: Count
    kappa: Several[Positive]
    N: Several[Count]
    M: Several[Count]
    long_N: Count
    rate_range: tuple[Positive, Positive]
    searched_N: Count
    prompts: Annotated[int, Ge(2)]

    def __post_init__(self):
        super().__post_init__()
        if not set(self.M) <= set(self.N) or self.long_N <= max(self.N):
            raise ValueError(f"N = {self.N}, M = {self.M}, long N = {self.long_N}: take each M from N, and a long N above all")
        if self.searched_N <= max(self.M):
            raise ValueError(f"the best N is searched up to {self.searched_N}: search beyond every M, {max(self.M)} here")
        if self.rate_range[0] >= self.rate_range[1]:
            raise ValueError(f"rates are fitted over the lengths {self.rate_range}: take the shorter one first")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure at every (kappa, N, M), and what a long N costs on the same prompts."""
        lengths = (*self.N, self.long_N)
        samples = [
            [self._errors(Lambda, lengths, M, seed, kappa) for M in self.M]
            for kappa, Lambda in zip(self.kappa, self._covariances(seed), strict=True)
        ]
        found = [[mean(cell) for cell in row] for row in samples]
        costs = [[mean(cell[-1] - cell[self.N.index(M)]) for M, cell in zip(self.M, row, strict=True)] for row in samples]
        grid, pairs = "kappa M N", "kappa M"
        return xr.Dataset(
            {
                "error": variable(grid, [[e.value for e in row] for row in found], "measured error", "y^2"),
                "error_se": variable(grid, [[e.standard_error for e in row] for row in found], "standard error", "y^2"),
                "cost_of_long_N": variable(pairs, [[c.value for c in row] for row in costs], "e(long N, M) - e(M, M)", "y^2"),
                "cost_of_long_N_se": variable(pairs, [[c.standard_error for c in row] for row in costs], "standard error"),
            },
            coords={"kappa": list(self.kappa), "N": list(lengths), "M": list(self.M)},
        )

    def _errors(self, Lambda, lengths, M, seed, kappa) -> torch.Tensor:
        model = LinearSelfAttention(*stacked_limits(Lambda, lengths))
        law = LinearRegression(torch.tensor(Lambda))
        return squared_errors(model, law, prompts=self.prompts, length=M, seed=seed, name=f"average/{kappa}/{M}")

    def _covariances(self, seed: int) -> list[np.ndarray]:
        return [geometric_covariance(self.d, kappa, seed) for kappa in self.kappa]

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed form e(N, M) beside it, with its bound, its rates and its best training length."""
        covariances, grid = self._covariances(seed), "kappa M N"
        curve = np.arange(1, self.searched_N + 1)

        def tabulate(function, lengths=(*self.N, self.long_N)) -> np.ndarray:
            return np.array([[[function(Lambda, N, M) for N in lengths] for M in self.M] for Lambda in covariances])

        searched = tabulate(error.averaged_error, curve.tolist())
        return dataset.assign_coords(curve_N=curve).assign(
            {
                "error_theory": variable(grid, tabulate(error.averaged_error), "e(N, M)", "y^2"),
                "error_by_theorem": variable(grid, tabulate(theorem_average), "Theorem 4.2 averaged over w", "y^2"),
                "error_bound": variable(grid, tabulate(error.averaged_bound), "bound of section 4.1", "y^2"),
                "eta": variable(grid, tabulate(lambda L, N, M: error.eta(L, N)), "its 1/N^2 part", "y^2"),
                "error_over_N": variable("kappa M curve_N", searched, "e(N, M)", "y^2"),
                "best_N": variable("kappa M", curve[searched.argmin(-1)], "training length of least error"),
                **self._slopes(covariances),
            }
        )

    @expectation
    def _slopes(self, covariances) -> dict[str, xr.Variable]:
        lengths = np.geomspace(*self.rate_range, 9)
        paths = {
            "slope_M": lambda L, K: error.averaged_error(L, np.inf, K),
            "slope_N": lambda L, K: error.averaged_error(L, K, np.inf),
            "slope_both": lambda L, K: error.averaged_error(L, K, K),
            "slope_N_at_fixed_M": lambda L, K: error.averaged_error(L, K, self.M[0]),
        }
        fits = {
            name: [np.polyfit(np.log(lengths), np.log([path(L, K) for K in lengths]), 1)[0] for L in covariances]
            for name, path in paths.items()
        }
        return {name: variable("kappa", fit, "slope of log e on log length") for name, fit in fits.items()}


def theorem_average(Lambda: np.ndarray, N: float, M: float) -> float:
    """Average Theorem 4.2 over w ~ N(0, I): each term is quadratic in w, so the basis vectors' errors add up."""
    basis = np.eye(len(Lambda))
    return sum(sum(error.error_terms(Lambda, N, M, error.noiseless_labels(Lambda, w))) for w in basis)


AVERAGED_ERROR = Experiment(
    slug="zhang-averaged-error",
    title="The error over both prompt lengths",
    quick=AveragedError(
        d=10, kappa=(1.0, 10.0), N=(10, 40, 160), M=(10, 40), long_N=2000, rate_range=(1e3, 1e5), searched_N=300,
        prompts=30_000,
    ),
    full=AveragedError(
        d=20, kappa=(1.0, 10.0, 100.0), N=(10, 20, 40, 100), M=(10, 20, 40, 100), long_N=2000, rate_range=(1e5, 1e7),
        searched_N=400, prompts=200_000,
    ),
)  # fmt: skip
