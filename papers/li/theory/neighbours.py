"""Section 5: the error of nearest neighbours on pattern prompts, in closed form (derived here).

Contexts are independent: the query's pattern (right label) with probability alpha/2, else a label that is wrong with
probability w = 1/(2 - alpha). Contexts with the query's pattern are nearer than all others when K < 1/sqrt(2).
"""

from math import comb

import numpy as np


def radii(K: float, beta: float) -> tuple[float, float]:
    """beta^2 max(2 K^2, (2K)^2) and 2 beta^2: squared distance to own pattern at most, to another at least (eq-li-5-radii)."""
    return beta**2 * 4 * K**2, 2 * beta**2


def neighbours_error(l: int, alpha: float, k: int) -> float:
    """sum_n C(l, n) (alpha/2)^n (1 - alpha/2)^(l - n) P(more than k/2 of the k - n others wrong) (eq-li-5-neighbours).

    n < k contexts carry the query's pattern, from
    n > k/2 on the term is 0. Raises ValueError unless k is odd and 1 <= k <= l, and unless 0 < alpha <= 1.

    One neighbour errs when the pattern is absent, 0.8^5/1.6; all five are a coin, since each label is right with chance 1/2.
    Three: 0.8^5 (w^3 + 3 w^2 (1 - w)) + 5 * 0.2 * 0.8^4 w^2 with w = 5/8, or 0.224 + 0.16:

    >>> from papers.li.theory.neighbours import neighbours_error
    >>> [round(neighbours_error(5, 0.4, k), 4) for k in (1, 3, 5)]
    [0.2048, 0.384, 0.5]
    """
    if k % 2 == 0 or not 1 <= k <= l or not 0 < alpha <= 1:
        raise ValueError(f"k = {k}, l = {l}, alpha = {alpha}: take an odd k of at most l neighbours and 0 < alpha <= 1")
    w, own = 1 / (2 - alpha), alpha / 2
    return float(
        sum(comb(l, n) * own**n * (1 - own) ** (l - n) * most_wrong(k - n, (k + 1) // 2, w) for n in range((k + 1) // 2))
    )


def most_wrong(others: int, least: int, w: float) -> float:
    """P(at least ``least`` of ``others`` labels are wrong), each with probability w."""
    return float(np.sum([comb(others, j) * w**j * (1 - w) ** (others - j) for j in range(least, others + 1)]))
