"""zhang-time-course: how fast the flow leaves the origin, and the isotropic flow in closed form."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow
from icl_lib.experiments.zhang.spectra import geometric_covariance, standard_normal
from icl_lib.flow import gradient_flow
from icl_lib.results import variable
from icl_lib.theory.zhang import dynamics
from icl_lib.theory.zhang.dynamics import Isotropic, Weights
from icl_lib.theory.zhang.full_loss import full_gradient

WINDOW = (1e-4, 1e-2)
"""Amplitudes between which a rate is fitted: far above the start, far below the limit of order 1."""


@dataclass(frozen=True)
class TimeCourse:
    """Growth from weights of size ``speck`` over condition numbers; isotropic flows over start sizes sigma."""

    d: int
    N: int
    kappa: tuple[float, ...]
    speck: float
    lam: float
    sigma: tuple[float, ...]
    times: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit growth rates and integrate isotropic flows, with the closed forms beside them."""
        covariances = [geometric_covariance(self.d, kappa, seed) for kappa in self.kappa]
        reduced = [self._reduced_rate(Lambda, seed) for Lambda in covariances]
        transverse = [self._transverse_rate(Lambda, seed) for Lambda in covariances]
        courses = np.array([self._isotropic(sigma, seed) for sigma in self.sigma])
        cells = [Isotropic(self.d, self.N, self.lam, sigma) for sigma in self.sigma]
        theory = [np.stack([cell.v(self._times()), cell.loss(self._times())]) for cell in cells]
        return xr.Dataset(
            {
                "rate": variable("direction kappa", [reduced, transverse], "fitted growth rate", "1/time"),
                "rate_theory": variable(
                    "direction kappa",
                    [
                        [dynamics.origin_growth_rate(Lambda) for Lambda in covariances],
                        [dynamics.transverse_growth_rate(Lambda) for Lambda in covariances],
                    ],
                    "predicted growth rate",
                    "1/time",
                ),
                "v": variable("sigma time", courses[:, 0], "(tr U_11 / d)^2 by integration"),
                "v_theory": variable("sigma time", [pair[0] for pair in theory], "v(t) in closed form"),
                "loss": variable("sigma time", courses[:, 1], "loss by integration", "y^2"),
                "loss_theory": variable("sigma time", [pair[1] for pair in theory], "loss in closed form", "y^2"),
                "loss_generic_start": variable("sigma time", courses[:, 2], "loss from a generic Theta", "y^2"),
                "drop_time": variable("sigma", [cell.drop_time for cell in cells], "predicted time of the drop", "time"),
            },
            coords={
                "direction": ["(U_11, u_-1)", "(u_12, u_21)"],
                "kappa": list(self.kappa),
                "sigma": list(self.sigma),
                "time": self._times(),
            },
        )

    def _times(self) -> np.ndarray:
        latest = max(Isotropic(self.d, self.N, self.lam, sigma).drop_time for sigma in self.sigma)
        return np.linspace(0, 1.5 * latest, self.times)

    def _reduced_rate(self, Lambda: np.ndarray, seed: int) -> float:
        start = balanced_start(random_Theta(self.d, seed, "Theta"), self.speck)
        times = np.linspace(0, 2 * np.log(1 / self.speck) / dynamics.origin_growth_rate(Lambda), 400)
        return _slope(times, np.array([weights.u_last for weights in reduced_flow(Lambda, self.N, start, times)]))

    def _transverse_rate(self, Lambda: np.ndarray, seed: int) -> float:
        top = np.linalg.eigh(Lambda)[1][:, -1]
        start = np.zeros((self.d + 1, self.d + 1))
        start[:-1, -1], start[-1, :-1] = self.speck * standard_normal((2, self.d), seed, "transverse")
        times = np.linspace(0, 2 * np.log(1 / self.speck) / dynamics.transverse_growth_rate(Lambda), 400)
        flow = gradient_flow(
            lambda theta: -full_gradient(Lambda, self.N, theta.reshape(start.shape)).ravel(), start.ravel(), times
        ).reshape(-1, *start.shape)
        return _slope(times, abs(np.einsum("td,d->t", flow[:, :-1, -1] + flow[:, -1, :-1], top)))

    def _isotropic(self, sigma: float, seed: int) -> np.ndarray:
        Lambda = self.lam * np.eye(self.d)
        special = np.eye(self.d) / self.d**0.25
        flow = reduced_flow(Lambda, self.N, balanced_start(special, sigma), self._times())
        generic = reduced_flow(Lambda, self.N, balanced_start(random_Theta(self.d, seed, "Theta"), sigma), self._times())
        constant = self.lam * self.d / 2
        v = [(np.trace(weights.U_11) / self.d) ** 2 for weights in flow]
        return np.array([v, *(constant + _losses(Lambda, self.N, path) for path in (flow, generic))])


def _losses(Lambda: np.ndarray, N: int, path: list[Weights]) -> np.ndarray:
    return np.array([dynamics.reduced_loss(Lambda, N, weights) for weights in path])


def _slope(times: np.ndarray, amplitude: np.ndarray) -> float:
    inside = (amplitude > WINDOW[0]) & (amplitude < WINDOW[1])
    return float(np.polyfit(times[inside], np.log(amplitude[inside]), 1)[0])


TIME_COURSE = Experiment(
    slug="zhang-time-course",
    title="Growth from the origin and the isotropic time course",
    paper="zhang",
    section="5.2",
    notebook="zhang_5_2_dynamics",
    quick=TimeCourse(d=3, N=10, kappa=(2.0, 4.0, 8.0), speck=1e-6, lam=1.3, sigma=(0.001, 0.01, 0.1), times=61),
    full=TimeCourse(
        d=5, N=20, kappa=(1.5, 2.0, 4.0, 8.0, 16.0), speck=1e-6, lam=1.3, sigma=(0.0001, 0.001, 0.01, 0.1), times=121,
    ),
)  # fmt: skip
