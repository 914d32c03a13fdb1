"""Section 3.3: how long SGD stays near its start (derived here), and the number of steps that the theorem states.

The reduced model has three numbers: V and H, the label responses of W_V (from delta) and of W_O, and s, the score gap
(from beta^2 delta^2), in units in which V(0) = 1, H(0) = 0, s(0) = 1 and time is eta rho |q| alpha beta^2 delta^2 t.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.integrate import quad


def velocity(state: Float[ndarray, "3"], M1: float) -> Float[ndarray, "3"]:
    """(V, H, s)' = (s H / 2, s V / 2, V H s / M1) (eq-li-3-3-escape-ode)."""
    V, H, s = state
    return np.array([s * H / 2, s * V / 2, V * H * s / M1])


def phase(M1: float) -> float:
    """Psi(M1) = 2 artanh(r)/r, r = sqrt(1 - 1/M1): when the reduced model blows up (eq-li-3-3-psi); about ln(4 M1).

    Raises ValueError for M1 <= 1.
    """
    if not M1 > 1:
        raise ValueError(f"M1 = {M1}: with one pattern there is nothing to attend to, so M1 > 1")
    r = np.sqrt(1 - 1 / M1)
    return float(2 * np.arctanh(r) / r)


def phase_of_scores(L: Float[ndarray, "M M"]) -> float:
    """Psi_L = int_0^inf dc/sqrt(x (1 + x)), x = tr exp(c L) - M1: the phase with all scores moving (eq-li-3-3-falling).

    ``L`` is the Laplacian of the training pairs (eq-li-3-2-L); for all tasks Psi_L = Psi(M1 - 1).

    For all tasks on 5 patterns the integral is Psi(4) = 2 artanh(r)/r with r = sqrt(3)/2, or (2/sqrt(3)) ln(7 + 4 sqrt(3)):

    >>> import numpy as np
    >>> from papers.li.theory.coverage import pair_laplacian
    >>> from papers.li.theory.escape_time import phase, phase_of_scores
    >>> tasks = np.array([(a, b) for a in range(5) for b in range(5) if a != b])
    >>> round(phase_of_scores(pair_laplacian(tasks, 5)), 4), round(phase(4), 4)
    (3.0414, 3.0414)
    """
    rates = np.linalg.eigvalsh(L)

    def speed(u: float) -> float:
        x = np.expm1(rates * u * u).sum()  # c = u^2 takes the root out of the integrand at 0
        return 2 * u / np.sqrt(x * (1 + x)) if u > 0 else 2.0

    return float(quad(speed, 0, np.sqrt(60 / rates.max()), limit=200)[0])


def overlap(alpha: float, M1: int, l: int, beta: float, q: float, K: float) -> float:
    """Cosine between the mean tokens of two independent prompts, as expected from squared lengths (eq-li-3-3-overlap).

    A mean token has squared length beta^2 (p + (1 - p)/l + K^2/(3 l)) + |q|^2/l, where p = alpha^2/2 + (1 - alpha)^2/(M1 - 2)
    sums the squared shares of the patterns; two independent ones share beta^2/M1.
    """
    p = alpha**2 / 2 + (1 - alpha) ** 2 / (M1 - 2)
    return beta**2 / M1 / (beta**2 * (p + (1 - p) / l + K**2 / (3 * l)) + q**2 / l)


def both_active(cosine: float) -> float:
    """rho^2 = 1/4 + arcsin(c)/(2 pi): a Gaussian row is positive on both of two vectors with cosine c (eq-li-3-3-rho)."""
    return float(0.25 + np.arcsin(cosine) / (2 * np.pi))


def escape_time(*, eta: float, alpha: float, beta: float, q: float, delta: float, M1: int, l: int, K: float) -> float:
    """Psi(M1) / (eta rho |q| alpha beta^2 delta^2), in steps of SGD (eq-li-3-3-escape)."""
    rho = np.sqrt(both_active(overlap(alpha, M1, l, beta, q, K)))
    return float(phase(M1) / (eta * rho * q * alpha * beta**2 * delta**2))


def stated_steps(*, eta: float, alpha: float, beta: float, M1: int) -> float:
    """eta^-1 M1 alpha^(-2/3) beta^(-2/3) sqrt(log M1), the T of the theorem up to its constant (eq-li-3-3-steps)."""
    return float(M1 * np.sqrt(np.log(M1)) / (eta * (alpha * beta) ** (2 / 3)))
