"""zhang-off-diagonal: off-diagonal entries of U_11, lower bound and PL inequality of appendix C, along a flow."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, InnerShare, Positive, expectation, variables
from papers.regression.spectra import standard_normal
from papers.zhang.flow import gradient_flow
from papers.zhang.random_spectra import exponential, scales, spectrum_sample, uniform
from papers.zhang.reduced_flow import random_Theta
from papers.zhang.theory import random_covariance as theory
from papers.zhang.theory import random_covariance_flow as flow

RESOLVED = 1e-9
"""The loss gap, relative to its start, below which the ratio of the PL inequality is rounding."""


@dataclass(frozen=True)
class OffDiagonal(Declaration):
    """A flow from a dense start, sigma^2 at ``fraction`` of the bound of Theorem 4.5; a second one rotated.

    d                 dimension of inputs; N: training length
    fraction          sigma^2 over the bound of Theorem 4.5
    spectra           draws over which the expectation in the bound is averaged
    rotated_spectra   the first draws, over which the rotated flow is averaged
    end               time at which a flow ends; points: times at which a flow is recorded
    """

    d: AtLeastTwo
    N: Count
    fraction: InnerShare
    spectra: Count
    rotated_spectra: Count
    end: Positive
    points: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate Corollary C.2 with its clock tau = int u^2, and Lemma C.1 for covariances that are not diagonal."""
        cells = [self._course(*law, seed, name) for name, law in self._laws(seed).items()]
        labels = {
            "off": ("pair step", "u_ij / u_ij(0) for i != j"),
            "off_rotated": ("pair step", "u_ij / u_ij(0) for covariances that are not diagonal"),
            "U": ("step i j", "U_11"),
            "u": ("step", "last entry of W_PV"),
            "tau": ("step", "tau, the integral of u^2"),
        }
        coords = {"law": list(self._laws(seed)), "step": np.linspace(0, self.end, self.points)}
        return xr.Dataset(variables(labels, cells, "law {}"), coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the decay, the lower bound and the PL constant of appendix C beside it."""
        paths = (dataset[name].values for name in ("U", "u", "tau"))
        rows = zip(self._laws(seed).items(), *paths, strict=True)
        cells = [self._theory(*law, seed, name, *path) for (name, law), *path in rows]
        labels = {
            "off_theory": ("pair step", "exp(-zeta_ij tau)"),
            "off_near": ("pair step", "the same with N + 1 for N in zeta"),
            "u_bound": ("", "lower bound of Lemma C.7"),
            "u_limit": ("", "limit of u"),
            "pl_ratio": ("step", "squared gradient over loss gap"),
            "nu": ("", "PL constant of Lemma C.8"),
            "nu_limit": ("", "the same with the limit of u for its lower bound"),
            "pull": ("", "E tr[Lambda^2 Theta Theta^T]"),
            "pull_of_mean": ("", "||E[Lambda] Theta||_F^2"),
            "pull_of_fixed": ("", "tr[E[Lambda]^2 Theta Theta^T]"),
            "pull_of_isotropic": ("", "the same with a multiple of I in the place of Theta Theta^T"),
        }
        return dataset.assign(variables(labels, cells, "law {}"))

    def _laws(self, seed: int) -> dict:
        return {"exponential": exponential(scales(self.d, seed)), "uniform": uniform(self.d, seed)}

    def _start(self, spectrum, seed: int, name: str) -> tuple[np.ndarray, np.ndarray, float]:
        """Return Theta, the drawn spectra, and sigma."""
        Theta = random_Theta(self.d, seed, f"off-diagonal/{name}")
        draws = spectrum_sample(spectrum, self.spectra, seed, f"off-diagonal/spectra/{name}")
        return Theta, draws, (self.fraction * flow.sigma_squared_bound(Theta, draws, self.N)) ** 0.5

    def _course(self, spectrum, moments: theory.SpectrumMoments, seed: int, name: str) -> dict[str, np.ndarray]:
        xi, zeta = theory.xi(moments), theory.zeta(moments, self.N)
        Theta, draws, sigma = self._start(spectrum, seed, name)
        U, u, tau = self._flow(Theta, sigma, lambda U, u: flow.corollary_C2(U, u, xi, zeta))
        rotated, _, _ = self._flow(Theta, sigma, self._rotated_velocity(draws, seed, name))
        off, off_rotated = (path[:, pairs(self.d)] / path[0, pairs(self.d)] for path in (U, rotated))
        return {"off": off.T, "off_rotated": off_rotated.T, "U": U, "u": u, "tau": tau}

    @expectation
    def _theory(self, spectrum, moments: theory.SpectrumMoments, seed: int, name: str, U, u, tau) -> dict:
        xi, gamma, zeta = theory.xi(moments), theory.gamma(moments, self.N), theory.zeta(moments, self.N)
        Theta, draws, sigma = self._start(spectrum, seed, name)
        bound, limit = flow.u_lower_bound(Theta, sigma, draws, self.N), flow.u_limit(xi, gamma)
        return {
            "off_theory": np.exp(-np.outer(zeta[pairs(self.d)], tau)),
            "off_near": np.exp(-np.outer(theory.zeta(moments, self.N + 1)[pairs(self.d)], tau)),
            "u_bound": bound,
            "u_limit": limit,
            "pl_ratio": pl_ratio(U, u, xi, gamma, zeta),
            "nu": flow.pl_constant(bound, zeta),
            "nu_limit": flow.pl_constant(limit, zeta),
            "pull": np.sum(xi[:, None] * Theta**2),
            "pull_of_mean": flow.initial_pull(Theta, moments.first[None]),
            "pull_of_fixed": np.trace(np.diag(moments.first**2) @ Theta @ Theta.T),
            "pull_of_isotropic": np.sum(moments.first**2) * np.sum(Theta**2) / self.d,
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


def pairs(d: int) -> np.ndarray:
    """Return the mask of the entries i != j."""
    return ~np.eye(d, dtype=bool)


def pl_ratio(U: np.ndarray, u: np.ndarray, xi: np.ndarray, gamma: np.ndarray, zeta: np.ndarray) -> np.ndarray:
    """Return ||grad l_rdm||^2 / (l_rdm - min l_rdm) along a path; where the gap is rounding, the last ratio."""
    gradients = [flow.corollary_C2(*point, xi, zeta) for point in zip(U, u, strict=True)]
    squared = np.array([np.sum(dU**2) + du**2 for dU, du in gradients])
    losses = [flow.reduced_loss(*point, xi, zeta) for point in zip(U, u, strict=True)]
    gap = np.array(losses) - flow.reduced_minimum(xi, gamma)
    resolved = gap > RESOLVED * gap[0]
    ratio = squared[resolved] / gap[resolved]
    return np.concatenate([ratio, np.full(len(gap) - len(ratio), ratio[-1])])


_QUICK = OffDiagonal(d=3, N=10, fraction=0.5, spectra=20_000, rotated_spectra=200, end=20.0, points=80)
OFF_DIAGONAL = Experiment(
    slug="zhang-off-diagonal",
    title="Off-diagonal decay, lower bound and PL inequality",
    section="C",
    quick=_QUICK,
    full=replace(_QUICK, d=4, spectra=1_000_000, rotated_spectra=1_000, points=100),
)
