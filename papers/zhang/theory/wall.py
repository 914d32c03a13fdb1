"""A wall of loss around the optimum, and points of low loss beyond it: local minima at all long enough prompts (derived here).

Lambda is the covariance, (d, d), d >= 2; N the training prompt length; U = [[U_11, u_12], [u_21^T, u_-1]] as in Lemma 5.1.
The wall is where (1 + 3/N) u_12^T Lambda u_12 = tr(Lambda) u_-1^2; the optimum, u_12 = 0, is on its near side.
"""

from bisect import bisect_left

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.full_loss import label_moment
from papers.zhang.theory.optimum import Gamma, loss_minimum


def wall_ratio(Lambda: Float[ndarray, "d d"], N: float, U: Float[ndarray, "... d+1 d+1"]) -> Float[ndarray, "..."] | np.float64:
    """(1 + 3/N) u_12^T Lambda u_12 / (tr(Lambda) u_-1^2): 1 on the wall, above 1 beyond it, NaN where u_12 and u_-1 are 0."""
    u = U[..., :-1, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return (1 + 3 / N) * np.einsum("...i,ij,...j->...", u, Lambda, u) / (np.trace(Lambda) * U[..., -1, -1] ** 2)


def wall_height(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """h^2 / (2 [(1 + 3/N)/tr(Lambda) + k^2/gamma_min]) <= L - L* on the wall.

    h = (1 + 2/N) g_min + (1/N) sum_i g_i with g_i = lambda_i/gamma_i, and k = 1 + (2 + sqrt(d))/N. As N grows the height
    tends to 1 / (2 [1/tr(Lambda) + 1/lambda_min]).
    """
    h, stiffness = _pull(Lambda, N)
    return h**2 / (2 * ((1 + 3 / N) / float(np.trace(Lambda)) + stiffness))


def wall_height_without_trace(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """h^2 gamma_min / (2 k^2): what the height would be without its first term; wrong."""
    h, stiffness = _pull(Lambda, N)
    return h**2 / (2 * stiffness)


def far_point(Lambda: Float[ndarray, "d d"], N: float, place: int) -> Float[ndarray, "d+1 d+1"]:
    """u_-1 = 1, u_12 = P e/sqrt(lambda), u_21 = e/(P sqrt(lambda)), U_11 = Lambda^-1 - e e^T/lambda.

    e is the eigenvector of the eigenvalue lambda at ``place``, in ascending order; P^4 = label_moment / ((d - 1) (1/N +
    (d + 1)/N^2)) makes the loss least. u_-1 U_11 + u_12 u_21^T = Lambda^-1. Beyond the wall for prompts of ``sure_length``.
    """
    eigenvalues, basis = np.linalg.eigh(Lambda)
    e = basis[:, place] / np.sqrt(eigenvalues[place])
    P = (label_moment(Lambda, N) / _stiffness(len(e), N)) ** 0.25
    return np.block([[np.linalg.inv(Lambda) - np.outer(e, e), P * e[:, None]], [e[None] / P, np.ones((1, 1))]])


def far_point_loss(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """L = (3 d - 1) tr(Lambda)/(2 N) + [(d - 1) (1/N + (d + 1)/N^2) label_moment]^1/2 at ``far_point``, whichever e.

    At Lambda = diag(1, 2, 3) and N = 10, label_moment = 1.2 (36 + 28) = 76.8 and L = 8 * 6/20 + [2 * 0.14 * 76.8]^1/2, which is
    the full loss at each of the three points:

    >>> import numpy as np
    >>> from papers.zhang.theory.full_loss import full_loss
    >>> from papers.zhang.theory.wall import far_point, far_point_loss
    >>> Lambda = np.diag([1.0, 2.0, 3.0])
    >>> [round(float(full_loss(Lambda, 10, far_point(Lambda, 10, place))), 4) for place in range(3)]
    [7.0372, 7.0372, 7.0372]
    >>> round(far_point_loss(Lambda, 10), 4)
    7.0372
    """
    d = len(Lambda)
    return (3 * d - 1) * float(np.trace(Lambda)) / (2 * N) + (_stiffness(d, N) * label_moment(Lambda, N)) ** 0.5


def sure_length(Lambda: Float[ndarray, "d d"]) -> int:
    """N_0: from this N on the far point lies beyond the wall, with L < L* + the wall's height (by bisection).

    Raises ValueError for d < 2, and where it is beyond 2^59.
    """

    def sure(N: int) -> bool:
        beyond = wall_ratio(Lambda, N, far_point(Lambda, N, 0)) > 1
        return bool(beyond) and far_point_loss(Lambda, N) < loss_minimum(Lambda, N) + wall_height(Lambda, N)

    if len(Lambda) < 2:
        raise ValueError("the far point takes a direction away and keeps another: Lambda needs two dimensions at least")
    high = next((2**k for k in range(1, 60) if sure(2**k)), 0)
    if not high:
        raise ValueError("no length below 2^59 is sure: the least eigenvalue of Lambda is too small beside its trace")
    return bisect_left(range(high), True, lo=high // 2, key=sure)


def _pull(Lambda: Float[ndarray, "d d"], N: float) -> tuple[float, float]:
    """Return h and k^2/gamma_min."""
    eigenvalues, gamma = np.linalg.eigvalsh(Lambda), np.linalg.eigvalsh(Gamma(Lambda, N))
    g = eigenvalues / gamma
    k = 1 + (2 + len(g) ** 0.5) / N
    return float((1 + 2 / N) * g[0] + g.sum() / N), float(k**2 / gamma[0])


def _stiffness(d: int, N: float) -> float:
    return (d - 1) * (1 / N + (d + 1) / N**2)
