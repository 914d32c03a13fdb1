"""zhang-off-diagonal: off-diagonal entries of U_11, lower bound and PL inequality of appendix C, along a flow."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.random_spectra import exponential, scales, spectrum_sample, uniform, unit_start
from icl_lib.experiments.zhang.spectra import standard_normal
from icl_lib.flow import gradient_flow
from icl_lib.results import variable
from icl_lib.theory.zhang import random_covariance as theory
from icl_lib.theory.zhang import random_covariance_flow as flow

RESOLVED = 1e-9
"""The loss gap, relative to its start, below which the ratio of the PL inequality is rounding."""


@dataclass(frozen=True)
class OffDiagonal:
    """A flow from a dense start, sigma^2 at ``fraction`` of the bound of Theorem 4.5; a second one rotated."""

    d: int
    N: int
    fraction: float
    spectra: int
    rotated_spectra: int
    end: float
    points: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate Corollary C.2 with its clock tau = int u^2, and Lemma C.1 for covariances that are not diagonal."""
        laws = {"exponential": exponential(scales(self.d, seed)), "uniform": uniform(self.d, seed)}
        cells = [self._law(*law, seed, name) for name, law in laws.items()]
        columns = {key: np.array([cell[key] for cell in cells]) for key in cells[0]}
        labels = {
            "off": ("law pair step", "u_ij / u_ij(0) for i != j"),
            "off_theory": ("law pair step", "exp(-zeta_ij tau)"),
            "off_rotated": ("law pair step", "u_ij / u_ij(0) for covariances that are not diagonal"),
            "tau": ("law step", "tau, the integral of u^2"),
            "u": ("law step", "last entry of W_PV"),
            "u_bound": ("law", "lower bound of Lemma C.7"),
            "u_limit": ("law", "limit of u"),
            "pl_ratio": ("law step", "squared gradient over loss gap"),
            "nu": ("law", "PL constant of Lemma C.8"),
            "nu_fastest": ("law", "2 max zeta_ij u_limit^2"),
        }
        data = {key: variable(dims, columns[key], name) for key, (dims, name) in labels.items()}
        return xr.Dataset(data, coords={"law": list(laws), "step": np.linspace(0, self.end, self.points)})

    def _law(self, spectrum, moments: theory.SpectrumMoments, seed: int, name: str) -> dict:
        xi, gamma, zeta = theory.xi(moments), theory.gamma(moments, self.N), theory.zeta(moments, self.N)
        Theta = unit_start(self.d, seed, f"off-diagonal/{name}")
        draws = spectrum_sample(spectrum, self.spectra, seed, f"off-diagonal/spectra/{name}")
        sigma = (self.fraction * flow.sigma_squared_bound(Theta, draws, self.N)) ** 0.5
        U, u, tau = self._flow(Theta, sigma, lambda U, u: flow.corollary_C2(U, u, xi, zeta))
        rotated, _, _ = self._flow(Theta, sigma, self._rotated_velocity(draws, seed, name))
        pairs = ~np.eye(self.d, dtype=bool)
        bound = flow.u_lower_bound(Theta, sigma, draws, self.N)
        return {
            "off": (U[:, pairs] / U[0, pairs]).T,
            "off_theory": np.exp(-np.einsum("p,t->pt", zeta[pairs], tau)),
            "off_rotated": (rotated[:, pairs] / rotated[0, pairs]).T,
            "tau": tau,
            "u": u,
            "u_bound": bound,
            "u_limit": flow.u_limit(xi, gamma),
            "pl_ratio": pl_ratio(U, u, xi, gamma, zeta),
            "nu": flow.pl_constant(bound, zeta),
            "nu_fastest": flow.pl_constant(flow.u_limit(xi, gamma), np.full_like(zeta, zeta.max())),
        }

    def _rotated_velocity(self, draws: np.ndarray, seed: int, name: str):
        bases = np.linalg.qr(standard_normal((self.d, self.d), seed, f"off-diagonal/basis/{name}"))[0]
        covariances = np.einsum("ik,sk,jk->sij", bases, draws[: self.rotated_spectra], bases)
        return lambda U, u: flow.lemma_C1(U, u, covariances, self.N)

    def _flow(self, Theta: np.ndarray, sigma: float, velocity) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return U (points, d, d), u (points,) and tau (points,)."""
        d = self.d

        def speed(state: np.ndarray) -> np.ndarray:
            dU, du = velocity(state[:-2].reshape(d, d), state[-2])
            return np.concatenate([dU.ravel(), [du, state[-2] ** 2]])

        start = np.concatenate([sigma * (Theta @ Theta.T).ravel(), [sigma, 0.0]])
        path = gradient_flow(speed, start, np.linspace(0, self.end, self.points))
        return path[:, :-2].reshape(-1, d, d), path[:, -2], path[:, -1]


def pl_ratio(U: np.ndarray, u: np.ndarray, xi: np.ndarray, gamma: np.ndarray, zeta: np.ndarray) -> np.ndarray:
    """Return ||grad l_rdm||^2 / (l_rdm - min l_rdm) along a path; where the gap is rounding, the last ratio."""
    gradients = [flow.corollary_C2(*point, xi, zeta) for point in zip(U, u, strict=True)]
    squared = np.array([np.sum(dU**2) + du**2 for dU, du in gradients])
    losses = [flow.reduced_loss(*point, xi, zeta) for point in zip(U, u, strict=True)]
    gap = np.array(losses) - flow.reduced_minimum(xi, gamma)
    resolved = gap > RESOLVED * gap[0]
    ratio = squared[resolved] / gap[resolved]
    return np.concatenate([ratio, np.full(len(gap) - len(ratio), ratio[-1])])


OFF_DIAGONAL = Experiment(
    slug="zhang-off-diagonal",
    title="Off-diagonal decay, lower bound and PL inequality",
    paper="zhang",
    section="C",
    notebook="zhang_appendices",
    quick=OffDiagonal(d=3, N=10, fraction=0.5, spectra=20_000, rotated_spectra=200, end=20.0, points=80),
    full=OffDiagonal(d=4, N=10, fraction=0.5, spectra=1_000_000, rotated_spectra=1_000, end=20.0, points=100),
)
