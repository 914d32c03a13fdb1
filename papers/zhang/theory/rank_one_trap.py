"""A critical point of the full loss that is not global, and when it is a local minimum (derived here).

The point has U_11 = 0, u_-1 = 0 and u_12 u_21^T = e e^T / gamma, with e the top eigenvector of Lambda (eigenvalue
lambda_1) and gamma the matching eigenvalue of Gamma: the best A of rank one. It exists for d >= 2; at d = 1 the same
formula gives a global minimum. Lambda is the covariance, (d, d); N the training prompt length.

At Lambda = diag(2, 4) and N = 2, Gamma = diag(6, 9): L = 16/9 + (1/2) 4/6 = 19/9 there. The margin changes its sign where the
Hessian stops being positive semidefinite, between N = 10 and 11:

>>> import numpy as np
>>> from papers.zhang.theory import full_loss as full, rank_one_trap as trap
>>> Lambda = np.diag([2.0, 4.0])
>>> round(trap.rank_one_loss(Lambda, 2), 4), round(float(full.full_loss(Lambda, 2, trap.rank_one_point(Lambda, 2))), 4)
(2.1111, 2.1111)
>>> least = [np.linalg.eigvalsh(full.full_hessian(Lambda, N, trap.rank_one_point(Lambda, N)))[0] for N in (10, 11)]
>>> [trap.trap_margin(Lambda, N) > 0 for N in (10, 11)], [bool(value > -1e-9) for value in least]
([True, False], [True, False])
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.full_loss import label_moment
from papers.zhang.theory.optimum import Gamma, loss_minimum


def rank_one_point(Lambda: Float[ndarray, "d d"], N: float) -> Float[ndarray, "d+1 d+1"]:
    """U = [[0, e], [e^T, 0]] / sqrt(gamma)."""
    eigenvalues, basis = np.linalg.eigh(Lambda)
    e = basis[:, -1]
    U = np.zeros((len(e) + 1, len(e) + 1))
    U[:-1, -1] = U[-1, :-1] = e / np.sqrt(e @ Gamma(Lambda, N) @ e)
    return U


def rank_one_loss(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """L = L* + (1/2) sum_{i >= 2} lambda_i^2 / gamma_i: the optimum, less what one direction cannot carry."""
    eigenvalues = np.linalg.eigvalsh(Lambda)[:-1]
    gamma = np.linalg.eigvalsh(Gamma(Lambda, N))[:-1]
    return loss_minimum(Lambda, N) + 0.5 * float(np.sum(eigenvalues**2 / gamma))


def trap_margin(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """1 - h^T K^-1 h / (k rho^2): above 0 the rank-one point is a local minimum, below 0 a saddle. N finite, lambda_1 simple.

    In the eigenbasis, largest eigenvalue first, tau = tr Lambda, rho = lambda_1/gamma_1 and
    k = E[(w^T Lambda_hat w)^2]: K is the Hessian in the diagonal of Lambda^1/2 U_11 Lambda^1/2, over |p|^2,
    K   = (1/N + 2/N^2) I + (1/N^2) 1 1^T + (1 + 5/N + 8/N^2) e_1 e_1^T + (1/N + 2/N^2) (e_1 1^T + 1 e_1^T),
    h_i = rho tau/N - lambda_i for i >= 2, h_1 = rho (tau + 3 tau/N + 2 lambda_1/N) its coupling to u_-1.
    """
    eigenvalues = np.linalg.eigvalsh(Lambda)[::-1]
    tau, first, ones = eigenvalues.sum(), np.eye(len(Lambda))[0], np.ones(len(Lambda))
    rho = eigenvalues[0] / np.linalg.eigvalsh(Gamma(Lambda, N))[-1]
    cross = np.outer(first, ones) + np.outer(ones, first)
    K = (1 / N + 2 / N**2) * (np.eye(len(Lambda)) + cross) + np.outer(ones, ones) / N**2
    K += (1 + 5 / N + 8 / N**2) * np.outer(first, first)
    h = rho * tau / N - eigenvalues
    h[0] = rho * (tau + 3 * tau / N + 2 * eigenvalues[0] / N)
    return float(1 - h @ np.linalg.solve(K, h) / (label_moment(Lambda, N) * rho**2))


def trap_margin_leading(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """1 - N sum_{i >= 2} lambda_i^2 / (2 tr(Lambda^2)): to leading order in 1/N it has the sign of ``trap_margin``."""
    squares = np.linalg.eigvalsh(Lambda) ** 2
    return float(1 - N * squares[:-1].sum() / (2 * squares.sum()))
