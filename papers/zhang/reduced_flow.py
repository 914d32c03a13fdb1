"""Gradient flow of Lemma 5.2 from Assumption 3.3, shared by the experiments of section 5."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.regression.spectra import standard_normal
from papers.zhang.flow import gradient_flow
from papers.zhang.theory import dynamics, optimum
from papers.zhang.theory.dynamics import Weights


def random_Theta(d: int, seed: int, name: str) -> Float[ndarray, "d d"]:
    """Draw Theta = M / ||M M^T||_F^1/2, M standard normal: the example below Assumption 3.3."""
    M = standard_normal((d, d), seed, name)
    return M / np.sqrt(np.linalg.norm(M @ M.T))


def balanced_start(Theta: Float[ndarray, "d k"], sigma: float) -> Weights:
    """Return U_11 = sigma Theta Theta^T, u_-1 = sigma (Assumption 3.3)."""
    return Weights(sigma * Theta @ Theta.T, sigma)


def reduced_flow(Lambda: Float[ndarray, "d d"], N: float, start: Weights, times: Float[ndarray, "T"]) -> list[Weights]:
    """Integrate Lemma 5.2 from ``start`` and return the weights at ``times``."""

    def field(theta: ndarray) -> ndarray:
        return dynamics.pack(dynamics.velocity(Lambda, N, dynamics.unpack(theta)))

    return [dynamics.unpack(theta) for theta in gradient_flow(field, dynamics.pack(start), times)]


def relaxation_rate(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """||Gamma^-1||_F lambda_min(Gamma Lambda) lambda_min(Lambda): rate of U_11's slowest entry near the limit, u_-1 fixed."""
    Gamma, smallest = optimum.Gamma(Lambda, N), np.linalg.eigvalsh(Lambda)[0]
    return float(np.linalg.norm(np.linalg.inv(Gamma)) * np.linalg.eigvalsh(Gamma)[0] * smallest**2)
