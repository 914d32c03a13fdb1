"""Theorem 4.1: where gradient flow ends, what it predicts, what it costs.

Lambda is the covariance of the inputs, (d, d), symmetric positive definite; N the training prompt length.
"""

import numpy as np
from jaxtyping import Float, Real
from numpy import ndarray


def Gamma(Lambda: Float[ndarray, "d d"], N: float | Real[ndarray, "... 1 1"]) -> Float[ndarray, "... d d"]:
    """Gamma = (1 + 1/N) Lambda + (1/N) tr(Lambda) I (Theorem 4.1); N may be numpy.inf.

    At Lambda = diag(1, 3) and N = 8 it is (9/8) Lambda + (4/8) I:

    >>> import numpy as np
    >>> from papers.zhang.theory.optimum import Gamma
    >>> Gamma(np.diag([1.0, 3.0]), 8).tolist()
    [[1.625, 0.0], [0.0, 3.875]]
    """
    return (1 + 1 / N) * Lambda + np.trace(Lambda) / N * np.eye(len(Lambda))


def second_moment(Lambda: Float[ndarray, "d d"], N: float) -> Float[ndarray, "d d"]:
    """E[Lambda_hat^2] = (1 + 1/N) Lambda^2 + (1/N) tr(Lambda) Lambda = Gamma Lambda (section 3.3).

    Lambda_hat = (1/N) sum_i x_i x_i^T is the empirical covariance of one context.
    """
    return (1 + 1 / N) * Lambda @ Lambda + np.trace(Lambda) / N * Lambda


def W_KQ_limit(Lambda: Float[ndarray, "d d"], N: float) -> Float[ndarray, "d+1 d+1"]:
    """W_KQ_* = [tr(Gamma^-2)]^(-1/4) [[Gamma^-1, 0], [0, 0]] (Theorem 4.1)."""
    inverse = np.linalg.inv(Gamma(Lambda, N))
    return np.pad(inverse / np.trace(inverse @ inverse) ** 0.25, (0, 1))


def W_PV_limit(Lambda: Float[ndarray, "d d"], N: float) -> Float[ndarray, "d+1 d+1"]:
    """W_PV_* = [tr(Gamma^-2)]^(+1/4) [[0, 0], [0, 1]] (Theorem 4.1)."""
    inverse = np.linalg.inv(Gamma(Lambda, N))
    return np.pad(np.array([[np.trace(inverse @ inverse) ** 0.25]]), (len(Lambda), 0))


def prediction(
    Lambda: Float[ndarray, "d d"],
    N: float,
    x: Float[ndarray, "... M d"],
    y: Float[ndarray, "... M"],
    x_query: Float[ndarray, "... d"],
) -> Float[ndarray, "..."] | float:
    """y_hat = x_query^T Gamma^-1 (1/M) sum_i y_i x_i, for any test labels (4.3); M is the test prompt length."""
    moment = np.einsum("...md,...m->...d", x, y) / x.shape[-2]
    return np.einsum("...d,de,...e->...", x_query, np.linalg.inv(Gamma(Lambda, N)), moment)


def best_linear_predictor(Lambda: Float[ndarray, "d d"], E_xy: Float[ndarray, "d"]) -> Float[ndarray, "d"]:
    """a = Lambda^-1 E[x y]: the weights of the limit N, M -> infinity (4.4)."""
    return np.linalg.solve(Lambda, E_xy)


def loss_minimum(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """L* = (1/2) tr(Lambda - Lambda^2 Gamma^-1), the least value of L = (1/2) E(y_hat - y_query)^2.

    From Corollary A.2 with the constant (1/2) tr(Lambda) restored; the constant is ours.
    """
    return 0.5 * float(np.trace(Lambda - Lambda @ Lambda @ np.linalg.inv(Gamma(Lambda, N))))
