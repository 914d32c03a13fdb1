"""zhang-averaged-error: the exact error e(N, M), its bound, its Monte Carlo, its rates and its best training length."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion.declaration import AtLeastTwo, Count, Declaration, Positive, Several
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import squared_errors
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import LinearRegression
from papers.zhang.near_misses import near_misses, of_averages, of_blocks
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
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if not set(self.M) <= set(self.N) or self.long_N <= max(self.N):
            raise ValueError(f"N = {self.N}, M = {self.M}, long N = {self.long_N}: take each M from N, and a long N above all")
        if self.searched_N <= max(self.M):
            raise ValueError(f"the best N is searched up to {self.searched_N}: search beyond every M, {max(self.M)} here")
        if self.rate_range[0] >= self.rate_range[1]:
            raise ValueError(f"rates are fitted over the lengths {self.rate_range}: take the shorter one first")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure at every (kappa, M, N), and what a long N costs on the same prompts."""
        samples = torch.stack([self._errors(kappa, seed) for kappa in self.kappa])
        at_M = torch.stack([samples[:, k, self.N.index(M)] for k, M in enumerate(self.M)], dim=1)
        found, cost = mean(samples), mean(samples[:, :, -1] - at_M)
        return xr.Dataset(
            {
                "error": variable("kappa M N", found.value, "measured error", "y^2"),
                "error_se": variable("kappa M N", found.standard_error, "standard error", "y^2"),
                "cost_of_long_N": variable("kappa M", cost.value, "e(long N, M) - e(M, M)", "y^2"),
                "cost_of_long_N_se": variable("kappa M", cost.standard_error, "standard error"),
            },
            coords={"kappa": list(self.kappa), "N": [*self.N, self.long_N], "M": list(self.M)},
        )

    def _errors(self, kappa: float, seed: int) -> Float[Tensor, "M N prompts"]:
        """Return the squared errors, those of one M on the same prompts."""
        Lambda = geometric_covariance(self.d, kappa, seed)
        model = LinearSelfAttention(*stacked_limits(Lambda, (*self.N, self.long_N)))
        measured = partial(squared_errors, model, LinearRegression(torch.tensor(Lambda)), prompts=self.prompts, seed=seed)
        return torch.stack([measured(length=M, name=f"average/{kappa}/{M}") for M in self.M])

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed form e(N, M) beside it, with its bound, its rates and its best training length."""
        covariances = [geometric_covariance(self.d, kappa, seed) for kappa in self.kappa]
        curve, line = np.arange(1, self.searched_N + 1), np.geomspace(*self.rate_range, 9)

        def tabulate(function, lengths) -> np.ndarray:
            return np.array([[[function(Lambda, N, M) for N in lengths] for M in self.M] for Lambda in covariances])

        searched = tabulate(error.averaged_error, curve.tolist())
        formulas = {
            "error_theory": (error.averaged_error, "e(N, M)"),
            "error_by_theorem": (theorem_average, "Theorem 4.2 averaged over w"),
            "error_bound": (error.averaged_bound, "bound of section 4.1"),
            "eta": (lambda L, N, M: error.eta(L, N), "its 1/N^2 part"),
        }
        paths = {"M": (np.inf, line), "N": (line, np.inf), "both": (line, line)}
        slopes = {name: [rate(Lambda, *path) for Lambda in covariances] for name, path in paths.items()}
        lengths, columns = (*self.N, self.long_N), {}
        columns |= {name: variable("kappa M N", tabulate(e, lengths), text, "y^2") for name, (e, text) in formulas.items()}
        columns |= {f"slope_{name}": variable("kappa", slope, "slope of log e on log length") for name, slope in slopes.items()}
        columns["error_near"] = near_misses("kappa M N", of_averages(covariances, lengths, self.M), "y^2")
        columns["error_se"] = of_blocks(dataset.error_se, self.prompts)
        columns["error_over_N"] = variable("kappa M curve_N", searched, "e(N, M)", "y^2")
        columns["best_N"] = variable("kappa M", curve[searched.argmin(-1)], "training length of least error")
        return dataset.assign_coords(curve_N=curve).assign(columns)


def rate(Lambda: np.ndarray, N: np.ndarray | float, M: np.ndarray | float) -> float:
    """Return the slope of log e(N, M) on the log of the length that grows, of both where both do."""
    errors = [error.averaged_error(Lambda, *lengths) for lengths in np.stack(np.broadcast_arrays(N, M), axis=-1).tolist()]
    return np.polyfit(np.log(N if np.ndim(N) else M), np.log(errors), 1)[0]


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
