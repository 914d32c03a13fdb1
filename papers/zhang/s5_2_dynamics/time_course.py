"""zhang-time-course: how fast the flow leaves the origin, and the isotropic flow in closed form."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Lt

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.dimensions import along_d, at_d, sizes
from papers.zhang.flow import gradient_flow
from papers.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow
from papers.zhang.theory import dynamics
from papers.zhang.theory.dynamics import Isotropic, Weights
from papers.zhang.theory.full_loss import full_gradient

WINDOW = (1e-4, 1e-2)
"""Amplitudes between which a rate is fitted: far above the start, far below the limit of order 1."""


@dataclass(frozen=True)
class TimeCourse(Declaration):
    """Growth from weights of size ``speck`` over condition numbers; isotropic flows over start sizes sigma.

    d       dimensions of inputs; N: training length at each d; kappa: condition numbers of the covariance
    speck   size of the weights from which growth starts
    lam     the isotropic covariance is lam I; sigma: sizes of the isotropic starts
    times   at which isotropic flows are recorded
    The top eigenvector, along which (u_12, u_21) grow fastest, is one for kappa > 1. A speck is far below
    the window of the fit and far above what the integrator resolves.
    Shared stream: Theta: one initial direction, followed at two sizes.
    One size: T: the loss at a time does not depend on how many times are looked at.
    """

    d: Several[Count]
    N: Several[Count]
    kappa: Several[Annotated[float, Gt(1)]]
    speck: Annotated[float, Ge(1e-8), Lt(1e-5)]
    lam: Positive
    sigma: Several[Positive]
    times: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        limit = min((d * self._cells(d, N)[0].v_limit) ** 0.5 for d, (N,) in sizes(self.d, self.N).items())
        if max(self.sigma) >= limit:
            raise ValueError(f"sigma is {self.sigma}: take starts below {limit:.3g}, where the flow ends")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit growth rates and integrate isotropic flows."""
        return along_d(self.d, lambda d: self._measured(d, *sizes(self.d, self.N)[d], seed))

    def _measured(self, d: int, N: int, seed: int) -> xr.Dataset:
        covariances = self._covariances(d, seed)
        reduced = [self._reduced_rate(Lambda, N, seed) for Lambda in covariances]
        transverse = [self._transverse_rate(Lambda, N, seed) for Lambda in covariances]
        courses = np.array([self._isotropic(d, N, sigma, seed) for sigma in self.sigma])
        return xr.Dataset(
            {
                "rate": variable("direction kappa", [reduced, transverse], "fitted growth rate", "1/time"),
                "loss": variable("sigma time", courses[:, 0], "loss by integration", "y^2"),
                "loss_generic_start": variable("sigma time", courses[:, 1], "loss from a generic Theta", "y^2"),
            },
            coords={
                "direction": ["(U_11, u_-1)", "(u_12, u_21)"],
                "kappa": list(self.kappa),
                "sigma": list(self.sigma),
                "time": self._times(),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the predicted rates and the closed forms beside it."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, *sizes(self.d, self.N)[d], seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, N: int, seed: int) -> xr.Dataset:
        formulas, times = (dynamics.origin_growth_rate, dynamics.transverse_growth_rate), dataset.time.values
        rates = [[rate(Lambda) for Lambda in self._covariances(d, seed)] for rate in formulas]
        cells = self._cells(d, N)
        return dataset.assign(
            rate_theory=variable("direction kappa", rates, "predicted growth rate", "1/time"),
            loss_theory=variable("sigma time", [cell.loss(times) for cell in cells], "loss in closed form", "y^2"),
            loss_near=near_misses("sigma time", {"N + 1 for N": [cell._replace(N=N + 1).loss(times) for cell in cells]}, "y^2"),
            drop_time=variable("sigma", [cell.drop_time for cell in cells], "predicted time of the drop", "time"),
        )

    def _covariances(self, d: int, seed: int) -> list[np.ndarray]:
        return [geometric_covariance(d, kappa, seed) for kappa in self.kappa]

    def _cells(self, d: int, N: int) -> list[Isotropic]:
        return [Isotropic(d, N, self.lam, sigma) for sigma in self.sigma]

    def _times(self) -> np.ndarray:
        cells = [cell for d, (N,) in sizes(self.d, self.N).items() for cell in self._cells(d, N)]
        return np.linspace(0, 1.5 * max(cell.drop_time for cell in cells), self.times)

    def _reduced_rate(self, Lambda: np.ndarray, N: int, seed: int) -> float:
        start = balanced_start(random_Theta(len(Lambda), seed, "Theta"), self.speck)
        times = np.linspace(0, 2 * np.log(1 / self.speck) / dynamics.origin_growth_rate(Lambda), 400)
        return _slope(times, np.array([weights.u_last for weights in reduced_flow(Lambda, N, start, times)]))

    def _transverse_rate(self, Lambda: np.ndarray, N: int, seed: int) -> float:
        d, top = len(Lambda), np.linalg.eigh(Lambda)[1][:, -1]
        start = np.zeros((d + 1, d + 1))
        start[:-1, -1], start[-1, :-1] = self.speck * standard_normal((2, d), seed, "transverse")
        times = np.linspace(0, 2 * np.log(1 / self.speck) / dynamics.transverse_growth_rate(Lambda), 400)
        flow = gradient_flow(
            lambda theta: -full_gradient(Lambda, N, theta.reshape(start.shape)).ravel(), start.ravel(), times
        ).reshape(-1, *start.shape)
        return _slope(times, abs(np.einsum("td,d->t", flow[:, :-1, -1] + flow[:, -1, :-1], top)))

    def _isotropic(self, d: int, N: int, sigma: float, seed: int) -> np.ndarray:
        Lambda = self.lam * np.eye(d)
        special = np.eye(d) / d**0.25
        flow = reduced_flow(Lambda, N, balanced_start(special, sigma), self._times())
        generic = reduced_flow(Lambda, N, balanced_start(random_Theta(d, seed, "Theta"), sigma), self._times())
        constant = self.lam * d / 2
        return np.array([constant + _losses(Lambda, N, path) for path in (flow, generic)])


def _losses(Lambda: np.ndarray, N: int, path: list[Weights]) -> np.ndarray:
    return np.array([dynamics.reduced_loss(Lambda, N, weights) for weights in path])


def _slope(times: np.ndarray, amplitude: np.ndarray) -> float:
    inside = (amplitude > WINDOW[0]) & (amplitude < WINDOW[1])
    return float(np.polyfit(times[inside], np.log(amplitude[inside]), 1)[0])


_QUICK = TimeCourse(d=(3, 2), N=(10, 5), kappa=(2.0, 8.0), speck=1e-6, lam=1.3, sigma=(0.001, 0.1), times=61)
TIME_COURSE = Experiment(
    slug="zhang-time-course",
    title="Growth from the origin and the isotropic time course",
    quick=_QUICK,
    full=replace(_QUICK, d=(5, 3), N=(20, 10), kappa=(1.5, 2.0, 4.0, 8.0, 16.0), sigma=(0.0001, 0.001, 0.01, 0.1), times=121),
)
