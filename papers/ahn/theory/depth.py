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

from papers.ahn.theory import wishart


def least_error(moments: Sequence[Fraction], L: int) -> float:
    """1/((H^-1)_00 m_0) with H = (m_(i+j)), i, j = 0, ..., L (eq-ahn-least): the least mean of P(lambda)^2."""
    H = np.array([[float(moments[i + j]) for j in range(L + 1)] for i in range(L + 1)])
    return float(1 / np.linalg.inv(H)[0, 0] / H[0, 0])


def step_sizes(moments: Sequence[Fraction], L: int) -> Float[ndarray, "L"]:
    """Reciprocals of the roots of the polynomial of degree L orthogonal for lambda d nu (eq-ahn-steps), largest first."""
    alpha, beta = wishart.recurrence(moments[1 : 2 * L + 1])
    return 1 / wishart.gauss_rule(alpha, beta)[0]


def error(moments: Sequence[Fraction], steps: Float[ndarray, "L"]) -> float:
    """Mean of prod_l (1 - a_l lambda)^2 (eq-ahn-error), as a share of m_0; raises ValueError for fewer than 2L + 1 moments."""
    if len(moments) <= 2 * len(steps):
        raise ValueError(f"{len(moments)} moments for {len(steps)} layers: give m_0 to m_{2 * len(steps)}")
    squared = np.poly1d([1.0])
    for step in steps:
        squared *= np.poly1d([-step, 1.0]) ** 2
    return float(sum(c * float(m) for c, m in zip(squared.coeffs[::-1], moments, strict=False)) / float(moments[0]))


def equal_step(moments: Sequence[Fraction], L: int) -> float:
    """The a that makes the mean of (1 - a lambda)^(2L) least, as the real root of its derivative in a."""
    slope = [-2 * L * comb(2 * L - 1, j) * (-1) ** j * float(moments[j + 1]) for j in range(2 * L)]
    roots = np.roots(slope[::-1])
    return float(roots[np.argmin(abs(roots.imag))].real)


def limit_moments(rho: Fraction, most: int) -> tuple[Fraction, ...]:
    """m_k = sum_j rho^j (1/(j+1)) C(k, j) C(k-1, j), d, N -> infinity at d/N = rho (Marchenko and Pastur) (eq-ahn-mp)."""
    return tuple(
        Fraction(1) if k == 0 else sum(rho**j * Fraction(comb(k, j) * comb(k - 1, j), j + 1) for j in range(k))
        for k in range(most + 1)
    )


def limit_error(rho: float, L: int) -> float:
    """1/(1 + rho^-1 + ... + rho^-L), rho = d/N > 0 (eq-ahn-limit)."""
    return 1 / sum((1.0 / rho) ** j for j in range(L + 1))


def limit_steps(rho: float, L: int) -> Float[ndarray, "L"]:
    """a_j = 1/(1 + rho + 2 sqrt(rho) cos(pi j/(L + 1))), j = L, ..., 1 (eq-ahn-limit-steps)."""
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
