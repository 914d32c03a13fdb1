"""Section 3.3: the population loss and the initialisation of Assumption 3.3.

Lambda is the covariance, (d, d); N the training prompt length. Weights live on the slice where the off-diagonal
blocks are zero: W_PV = diag(0, u), W_KQ = diag(U_11, 0). There the loss depends on A = u U_11 alone.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.optimum import Gamma


def population_loss(Lambda: Float[ndarray, "d d"], N: float, A: Float[ndarray, "d d"]) -> float:
    """L = (1/2) E(y_hat - y_query)^2 = (1/2) [ tr Lambda - 2 tr(Lambda^2 A) + tr(Gamma Lambda A Lambda A^T) ].

    y_hat = w^T Lambda_hat A x_query; A need not be symmetric. The paper has this up to the constant (1/2) tr Lambda
    (Lemma A.1); the constant is derived here.

    It is least at A = Gamma^-1. Here Gamma = diag(6, 9), so that L* = [(2 - 4/6) + (4 - 16/9)]/2 = 16/9:

    >>> import numpy as np
    >>> from papers.zhang.theory.loss import loss_minimum_by_length, population_loss
    >>> Lambda, N = np.diag([2.0, 4.0]), 2
    >>> round(population_loss(Lambda, N, np.diag([1 / 6, 1 / 9])), 4), round(loss_minimum_by_length(Lambda, N), 4)
    (1.7778, 1.7778)
    """
    quadratic = np.trace(Gamma(Lambda, N) @ Lambda @ A @ Lambda @ A.T)
    return 0.5 * float(np.trace(Lambda) - 2 * np.trace(Lambda @ Lambda @ A) + quadratic)


def loss_minimum_by_length(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """L* = (1/2N) tr[Lambda Gamma^-1 (Lambda + tr(Lambda) I)]: shows that L* > 0 at every finite N (derived here).

    Equal to (1/2) tr(Lambda - Lambda^2 Gamma^-1), because Gamma - Lambda = (1/N)(Lambda + tr(Lambda) I).
    """
    excess = Lambda + np.trace(Lambda) * np.eye(len(Lambda))
    return 0.5 / N * float(np.trace(Lambda @ np.linalg.solve(Gamma(Lambda, N), excess)))


def unit_gram(M: Float[ndarray, "d k"]) -> Float[ndarray, "d d"]:
    """Theta Theta^T = M M^T / ||M M^T||_F, the example below Assumption 3.3; M has continuous entries."""
    gram = M @ M.T
    return gram / np.linalg.norm(gram)


def W_KQ_start(ThetaTheta: Float[ndarray, "d d"], sigma: float) -> Float[ndarray, "d+1 d+1"]:
    """W_KQ(0) = sigma [[Theta Theta^T, 0], [0, 0]] with ||Theta Theta^T||_F = 1 (Assumption 3.3)."""
    require_unit(ThetaTheta)
    return np.pad(sigma * ThetaTheta, (0, 1))


def require_unit(ThetaTheta: Float[ndarray, "d d"]) -> None:
    """Raise ValueError unless ||Theta Theta^T||_F = 1 (Assumption 3.3), to the rounding of float32."""
    if not abs(np.linalg.norm(ThetaTheta) - 1) < 1e-6:
        raise ValueError(f"Assumption 3.3 wants ||Theta Theta^T||_F = 1, not {np.linalg.norm(ThetaTheta):.8g}: scale Theta")


def W_PV_start(d: int, sigma: float) -> Float[ndarray, "{d}+1 {d}+1"]:
    """W_PV(0) = sigma [[0, 0], [0, 1]] (Assumption 3.3)."""
    return np.pad(np.array([[float(sigma)]]), (d, 0))


def largest_sigma(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """sqrt(2 / (sqrt(d) ||Gamma||_op)): Theorem 4.1 asks for sigma below this."""
    return float(np.sqrt(2 / (np.sqrt(len(Lambda)) * np.linalg.norm(Gamma(Lambda, N), 2))))
