"""The least error of L layers of linear attention that change labels only, as a share of that of no answer.

Layer l steps by a_l times the gradient of (1/2N) sum_i (<v, x_i> - y_i)^2; L of them leave w - w_L = P(S) w with P(0) = 1
and deg P = L. At L = 1 the least error is Zhang et al.'s (d + 1)/(N + d + 1), with the step size N/(N + d + 1):

>>> from papers.ahn.theory import depth, wishart
>>> m = wishart.moments(2, 9, 2)
>>> round(depth.least_error(m, 1), 12), depth.step_sizes(m, 1).round(12).tolist()
(0.25, [0.75])
>>> [depth.limit_error(0.5, L) for L in (0, 1, 2)] == [1, 1 / 3, 1 / 7]
True
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.optimize import brentq

from papers.ahn.theory import wishart


def least_error(moments: Sequence[Fraction], L: int) -> float:
    """1/((H^-1)_00 m_0) with H = (m_(i+j)), i, j = 0, ..., L (eq-ahn-least): the least mean of P(lambda)^2.

    Raises ValueError for fewer than 2L + 1 moments, as ``error`` and ``equal_step`` do. All three sum exactly: from ten layers
    on rounding would be larger than what is left.
    """
    _require(moments, L)
    rows = [[Fraction(moments[i + j]) for j in range(L, -1, -1)] for i in range(L, -1, -1)]
    for k, pivot in enumerate(rows):
        for i in range(k + 1, L + 1):
            rows[i] = [entry - rows[i][k] / pivot[k] * above for entry, above in zip(rows[i], pivot, strict=True)]
    return float(rows[L][L] / moments[0])


def step_sizes(moments: Sequence[Fraction], L: int) -> Float[ndarray, "L"]:
    """Reciprocals of the roots of the polynomial of degree L orthogonal for lambda d nu (eq-ahn-steps), largest first.

    Raises ValueError for no layer and for fewer than 2L + 1 moments.
    """
    _require(moments, L, 1)
    alpha, beta = wishart.recurrence(moments[1 : 2 * L + 1])
    return 1 / wishart.gauss_rule(alpha, beta)[0]


def error(moments: Sequence[Fraction], steps: Float[ndarray, "L"]) -> float:
    """Mean of prod_l (1 - a_l lambda)^2 (eq-ahn-error), as a share of m_0."""
    _require(moments, len(steps))
    squared = [Fraction(1)]
    for a in (Fraction(step) for step in (*steps, *steps)):
        squared = [same - a * lower for same, lower in zip((*squared, 0), (0, *squared), strict=True)]
    return float(sum(c * m for c, m in zip(squared, moments, strict=False)) / moments[0])


def equal_step(moments: Sequence[Fraction], L: int) -> float:
    """The a that makes the mean of (1 - a lambda)^(2L) least, L >= 1: where the derivative in a, which rises, is 0."""
    _require(moments, L, 1)

    def slope(a: float) -> float:
        return float(-sum(comb(2 * L - 1, j) * (-Fraction(a)) ** j * moments[j + 1] for j in range(2 * L)))

    high = next(2.0**k for k in range(-60, 60) if slope(2.0**k) > 0)
    return brentq(slope, 0.0, high, xtol=np.finfo(float).tiny, rtol=1e-14)


def _require(moments: Sequence[Fraction], L: int, least: int = 0) -> None:
    if len(moments) <= 2 * L or least > L:
        raise ValueError(f"{len(moments)} moments for {L} layers: give m_0 to m_{2 * L}, and {least} layers or more")


def limit_moments(rho: Fraction, most: int) -> tuple[Fraction, ...]:
    """m_0 = 1, m_k = sum_j rho^j C(k, j) C(k-1, j)/(j+1): d, N -> infinity at d/N = rho, Marchenko and Pastur (eq-ahn-mp)."""
    return tuple(
        Fraction(1) if k == 0 else sum(rho**j * Fraction(comb(k, j) * comb(k - 1, j), j + 1) for j in range(k))
        for k in range(most + 1)
    )


def limit_error(rho: float, L: int) -> float:
    """1/(1 + rho^-1 + ... + rho^-L), rho = d/N > 0 (eq-ahn-limit)."""
    return 1 / sum((1.0 / rho) ** j for j in range(L + 1))


def limit_steps(rho: float, L: int) -> Float[ndarray, "L"]:
    """a_j = 1/(1 + rho + 2 sqrt(rho) cos(pi j/(L + 1))), j = L, ..., 1, rho > 0 (eq-ahn-limit-steps)."""
    return 1 / (1 + rho + 2 * rho**0.5 * np.cos(np.pi * np.arange(L, 0, -1) / (L + 1)))


def limit_equal(rho: float, L: int) -> float:
    """1 - (1/(1 + rho)) sum_{j<L} C_j (rho/(1 + rho)^2)^j, C_j Catalan's numbers (eq-ahn-limit-equal).

    The least error of L equal steps; all are 1/(1 + rho), whatever L is.
    """
    x = rho / (1 + rho) ** 2
    return 1 - sum(comb(2 * j, j) / (j + 1) * x**j for j in range(L)) / (1 + rho)


def limit_rates(rho: float) -> tuple[float, float]:
    """rho and 4 rho/(1 + rho)^2: by what a layer multiplies the error in the end, rho < 1 (eq-ahn-rates).

    The first with the best steps, the second with equal ones.
    """
    return rho, 4 * rho / (1 + rho) ** 2
