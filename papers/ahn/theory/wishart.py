"""Moments of S = (1/N) sum_i x_i x_i^T with x_i ~ N(0, I) in d dimensions, exact, and what follows from moments alone.

At d = 1 and N = 2, S is half a chi square with two degrees of freedom: its moments are 1, 2, 6 (k! of an exponential).

>>> from papers.ahn.theory import wishart
>>> [int(each) for each in wishart.moments(1, 2, 3)]
[1, 1, 2, 6]
>>> alpha, beta = wishart.recurrence(wishart.moments(1, 2, 3))
>>> alpha.tolist(), beta.tolist()
([1.0, 3.0], [1.0, 1.0])
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray


@cache
def moments(d: int, N: int, most: int) -> tuple[Fraction, ...]:
    """m_k = (1/d) E tr S^k for k = 0, ..., most (eq-ahn-moments), by eq-ahn-recursion; S of N inputs ~ N(0, I_d), d, N >= 1.

    Raises ValueError for other numbers than Python's whole ones: those of NumPy overflow.
    """
    if not (type(d) is type(N) is int and d > 0 and N > 0):
        raise ValueError(f"d = {d!r}, N = {N!r}: give Python's whole numbers, 1 or more")
    return tuple(Fraction(_product((k,), d, N), d * N**k) for k in range(most + 1))


@cache
def _product(powers: tuple[int, ...], d: int, N: int) -> int:
    """E prod_i tr W^k_i of W = N S, powers k_1 >= k_2 >= ...: one X of the first trace against all others.

    E[tr W^k T] = (N + k - 1) E[tr W^(k-1) T] + sum_{0<j<k} E[tr W^j tr W^(k-1-j) T] + 2 sum_i k_i E[tr W^(k+k_i-1) T/tr W^k_i]
    """
    first, *rest = powers or (0,)
    if first == 0:
        return d ** len(powers)

    def with_others(*new: int, without: int = -1) -> int:
        left = [each for place, each in enumerate(rest) if place != without]
        return _product(tuple(sorted([*left, *new], reverse=True)), d, N)

    alone = (N + first - 1) * with_others(first - 1)
    split = sum(with_others(j, first - 1 - j) for j in range(1, first))
    joined = sum(2 * other * with_others(first + other - 1, without=place) for place, other in enumerate(rest))
    return alone + split + joined


def recurrence(moments: Sequence[Fraction]) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """alpha_k, beta_k of the monic polynomials pi_(k+1) = (x - alpha_k) pi_k - beta_k pi_(k-1), orthogonal for 2n moments.

    Chebyshev's algorithm in exact fractions: in floating point it loses all digits after a few steps. beta_0 = m_0.
    """
    before, now = [Fraction(0)] * len(moments), list(moments)
    alpha, beta = [now[1] / now[0]], [now[0]]
    for k in range(1, len(moments) // 2):
        step = [now[j + 1] - alpha[-1] * now[j] - (beta[-1] * before[j] if k > 1 else 0) for j in range(len(now) - 1)]
        before, now = now, step
        alpha.append(now[k + 1] / now[k] - before[k] / before[k - 1])
        beta.append(now[k] / before[k - 1])
    return np.array([float(each) for each in alpha]), np.array([float(each) for each in beta])


def gauss_rule(alpha: Float[ndarray, "n"], beta: Float[ndarray, "n"]) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Nodes and weights that integrate polynomials of degree 2n - 1: eigenvalues of the Jacobi matrix (Golub and Welsch)."""
    side = np.sqrt(beta[1:])
    nodes, vectors = np.linalg.eigh(np.diag(alpha) + np.diag(side, 1) + np.diag(side, -1))
    return nodes, beta[0] * vectors[0] ** 2
