"""zhang-random-covariance-flow: gradient flow of Corollary C.2 against the limit of Theorem 4.5."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, InnerShare, Several, expectation, variable
from papers.zhang.flow import gradient_flow
from papers.zhang.random_spectra import exponential, scales, spectrum_sample, uniform
from papers.zhang.reduced_flow import random_Theta
from papers.zhang.theory import random_covariance as theory
from papers.zhang.theory import random_covariance_flow as flow


@dataclass(frozen=True)
class RandomCovarianceFlow(Declaration):
    """Flow from Assumption 3.3 with sigma^2 at ``fraction`` of the bound of Theorem 4.5, for two distributions of the spectrum.

    d         dimension of inputs; N: training lengths; fraction: sigma^2 over the bound
    spectra   draws over which the expectation in the bound is averaged; points: times at which a flow is recorded
    """

    d: Count
    N: Several[Count]
    fraction: InnerShare
    spectra: Count
    points: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate the flow of Corollary C.2."""
        laws = self._laws(seed)
        flows = [[self._flow(*law, N, seed, name) for N in self.N] for name, law in laws.items()]
        U, u = (np.array([[each[part] for each in row] for row in flows]) for part in (0, 1))
        products = u[..., None, None] * U
        diagonal = np.diagonal(products, axis1=-2, axis2=-1)
        rest = np.linalg.norm(products * (1 - np.eye(self.d)), axis=(-2, -1))
        return xr.Dataset(
            {
                "u": variable("law N step", u, "last entry of W_PV along the flow"),
                "diagonal": variable("law N step i", diagonal, "diagonal of u U along the flow"),
                "rest": variable("law N step", rest, "norm of the entries of u U beside the diagonal"),
                "product": variable("law N i j", products[:, :, -1], "u U at the end of the flow"),
            },
            coords={"law": list(laws), "N": list(self.N), "step": np.linspace(0, 1, self.points)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the limits of Theorem 4.5, (C.17) and (C.15) beside it."""
        laws = [moments for _, moments in self._laws(seed).values()]
        A = np.array([[theory.A_limit(law, N) for N in self.N] for law in laws])
        mean = [[theory.A_limit(theory.fixed_moments(law.first), N) for N in self.N] for law in laws]
        u, u_printed = (
            [[limit(theory.xi(law), theory.gamma(law, N)) for N in self.N] for law in laws]
            for limit in (flow.u_limit, flow.u_limit_as_printed)
        )
        apart = dataset.diagonal.values - np.diagonal(A, axis1=-2, axis2=-1)[:, :, None]  # A_* is diagonal
        miss = np.hypot(np.linalg.norm(apart, axis=-1), dataset.rest.values) / np.linalg.norm(A, axis=(-2, -1))[..., None]
        return dataset.assign(
            distance=variable("law N step", miss, "relative distance of u U to A_*"),
            product_theory=variable("law N i j", A, "A_*"),
            product_mean=variable("law N i j", mean, "Gamma^-1 at the mean covariance"),
            u_theory=variable("law N", u, "limit of u with squares (C.17)"),
            u_printed=variable("law N", u_printed, "limit of u without squares (C.15)"),
        )

    def _laws(self, seed: int) -> dict:
        """Return the distributions of the spectra with their moments."""
        return {"exponential": exponential(scales(self.d, seed)), "uniform": uniform(self.d, seed)}

    def _flow(self, spectrum, moments: theory.SpectrumMoments, N: int, seed: int, name: str) -> tuple[np.ndarray, np.ndarray]:
        xi, gamma, zeta = theory.xi(moments), theory.gamma(moments, N), theory.zeta(moments, N)
        Theta = random_Theta(self.d, seed, f"flow/{name}")
        draws = spectrum_sample(spectrum, self.spectra, seed, f"flow/spectra/{name}")
        sigma = (self.fraction * flow.sigma_squared_bound(Theta, draws, N)) ** 0.5
        return trajectory(Theta, sigma, xi, zeta, horizon(sigma, xi, gamma, zeta), self.points)


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
    quick=RandomCovarianceFlow(d=4, N=(10, 40), fraction=0.5, spectra=20_000, points=60),
    full=RandomCovarianceFlow(d=6, N=(3, 10, 40, 160), fraction=0.5, spectra=1_000_000, points=120),
)
