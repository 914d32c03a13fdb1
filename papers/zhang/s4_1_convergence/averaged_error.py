"""zhang-averaged-error: the exact error e(N, M), its bound, its Monte Carlo, its rates and its best training length."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import squared_errors
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance, stacked_limits
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import of_averages, of_blocks
from papers.zhang.theory import error, optimum
from papers.zhang.wishart import empirical_covariances, risk_over_contexts

ENDLESS = 10**17
"""A test prompt so long that the training length alone is seen."""
PATHS = {"M": lambda end: (np.inf, end), "N": lambda end: (end, ENDLESS), "both": lambda end: (end, end)}
"""(N, M) where the one, the other or both are as long as ``end``."""


@dataclass(frozen=True)
class AveragedError(Declaration):
    """The error averaged over tasks w ~ N(0, I), over condition numbers and both prompt lengths.

    d            dimensions of inputs; trace: tr Lambda; kappa: condition numbers of the covariance
    N            training lengths; M: test lengths
    long_N       a training length beyond the others, whose cost is taken
    rate_range   prompt lengths between which rates are taken
    contexts     empirical covariances at either end of rate_range
    searched_N   length up to which the best training length is sought
    prompts      test prompts at each (d, kappa, M)
    tr Lambda does not change with d. At the ends of ``rate_range`` prompts are drawn by their ``contexts`` alone.
    """

    d: Several[Count]
    trace: Positive
    kappa: Several[Positive]
    N: Several[Count]
    M: Several[Count]
    long_N: Count
    rate_range: tuple[Count, Count]
    contexts: AtLeastTwo
    searched_N: Count
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if not set(self.M) <= set(self.N) or self.long_N <= max(self.N):
            raise ValueError(f"N = {self.N}, M = {self.M}, long N = {self.long_N}: take each M from N, and a long N above all")
        if self.searched_N <= max(self.M):
            raise ValueError(f"the best N is searched up to {self.searched_N}: search beyond every M, {max(self.M)} here")
        if self.rate_range[0] >= self.rate_range[1]:
            raise ValueError(f"rates are taken between the lengths {self.rate_range}: take the shorter one first")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure at every (kappa, M, N), what a long N costs on the same prompts, and on very long prompts."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        samples = torch.stack([self._errors(d, kappa, seed) for kappa in self.kappa])
        at_M = torch.stack([samples[:, k, self.N.index(M)] for k, M in enumerate(self.M)], dim=1)
        found, cost = mean(samples), mean(samples[:, :, -1] - at_M)
        long = np.array([[self._long(d, kappa, *lengths, seed) for lengths in self._paths()] for kappa in self.kappa])
        long = long.reshape(len(self.kappa), len(PATHS), 2, 2)
        return xr.Dataset(
            {
                "error": variable("kappa M N", found.value, "measured error", "y^2"),
                "error_se": variable("kappa M N", found.standard_error, "standard error", "y^2"),
                "cost_of_long_N": variable("kappa M", cost.value, "e(long N, M) - e(M, M)", "y^2"),
                "cost_of_long_N_se": variable("kappa M", cost.standard_error, "standard error"),
                "long": variable("kappa path end", long[..., 0], "measured error on very long prompts", "y^2"),
                "long_se": variable("kappa path end", long[..., 1], "standard error", "y^2"),
            },
            coords={
                "kappa": list(self.kappa),
                "N": [*self.N, self.long_N],
                "M": list(self.M),
                "path": list(PATHS),
                "end": list(self.rate_range),
            },
        )

    def _covariance(self, d: int, kappa: float, seed: int) -> np.ndarray:
        return self.trace / d * geometric_covariance(d, kappa, seed)

    def _errors(self, d: int, kappa: float, seed: int) -> Float[Tensor, "M N prompts"]:
        """Return the squared errors, those of one M on the same prompts."""
        Lambda = self._covariance(d, kappa, seed)
        model = LinearSelfAttention(*stacked_limits(Lambda, (*self.N, self.long_N)))
        measured = partial(squared_errors, model, LinearRegression(torch.tensor(Lambda)), prompts=self.prompts, seed=seed)
        return torch.stack([measured(length=M, name=f"average/{d}/{kappa}/{M}") for M in self.M])

    def _paths(self) -> list[tuple[float, int]]:
        """Return (N, M) at both ends of each path."""
        return [lengths(end) for lengths in PATHS.values() for end in self.rate_range]

    def _long(self, d: int, kappa: float, N: float, M: int, seed: int) -> tuple[float, float]:
        Lambda = self._covariance(d, kappa, seed)
        contexts = empirical_covariances(Lambda, M, self.contexts, seed, f"average/long/{d}/{kappa}/{N}/{M}")
        found = risk_over_contexts(Lambda, np.linalg.inv(optimum.Gamma(Lambda, N)), contexts)
        return float(found.value), float(found.standard_error)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed form e(N, M) beside it, with its bound and its best training length."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        covariances = [self._covariance(d, kappa, seed) for kappa in self.kappa]
        lengths, curve = (*self.N, self.long_N), np.arange(1, self.searched_N + 1)

        def exact(N) -> np.ndarray:
            return np.array([error.averaged_error(Lambda, np.array(N), np.array(self.M)[:, None]) for Lambda in covariances])

        def tabulate(function) -> np.ndarray:
            return np.array([[[function(Lambda, N, M) for N in lengths] for M in self.M] for Lambda in covariances])

        searched = exact(curve)
        formulas = {
            "error_by_theorem": (theorem_average, "Theorem 4.2 averaged over w"),
            "error_bound": (error.averaged_bound, "bound of section 4.1"),
            "eta": (lambda L, N, M: error.eta(L, N), "its 1/N^2 part"),
        }
        columns = {"error_theory": variable("kappa M N", exact(lengths), "e(N, M)", "y^2")}
        columns |= {name: variable("kappa M N", tabulate(e), text, "y^2") for name, (e, text) in formulas.items()}
        columns["error_near"] = near_misses("kappa M N", of_averages(covariances, lengths, self.M), "y^2")
        columns["error_se"] = of_blocks(dataset.error_se, self.prompts)
        columns["error_over_N"] = variable("kappa M curve_N", searched, "e(N, M)", "y^2")
        columns["best_N"] = variable("kappa M", curve[searched.argmin(-1)], "training length of least error")
        return dataset.assign_coords(curve_N=curve).assign(columns)


def theorem_average(Lambda: np.ndarray, N: float, M: float) -> float:
    """Average Theorem 4.2 over w ~ N(0, I): each term is quadratic in w, so the basis vectors' errors add up."""
    basis = np.eye(len(Lambda))
    return sum(sum(error.error_terms(Lambda, N, M, error.noiseless_labels(Lambda, w))) for w in basis)


AVERAGED_ERROR = Experiment(
    slug="zhang-averaged-error",
    title="The error over both prompt lengths",
    quick=AveragedError(
        d=(10, 3),
        trace=10.0,
        kappa=(1.0, 10.0),
        N=(10, 40, 160),
        M=(10, 40),
        long_N=2000,
        rate_range=(10_000, 1_000_000),
        contexts=1_000,
        searched_N=300,
        prompts=30_000,
    ),
    full=AveragedError(
        d=(20, 5),
        trace=20.0,
        kappa=(1.0, 10.0, 100.0),
        N=(10, 20, 40, 100),
        M=(10, 20, 40, 100),
        long_N=2000,
        rate_range=(100_000, 10_000_000),
        contexts=2_000,
        searched_N=400,
        prompts=200_000,
    ),
)
