"""The risk of a model in parts, and the best L steps of gradient descent that are the same for all contexts.

Inputs and tasks are N(0, I_d), M examples without noise, S = (1/M) sum x_i x_i^T. L steps of sizes a_l from 0 leave of the
task P(S) w with P(t) = prod (1 - a_l t), and the best P has least E tr P(S)^2. At d = 1 and M = 1, S is the square of a
standard normal with moments 1, 3, 15, 105: the best step is 1/3 and leaves 2/3, and two steps leave 8/15.

>>> import numpy as np
>>> from papers.lenses.theory import what_is_left as left
>>> [left.moment(1, 1, n) for n in range(5)]
[1.0, 1.0, 3.0, 15.0, 105.0]
>>> left.steps(1, 1, 1).round(6).tolist(), round(left.least_error(1, 1, 1), 6), round(left.least_error(1, 1, 2), 6)
([0.333333], 0.666667, 0.533333)

With the answer 2x + x^3 to standard normal queries, for the posterior mean 1, 6 is not linear and 16 the distance:

>>> float(left.risk_in_parts(np.array(0.5), np.array(6.0), np.array(16.0)))
22.5
"""

from functools import cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def moment(d: int, M: int, n: int) -> float:
    """m_n = (1/d) E tr S^n, by Stein's identity (eq-lenses-4-moments)."""
    return _traces(d, M, (n,)) / (d * M**n)


def risk_in_parts(
    least: Float[ndarray, "..."], bent: Float[ndarray, "..."], far: Float[ndarray, "..."]
) -> Float[ndarray, "..."]:
    """R* + E(T - <G, x>)^2 + E|G - m|^2: Bayes risk, what is not linear in the query, and a distance (eq-lenses-4-parts)."""
    return least + bent + far


@cache
def _traces(d: int, M: int, powers: tuple[int, ...]) -> int:
    """E prod_j tr (X^T X)^{n_j} for X of M rows from N(0, I_d), exact: the first matrix X is taken out.

    E tr W^n f = (M + n - 1) E tr W^{n-1} f + sum_{i=1}^{n-1} E tr W^i tr W^{n-1-i} f
    + 2 sum_j n_j E tr W^{n-1+n_j} f/tr W^{n_j}, with f the product of the tr W^{n_j}.
    """
    if not powers:
        return 1
    n, *rest = sorted(powers, reverse=True)
    if n == 0:
        return d ** len(powers)

    def of(*first: int, without: int | None = None) -> int:
        left = [power for j, power in enumerate(rest) if j != without]
        return _traces(d, M, tuple(sorted((*first, *left))))

    own = (M + n - 1) * of(n - 1) + sum(of(i, n - 1 - i) for i in range(1, n))
    return own + 2 * sum(power * of(n - 1 + power, without=j) for j, power in enumerate(rest))


def polynomial(d: int, M: int, L: int) -> Float[ndarray, "coefficient"]:
    """Coefficients of P, lowest first: H^-1 e_0/(H^-1)_00 with H_ij = m_{i+j} (eq-lenses-4-polynomial)."""
    first = _first_column(d, M, L)
    return first / first[0]


def steps(d: int, M: int, L: int) -> Float[ndarray, "step"]:
    """Sizes of the L steps: reciprocals of the roots of P, largest first (eq-lenses-4-steps)."""
    return np.sort(1 / np.polynomial.polynomial.polyroots(polynomial(d, M, L)).real)[::-1]


def least_error(d: int, M: int, L: int) -> float:
    """1/(H^-1)_00: the share of E|w|^2 that the best L steps leave (eq-lenses-4-least)."""
    return float(1 / _first_column(d, M, L)[0])


def _first_column(d: int, M: int, L: int) -> Float[ndarray, "coefficient"]:
    H = np.array([[moment(d, M, i + j) for j in range(L + 1)] for i in range(L + 1)])
    return np.linalg.solve(H, np.eye(L + 1)[0])


def steps_excess(d: int, k: int, L: int) -> float:
    """What the best L steps on k examples leave beyond the posterior mean, over d (eq-lenses-4-excess)."""
    return least_error(d, k, L) - max(0.0, 1 - k / d)
