"""Section 5.3: the PL inequality of Lemma 5.4 and the lower bound on u_-1 behind it.

Lambda is the covariance, (d, d); N the training prompt length; Theta, (d, k), and sigma are those of Assumption 3.3.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.loss import require_unit
from papers.zhang.theory.optimum import Gamma


def headroom(Lambda: Float[ndarray, "d d"], N: float, sigma: float) -> float:
    """2 - sqrt(d) sigma^2 ||Gamma||_op: positive exactly when Theorem 4.1's condition on sigma holds."""
    return float(2 - len(Lambda) ** 0.5 * sigma**2 * np.linalg.norm(Gamma(Lambda, N), 2))


def u_last_squared_bound(Lambda: Float[ndarray, "d d"], N: float, Theta: Float[ndarray, "d k"], sigma: float) -> float:
    """sigma^2 / (2 sqrt(d) ||Lambda||_op^2) ||Lambda Theta||_F^2 [2 - sqrt(d) sigma^2 ||Gamma||_op] <= u_-1(t)^2.

    The square of the bound of Lemma A.5; it says nothing when the bracket is not positive. Raises ValueError unless
    ||Theta Theta^T||_F = 1.
    """
    require_unit(Theta @ Theta.T)
    start = np.sum((Lambda @ Theta) ** 2) * headroom(Lambda, N, sigma)
    return float(sigma**2 / (2 * len(Lambda) ** 0.5 * np.linalg.norm(Lambda, 2) ** 2) * start)


def pl_constant(Lambda: Float[ndarray, "d d"], N: float, Theta: Float[ndarray, "d k"], sigma: float) -> float:
    """mu = sigma^2 ||Lambda Theta||_F^2 [2 - sqrt(d) sigma^2 ||Gamma||_op]
            / (sqrt(d) ||Lambda||_op^2 tr(Gamma^-1 Lambda^-1) tr(Lambda^-1))   (Lemma 5.4).

    Along the flow ||grad l||^2 >= mu (l - min l). Raises ValueError unless ||Theta Theta^T||_F = 1.

    At Lambda = lam I and Theta Theta^T = I/sqrt(d) it is sigma^2 headroom g lam^2/d^2, where Gamma = g I. Here d = 4, lam = 3,
    g = 6, sigma = 1/4: headroom 2 - 12/16, mu = (1/16) (5/4) 54/16, u_-1^2 >= (1/16) (5/4)/2:

    >>> import numpy as np
    >>> from papers.zhang.theory.pl_inequality import headroom, pl_constant, u_last_squared_bound
    >>> Lambda, N, Theta, sigma = 3 * np.eye(4), 5, np.eye(4) / 2**0.5, 0.25
    >>> round(headroom(Lambda, N, sigma), 4), round(pl_constant(Lambda, N, Theta, sigma), 4)
    (1.25, 0.2637)
    >>> round(u_last_squared_bound(Lambda, N, Theta, sigma), 4)
    0.0391
    """
    require_unit(Theta @ Theta.T)
    inverse = np.linalg.inv(Lambda)
    traces = np.trace(np.linalg.inv(Gamma(Lambda, N)) @ inverse) * np.trace(inverse)
    start = np.sum((Lambda @ Theta) ** 2) * headroom(Lambda, N, sigma)
    return float(sigma**2 * start / (len(Lambda) ** 0.5 * np.linalg.norm(Lambda, 2) ** 2 * traces))


def u_last_ceiling(Lambda: Float[ndarray, "d d"], N: float, start_gap: float) -> float:
    """u_-1(t)^2 <= ||Gamma^-1||_F + sqrt(2 gap(0) / (lambda_min(Gamma Lambda) lambda_min(Lambda))), square-rooted.

    On a balanced flow u_-1^2 = ||u_-1 U_11||_F, and the gap, which only falls, holds u_-1 U_11 near Gamma^-1
    (derived here).
    """
    inverse, smallest = np.linalg.inv(Gamma(Lambda, N)), np.linalg.eigvalsh(Lambda)[0]
    stiffness = smallest**2 * np.linalg.eigvalsh(Gamma(Lambda, N))[0]
    return float(np.sqrt(np.linalg.norm(inverse) + np.sqrt(2 * start_gap / stiffness)))


def u_last_bound_any_sigma(
    Lambda: Float[ndarray, "d d"], N: float, Theta: Float[ndarray, "d k"], sigma: float, start_gap: float
) -> float:
    """[sum_i min(sigma theta_i, 1/(c gamma_i))^2]^1/2 <= u_-1(t), for every sigma > 0 (derived here).

    theta_i and gamma_i are the diagonals of Theta Theta^T, ||Theta Theta^T||_F = 1, and of Gamma in the eigenbasis of Lambda,
    c the ceiling of u_-1. The i-th diagonal entry of U_11 rises whenever it is below 1/(c gamma_i), and u_-1 = ||U_11||_F.
    """
    require_unit(Theta @ Theta.T)
    basis = np.linalg.eigh(Lambda)[1]
    theta = np.sum((basis.T @ Theta) ** 2, axis=1)
    gamma = np.einsum("ji,jk,ki->i", basis, Gamma(Lambda, N), basis)
    return float(np.linalg.norm(np.minimum(sigma * theta, 1 / (u_last_ceiling(Lambda, N, start_gap) * gamma))))
