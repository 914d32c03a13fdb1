"""The context steps from the MLP's own weights: one block with linear attention at the least risk of tasks with a mean.

Tasks are w ~ N(mu, Psi), labels y = <w, x> + noise s, inputs x ~ N(0, Lambda). A context is read by x_q^T (m + K^T S v) with
S = (1/N) sum_i z_i z_i^T, z_i = (x_i; y_i): m is the row of the MLP on the features, v the row on the values, K the keys.
At d = 1, mu = 2, Psi = Lambda = 1, s = 0 and N = 2, Gamma = 3/2 + 1/2. From the row 2 the context (1; 3), (1; 5) has the
residuals 1 and 3, the gradient -2 and the step 2/Gamma:

>>> import numpy as np
>>> from papers.lenses.theory import own_weights as own
>>> one, mu = np.eye(1), np.array([2.0])
>>> Gamma = own.Gamma(one, one, 0.0, 2)
>>> Gamma.tolist(), own.least_risk(one, one, 0.0, 2)
([[2.0]], 0.5)
>>> own.stepped(mu, Gamma, np.ones((2, 1)), np.array([3.0, 5.0])).tolist()
[3.0]
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray


class Optimum(NamedTuple):
    """The row on the features, the row on the values with last entry 1, and the keys of the least risk."""

    m: Float[ndarray, "d"]
    v: Float[ndarray, "d+1"]
    K: Float[ndarray, "d+1 d"]


def Gamma(Lambda: Float[ndarray, "d d"], Psi: Float[ndarray, "d d"], noise: float, N: float) -> Float[ndarray, "d d"]:
    """Gamma_Psi = (1 + 1/N) Lambda + ((tr(Lambda Psi) + s^2)/N) Psi^-1 (eq-lenses-2-gamma).

    At Psi = I and s = 0 it is the Gamma of Zhang et al. Raises ValueError where Psi is not positive definite: tasks that
    leave a direction out have no such matrix, and their least risk is ``least_risk``.
    """
    if not (values := np.linalg.eigvalsh(Psi))[0] > 1e-12 * values[-1]:
        raise ValueError(f"the least eigenvalue of Psi is {values[0]:.3g}: tasks have to vary in every direction")
    return (1 + 1 / N) * Lambda + _of_a_label(Lambda, Psi, noise, N) * np.linalg.inv(Psi)


def _of_a_label(Lambda: Float[ndarray, "d d"], Psi: Float[ndarray, "d d"], noise: float, N: float) -> float:
    """(tr(Lambda Psi) + s^2)/N, the variance of a label about its mean, over N."""
    return (np.trace(Lambda @ Psi) + noise**2) / N


def least_risk(Lambda: Float[ndarray, "d d"], Psi: Float[ndarray, "d d"], noise: float, N: float) -> float:
    """R*(Psi) = tr(Lambda Psi (I - Lambda Gamma_Psi^-1)), beyond the noise (eq-lenses-2-least).

    Only the covariance of tasks enters: the MLP takes the mean. Tasks may leave directions out: Psi Gamma_Psi, by which it is
    computed, needs no inverse of Psi. Lambda and s^2 + tr(Lambda Psi) are positive, at N = infinity Psi as well. On the line
    w = (t, t), t ~ N(0, 1), N = 2 examples leave 2 (1 - 1/(1 + 1/2 + 1/2)):

    >>> import numpy as np
    >>> from papers.lenses.theory import own_weights as own
    >>> round(own.least_risk(np.eye(2), np.ones((2, 2)), 0.0, 2), 12)
    1.0
    """
    task = Lambda @ Psi @ Lambda
    both = (1 + 1 / N) * task + _of_a_label(Lambda, Psi, noise, N) * Lambda
    return float(np.trace(Lambda @ Psi) - np.trace(task @ np.linalg.solve(both, Lambda @ Psi)))


def optimum(
    Lambda: Float[ndarray, "d d"], mu: Float[ndarray, "d"], Psi: Float[ndarray, "d d"], noise: float, N: float
) -> Optimum:
    """m = mu, v = (-mu; 1), K = (Gamma_Psi^-1; 0): the block that has the least risk (eq-lenses-2-optimum).

    The value of an example is what the row m leaves of its label, y_i - <mu, x_i>.
    """
    inverse = np.linalg.inv(Gamma(Lambda, Psi, noise, N))
    return Optimum(mu, np.append(-mu, 1.0), np.r_[inverse, np.zeros((1, len(mu)))])


def loss(r: Float[ndarray, "d"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]) -> float:
    """L_C(r) = 1/(2M) sum_i (<r, x_i> - y_i)^2: squared error of a row on the context (eq-lenses-2-loss)."""
    return float(((x @ r - y) ** 2).mean() / 2)


def gradient(r: Float[ndarray, "d"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]) -> Float[ndarray, "d"]:
    """(1/M) sum_i (<r, x_i> - y_i) x_i, the gradient of L_C."""
    return (x @ r - y) @ x / len(y)


def stepped(
    r: Float[ndarray, "d"], Gamma: Float[ndarray, "d d"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]
) -> Float[ndarray, "d"]:
    """r - Gamma^-1 grad L_C(r): what the MLP's row is with the context's change of weights (eq-lenses-2-step)."""
    return r - np.linalg.solve(Gamma, gradient(r, x, y))


def trap_risk(Lambda: Float[ndarray, "d d"], Psi: Float[ndarray, "d d"], noise: float, N: float) -> float:
    """R*(Psi) + sum_{i >= 2} sigma_i^2 of M^-1/2 Lambda Psi Lambda^1/2, M = Lambda Psi Gamma_Psi (eq-lenses-2-trap).

    The least risk of a block whose values do not read the label: what one direction cannot carry is left.
    """
    M = Lambda @ Psi @ Gamma(Lambda, Psi, noise, N)
    read = _root(M, -0.5) @ Lambda @ Psi @ _root(Lambda, 0.5)
    return least_risk(Lambda, Psi, noise, N) + float((np.linalg.svd(read, compute_uv=False)[1:] ** 2).sum())


def without_row(
    Lambda: Float[ndarray, "d d"], mu: Float[ndarray, "d"], Psi: Float[ndarray, "d d"], noise: float, N: float
) -> tuple[float, float]:
    """Bounds of the least risk of one head of linear attention without an MLP (eq-lenses-2-gap).

    From below the larger of R*(Psi) and (2/(N + 2)) E|w|^2_Lambda; from above R*(Psi + mu mu^T), the mean as variance.
    """
    second = Psi + np.outer(mu, mu)
    lower = max(least_risk(Lambda, Psi, noise, N), floor(N, 1) * float(np.trace(Lambda @ second)))
    return lower, least_risk(Lambda, second, noise, N)


def floor(N: float, heads: int, directions: float = np.inf) -> float:
    """2/(N H + 2), H at most the directions of a token, d + 1 with noise and d without (eq-lenses-2-floor).

    The least risk of H heads of linear attention without an MLP, as a share of E|w|^2_Lambda: no tasks have less.
    """
    return 2 / (N * min(heads, directions) + 2)


def _root(matrix: Float[ndarray, "d d"], power: float) -> Float[ndarray, "d d"]:
    """A power of a symmetric positive matrix."""
    values, basis = np.linalg.eigh((matrix + matrix.T) / 2)
    return (basis * values**power) @ basis.T
