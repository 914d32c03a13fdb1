"""Section 3.2: how often the query's pattern is missing from a prompt, and what that costs.

Contexts are independent: the query's pattern (right label) with probability alpha/2, its partner in the task (wrong
label) with probability alpha/2, else one of the other M1 - 2 patterns with a fair-coin label. l counts contexts.

With alpha = 1/2 and l = 2: absent with chance (3/4)^2, then both wrong (2/3)^2, or one, and a coin. The best
predictor knows that the partner never shows the query's label; it errs with chance 8 B^2 + 2 A B, where A = alpha/2 is the
chance of the partner, B = (1 - alpha)/4 that of one bystander with one label:

>>> from papers.li.theory.floor import best_error, majority_wrong, missing, vote_error
>>> round(vote_error(2, 0.5), 4), round(missing(2, 0.5) * majority_wrong(2, 0.5), 4)
(0.375, 0.375)
>>> round(vote_error(2, 0.2), 4), round(best_error(2, 0.2, M1=4), 4)  # 8 * 0.04 + 2 * 0.02
(0.45, 0.36)
"""

from functools import cache
from itertools import product
from math import comb, factorial

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.stats import binom


def missing(l: int, alpha: float) -> float:
    """(1 - alpha/2)^l, the probability that no context carries the query's pattern (eq-li-3-2-missing)."""
    _require(l, alpha)
    return (1 - alpha / 2) ** l


def wrong_label(alpha: float) -> float:
    """1/(2 - alpha): a context's label is wrong, given that it does not carry the query's pattern (eq-li-3-2-wrong).

    Raises ValueError unless 0 < alpha <= 1.
    """
    _require(0, alpha)
    return 1 / (2 - alpha)


def majority_wrong(l: int, alpha: float) -> float:
    """P(more than half of l labels are wrong) + P(exactly half)/2, each wrong with ``wrong_label`` (prop-li-3-2-majority)."""
    k = np.arange(l + 1)
    return float(_lost(k, l - k) @ binom.pmf(k, l, wrong_label(alpha)))


def vote_error(l: int, alpha: float) -> float:
    """2^-l [sum_{k > l/2} C(l, k) (1 - alpha)^(l - k) + half the term k = l/2] (eq-li-3-2-vote).

    Equals ``missing`` times ``majority_wrong``.
    """
    _require(l, alpha)
    return float(sum(_lost(k, l - k) * (comb(l, k) / 2 ** int(l)) * (1 - alpha) ** (l - k) for k in range(l + 1)))


def start_vote_error(l: int, alpha: float, score: float) -> float:
    """P(e^score n_own + n_right < n_wrong) + P(equal)/2, multinomial with (alpha/2, (1 - alpha)/2, 1/2) (eq-li-3-2-start).

    The vote of an untrained layer: own pattern at weight e^score, every other context at weight 1. Sums up to 1e-9 count as 0.
    Raises ValueError for a score of NaN.
    """
    _require(l, alpha)
    if np.isnan(score):
        raise ValueError("the score is NaN: it has no weight")
    n, k = np.nonzero(np.add.outer(np.arange(l + 1), np.arange(l + 1)) <= l)
    chance = binom.pmf(n, l, alpha / 2) * binom.pmf(k, l - n, 1 - wrong_label(alpha))
    own, others = np.exp(min(score, 0)), np.where(n > 0, np.exp(-max(score, 0)), 1)  # neither above 1, in the ratio e^score
    return float(chance @ _lost(others * (l - n - k), own * n + others * k))


def _lost(against: float | ndarray, favour: float | ndarray) -> ndarray:
    """1 when the vote is lost, 1/2 when it is even."""
    even = np.abs(against - favour) < 1e-9  # e^score is rounded
    return np.where(even, 0.5, against > favour)


# --- the best predictor -------------------------------------------------------------------------------------------


def odds_per_context(alpha: float, M1: int) -> float:
    """rho = alpha (M1 - 2)/(1 - alpha): how much likelier a context is under the partner than as a bystander; M1 >= 3."""
    return np.inf if alpha == 1 else alpha * (M1 - 2) / (1 - alpha)


def best_score(
    pattern: Int[ndarray, "B l"], y: Float[ndarray, "B l"], query: Int[ndarray, "B"], alpha: float, M1: int
) -> Float[ndarray, "B"]:
    """Posterior weight of z = +1 less that of z = -1 for a predictor that knows the distribution of tasks (eq-li-3-2-best).

    A context with the query's pattern decides: its label counts alone. Otherwise S_z = sum over k of rho^(n_k), over the
    patterns k whose n_k contexts never show label z. Needs 0 < alpha < 1; the sign is the prediction, 0 is a coin.
    """
    _require(pattern.shape[-1], alpha)
    if alpha == 1:
        raise ValueError("alpha = 1: rho is infinite; every other context is the partner's, so the labels decide")
    rho = odds_per_context(alpha, M1)
    at = pattern[..., None] == np.arange(M1)
    plus, minus = (np.sum(at & (y[..., None] == sign), axis=-2) for sign in (1, -1))
    weight = rho ** (plus + minus) * (np.arange(M1) != query[:, None])
    score = np.sum(weight * (plus == 0), axis=-1) - np.sum(weight * (minus == 0), axis=-1)
    own = np.take_along_axis(plus - minus, query[:, None], axis=-1)[:, 0]
    return np.where(own > 0, np.inf, np.where(own < 0, -np.inf, score))


def best_error(l: int, alpha: float, M1: int) -> float:
    """Error of ``best_score``, by exact summation over all prompts without the query's pattern (eq-li-3-2-best-error).

    sum over label counts of (sequences with them) g^l min(S_+, S_-) / (2 (M1 - 1)), g = (1 - alpha)/(2 (M1 - 2)). A pattern
    shows - alone and adds to S_+, or + alone and adds to S_-, or is absent and adds 1 to both, or shows both labels.
    """
    _require(l, alpha)
    if M1 < 3:
        raise ValueError(f"M1 = {M1}: a task needs two patterns and a bystander, so M1 >= 3")
    if alpha == 1:
        return 0.5 * (l == 0)
    rho, g = odds_per_context(alpha, M1), (1 - alpha) / (2 * (M1 - 2))
    alone, risk = _one_label(l, rho, M1 - 1), 0.0
    for j, k in product(range(M1), repeat=2):  # patterns that show - alone, and + alone
        if (rest := M1 - 1 - j - k) >= 0:
            (n_plus, S_plus, plus), (n_minus, S_minus, minus) = alone[j], alone[k]
            left, least = l - np.add.outer(n_plus, n_minus), np.minimum.outer(S_plus, S_minus)
            each = sum(comb(rest, e) * (least + e) * _both_labels(l, rest - e)[left] for e in range(rest + 1))  # e absent
            risk += comb(M1 - 1, j) * comb(M1 - 1 - j, k) * float(plus @ np.where(left < 0, 0.0, each) @ minus)
    return factorial(l) * g**l * risk / (2 * (M1 - 1))


def _one_label(l: int, rho: float, most: int) -> list[tuple[Int[ndarray, "C"], Float[ndarray, "C"], Float[ndarray, "C"]]]:
    """Of 0 .. most patterns with n_i >= 1 contexts, at most l in all: the sums of n_i and of rho^(n_i), and of 1/prod n_i!."""
    sums = [{(0, 0.0): 1.0}]
    for _ in range(most):
        more: dict = {}
        for (used, S), weight in sums[-1].items():
            for n in range(1, l - used + 1):
                key = (used + n, S + rho**n)
                more[key] = more.get(key, 0.0) + weight / factorial(n)
        sums.append(more)
    return [(np.array([n for n, _ in each], int), np.array([S for _, S in each]), np.array([*each.values()])) for each in sums]


@cache
def _both_labels(l: int, m: int) -> Float[ndarray, "{l}+1"]:
    """Ways in which m patterns show both labels in v = 0 .. l contexts, divided by v!: the powers of x in (e^x - 1)^(2m)."""
    ways = np.eye(1, l + 1)[0]
    for _ in range(2 * m):
        ways = np.convolve(ways, [0.0, *(1 / factorial(n) for n in range(1, l + 1))])[: l + 1]
    return ways


def _require(l: int, alpha: float) -> None:
    if l < 0 or not 0 < alpha <= 1:
        raise ValueError(f"l = {l}, alpha = {alpha}: prompts have l >= 0 contexts and a share 0 < alpha <= 1")
