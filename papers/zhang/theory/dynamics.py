"""Section 5.2: the reduced loss, its gradient flow, and the time courses that can be written down.

Lambda is the covariance, (d, d); N the training prompt length; U_11, (d, d), and u_-1 are what moves when u_12 = u_21 = 0.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.optimum import Gamma, second_moment


class Weights(NamedTuple):
    """The moving weights, or their velocity."""

    U_11: Float[ndarray, "d d"]
    u_last: float
    """u_-1, the value weight on the label."""


def pack(weights: Weights) -> Float[ndarray, "P"]:
    """Return the weights as one vector, P = d^2 + 1, for an integrator."""
    return np.append(weights.U_11, weights.u_last)


def unpack(theta: Float[ndarray, "P"]) -> Weights:
    """Return the weights that ``pack`` made a vector of."""
    d = int(np.sqrt(len(theta) - 1))
    return Weights(theta[:-1].reshape(d, d), float(theta[-1]))


def live(weights: Weights) -> Float[ndarray, "D D"]:
    """Return all live parameters, U = [[U_11, 0], [0, u_-1]], D = d + 1."""
    U = np.pad(weights.U_11.astype(float), (0, 1))
    U[-1, -1] = weights.u_last
    return U


def reduced_loss(Lambda: Float[ndarray, "d d"], N: float, weights: Weights) -> float:
    """l = tr[(1/2) u_-1^2 Gamma Lambda U_11 Lambda U_11^T - u_-1 Lambda^2 U_11^T] (Lemma A.1); L = l + (1/2) tr Lambda."""
    U_11, u = weights
    quadratic = np.trace(second_moment(Lambda, N) @ U_11 @ Lambda @ U_11.T)
    return float(u**2 * quadratic / 2 - u * np.trace(Lambda @ Lambda @ U_11.T))


def reduced_minimum(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """min l = -(1/2) tr[Lambda^2 Gamma^-1] (Corollary A.2)."""
    return -0.5 * float(np.trace(Lambda @ Lambda @ np.linalg.inv(Gamma(Lambda, N))))


def gap(Lambda: Float[ndarray, "d d"], N: float, weights: Weights) -> float:
    """l - min l = (1/2) ||Gamma^1/2 (u_-1 Lambda^1/2 U_11 Lambda^1/2 - Lambda Gamma^-1)||_F^2 (Corollary A.2)."""
    U_11, u = weights
    root = symmetric_root(Lambda)
    miss = u * root @ U_11 @ root - Lambda @ np.linalg.inv(Gamma(Lambda, N))
    return 0.5 * float(np.sum((symmetric_root(Gamma(Lambda, N)) @ miss) ** 2))


def symmetric_root(matrix: Float[ndarray, "d d"]) -> Float[ndarray, "d d"]:
    """The symmetric root of a covariance, which may be singular: what rounding puts below 0 counts as 0."""
    eigenvalues, basis = np.linalg.eigh(matrix)
    return (basis * np.sqrt(np.maximum(eigenvalues, 0))) @ basis.T


def velocity(Lambda: Float[ndarray, "d d"], N: float, weights: Weights) -> Weights:
    """The right-hand side of Lemma 5.2, minus the gradient of the reduced loss.

    dU_11/dt = -u_-1^2 Gamma Lambda U_11 Lambda + u_-1 Lambda^2,
    du_-1/dt = -tr[u_-1 Gamma Lambda U_11 Lambda U_11^T - Lambda^2 U_11^T].
    """
    U_11, u = weights
    pull = second_moment(Lambda, N) @ U_11 @ Lambda
    return Weights(-(u**2) * pull + u * Lambda @ Lambda, -float(np.trace(u * pull @ U_11.T - Lambda @ Lambda @ U_11.T)))


def balance(weights: Weights) -> float:
    """delta = u_-1^2 - ||U_11||_F^2: constant along the flow (Lemma A.3 has delta = 0; the general case is ours)."""
    return weights.u_last**2 - float(np.sum(weights.U_11**2))


def limit(Lambda: Float[ndarray, "d d"], N: float, delta: float) -> Weights:
    """Where the flow ends: U_11 = Gamma^-1/u_-1, u_-1^2 = (1/2)(delta + sqrt(delta^2 + 4 ||Gamma^-1||_F^2)), u_-1 > 0.

    delta is the conserved balance; at delta = 0 this is Lemma 5.4, u_-1 = ||Gamma^-1||_F^1/2. General delta: derived here,
    for flows that end with u_-1 > 0, as those do that begin there with delta > 0 or as Assumption 3.3 says; -U_11 and -u_-1 are
    an end as well.

    At Lambda = diag(2, 4) and N = 2, where Gamma = diag(6, 9), the velocity is 0 and l = -(4/6 + 16/9)/2:

    >>> import numpy as np
    >>> from papers.zhang.theory.dynamics import balance, limit, pack, reduced_loss, velocity
    >>> Lambda, N = np.diag([2.0, 4.0]), 2
    >>> end = limit(Lambda, N, delta=0.7)
    >>> round(balance(end), 4), bool(np.allclose(pack(velocity(Lambda, N, end)), 0)), round(reduced_loss(Lambda, N, end), 4)
    (0.7, True, -1.2222)
    """
    inverse = np.linalg.inv(Gamma(Lambda, N))
    square = np.sum(inverse**2)
    larger = (abs(delta) + np.sqrt(delta**2 + 4 * square)) / 2  # u_-1^2, or ||U_11||_F^2: their product is the square
    u = np.sqrt(larger if delta >= 0 else square / larger)
    return Weights(inverse / u, float(u))


def origin_growth_rate(Lambda: Float[ndarray, "d d"]) -> float:
    """||Lambda^2||_F: the rate at which (U_11, u_-1) leaves a small neighbourhood of 0 (derived here)."""
    return float(np.linalg.norm(Lambda @ Lambda))


def transverse_growth_rate(Lambda: Float[ndarray, "d d"]) -> float:
    """||Lambda||_op^2: the rate at which small (u_12, u_21) grow near 0 (derived here)."""
    return float(np.linalg.norm(Lambda, 2) ** 2)


class Isotropic(NamedTuple):
    """Lambda = lam I and Theta Theta^T = I/sqrt(d), where Lemma 5.2 is solved in closed form (derived here).

    sigma is the scale of Assumption 3.3: v grows from sigma^2/d, below ``v_limit``.
    """

    d: int
    N: float
    lam: float
    sigma: float

    @property
    def g(self) -> float:
        """Gamma = g I, g = lam (1 + (d + 1)/N)."""
        return self.lam * (1 + (self.d + 1) / self.N)

    @property
    def v_limit(self) -> float:
        """v(infinity) = 1/(sqrt(d) g)."""
        return 1 / (self.d**0.5 * self.g)

    @property
    def drop_time(self) -> float:
        """ln(v_limit/v_0) / (2 sqrt(d) lam^2): when v is halfway, up to terms of order v_0."""
        return float(np.log(self.v_limit * self.d / self.sigma**2) / (2 * self.d**0.5 * self.lam**2))

    def v(self, t: Float[ndarray, "T"]) -> Float[ndarray, "T"]:
        """v = s^2 of U_11 = s I: v = v_limit / (1 + (v_limit/v_0 - 1) exp(-2 sqrt(d) lam^2 t)), v_0 = sigma^2/d."""
        odds = self.v_limit * self.d / self.sigma**2 - 1
        return self.v_limit / (1 + odds * np.exp(-2 * self.d**0.5 * self.lam**2 * t))

    def loss(self, t: Float[ndarray, "T"]) -> Float[ndarray, "T"]:
        """L = (d lam/2) [1 - (lam/g) (2q - q^2)], q = v/v_limit."""
        q = self.v(t) / self.v_limit
        return self.d * self.lam / 2 * (1 - self.lam / self.g * (2 * q - q**2))
