"""zhang-random-covariance-flow: gradient flow of Corollary C.2 against the limit of Theorem 4.5."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.random_spectra import exponential, scales, spectrum_sample, uniform, unit_start
from icl_lib.flow import gradient_flow
from icl_lib.results import variable
from icl_lib.theory.zhang import random_covariance as theory
from icl_lib.theory.zhang import random_covariance_flow as flow


@dataclass(frozen=True)
class RandomCovarianceFlow:
    """Flow from Assumption 3.3 with sigma^2 at ``fraction`` of the bound of Theorem 4.5, for two laws of the spectrum.

    The bound holds an expectation without closed form, averaged over ``spectra`` draws.
    """

    d: int
    N: tuple[int, ...]
    fraction: float
    spectra: int
    points: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate the flow and put the limits of Theorem 4.5, (C.17) and (C.15) beside its end."""
        laws = {"exponential": exponential(scales(self.d, seed)), "uniform": uniform(self.d, seed)}
        cells = [[self._flow(*law, N, seed, name) for N in self.N] for name, law in laws.items()]
        columns = {key: np.array([[cell[key] for cell in row] for row in cells]) for key in cells[0][0]}
        labels = {
            "u": ("law N step", "last entry of W_PV along the flow"),
            "distance": ("law N step", "relative distance of u U to A_*"),
            "product": ("law N i j", "u U at the end of the flow"),
            "product_theory": ("law N i j", "A_*"),
            "product_mean": ("law N i j", "Gamma^-1 at the mean covariance"),
            "u_theory": ("law N", "limit of u with squares (C.17)"),
            "u_printed": ("law N", "limit of u without squares (C.15)"),
        }
        data = {key: variable(dims, columns[key], name) for key, (dims, name) in labels.items()}
        coords = {"law": list(laws), "N": list(self.N), "step": np.linspace(0, 1, self.points)}
        return xr.Dataset(data, coords=coords)

    def _flow(self, spectrum, moments: theory.SpectrumMoments, N: int, seed: int, name: str) -> dict:
        xi, gamma, zeta = theory.xi(moments), theory.gamma(moments, N), theory.zeta(moments, N)
        A = theory.A_limit(moments, N)
        Theta = unit_start(self.d, seed, f"flow/{name}")
        draws = spectrum_sample(spectrum, self.spectra, seed, f"flow/spectra/{name}")
        sigma = (self.fraction * flow.sigma_squared_bound(Theta, draws, N)) ** 0.5
        U, u = trajectory(Theta, sigma, xi, zeta, horizon(sigma, xi, gamma, zeta), self.points)
        products = u[:, None, None] * U
        return {
            "u": u,
            "distance": np.linalg.norm(products - A, axis=(1, 2)) / np.linalg.norm(A),
            "product": products[-1],
            "product_theory": A,
            "product_mean": theory.A_limit(theory.fixed_moments(moments.first), N),
            "u_theory": flow.u_limit(xi, gamma),
            "u_printed": flow.u_limit_as_printed(xi, gamma),
        }


def horizon(sigma: float, xi: np.ndarray, gamma: np.ndarray, zeta: np.ndarray) -> float:
    """Return a time by which the flow has left the origin and its slowest mode has shrunk by about e^-30."""
    u = flow.u_limit(xi, gamma)
    return 30 / (zeta.min() * u**2) + 3 * max(0.0, np.log(u / sigma)) / np.linalg.norm(xi)


def trajectory(
    Theta: np.ndarray, sigma: float, xi: np.ndarray, zeta: np.ndarray, end: float, points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return U (points, d, d) and u (points,) along the flow of Corollary C.2 from Assumption 3.3."""
    d = len(Theta)

    def velocity(state: np.ndarray) -> np.ndarray:
        dU, du = flow.corollary_C2(state[:-1].reshape(d, d), state[-1], xi, zeta)
        return np.append(dU, du)

    path = gradient_flow(velocity, sigma * np.append(Theta @ Theta.T, 1.0), np.linspace(0, end, points))
    return path[:, :-1].reshape(points, d, d), path[:, -1]


RANDOM_COVARIANCE_FLOW = Experiment(
    slug="zhang-random-covariance-flow",
    title="Gradient flow under random covariances",
    paper="zhang",
    section="4.3",
    notebook="zhang_4_3_random_covariances",
    quick=RandomCovarianceFlow(d=4, N=(10, 40), fraction=0.5, spectra=20_000, points=60),
    full=RandomCovarianceFlow(d=6, N=(3, 10, 40, 160), fraction=0.5, spectra=1_000_000, points=120),
)
