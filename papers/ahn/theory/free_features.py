"""Layers that change the features as well as the labels, x <- (I + p S_l) x beside y <- y - a <x, S_l ...>.

After l layers the features of all tokens are R_l(S) x, with S_l = R_l^2 S their covariance. With p = 0 it is ``depth``:

>>> import numpy as np
>>> from papers.ahn.theory import free_features as free
>>> free.left(np.array([-0.5]), np.array([1.0, 2.0]), np.array([1.0, 0.5])).tolist()
[0.0, 0.21875]
>>> [free.degree(L) for L in (1, 2, 3)]
[1, 4, 13]
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.ahn.theory import wishart


def left(p: Float[ndarray, "l"], a: Float[ndarray, "L"], lam: Float[ndarray, "*n"]) -> Float[ndarray, "*n"]:
    """P(lambda) = prod_l (1 - a_l R_l^2 lambda), R_(l+1) = R_l (1 + p_l R_l^2 lambda), R_0 = 1 (eq-ahn-free)."""
    R, P = np.ones_like(lam), np.ones_like(lam)
    for step, change in zip(a, [*p, 0.0], strict=True):
        now = R**2 * lam
        P, R = P * (1 - step * now), R * (1 + change * now)
    return P


def degree(L: int) -> int:
    """(3^L - 1)/2, the degree of P; that of the loss is twice as high (eq-ahn-degree)."""
    return (3**L - 1) // 2


def rule(d: int, N: int, L: int) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Return nodes and weights of the mean over all prompts that is exact for the loss of L such layers.

    Its moments up to m_(3^L) are exact fractions: L = 3 takes seconds, L = 4 more than minutes.
    """
    return wishart.gauss_rule(*wishart.recurrence(wishart.moments(d, N, 2 * degree(L) + 1)))


def loss(p: Float[ndarray, "l"], a: Float[ndarray, "L"], d: int, N: int) -> float:
    """E |P(S) w|^2 = d E P(lambda)^2 for w ~ N(0, I) and a query N(0, I): the mean squared error over all prompts."""
    nodes, weights = rule(d, N, len(a))
    return float(d * (weights @ left(p, a, nodes) ** 2))
