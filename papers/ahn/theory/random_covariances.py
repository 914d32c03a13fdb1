"""Layers on prompts with a covariance of their own: Lambda diagonal with independent Exp(1) entries, x ~ N(0, Lambda).

What counts is E tr(Lambda P(S)^2), so the moments are those of S weighted by Lambda, m_k = E tr(Lambda S^k)/d. At d = 1 they
are E lambda^(k+1) times the moments of a chi square over N; at N = 1, 1, 2 * 1 and 6 * 3:

>>> from papers.ahn.theory import random_covariances as random
>>> [int(each) for each in random.moments(1, 1, 2)], [int(each) for each in random.limit_moments(3)]
([1, 2, 18], [1, 2, 6, 24])
>>> [random.limit_error(k) == each for k, each in ((1, 1 / 3), (2, 1 / 6), (3, 1 / 10))]
[True, True, True]
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from math import factorial

Word = str
"""A cyclic product under a trace, such as "lWlW": l is Lambda, W = N S."""


@cache
def moments(d: int, N: int, most: int) -> tuple[Fraction, ...]:
    """m_k = E tr(Lambda S^k)/d for k = 0, ..., most (eq-ahn-weighted), by the recursion of ``wishart`` with Lambda between."""
    found = []
    for k in range(most + 1):
        powers = _gaussian(("l" + "W" * k,), N)
        found.append(Fraction(sum(count * _over_variances(each, d) for each, count in powers.items()), d * N**k))
    return tuple(found)


def limit_moments(most: int) -> tuple[Fraction, ...]:
    """m_k = (k + 1)!, the moments of lambda e^-lambda: S = Lambda as N -> infinity (eq-ahn-laguerre)."""
    return tuple(Fraction(factorial(k + 1)) for k in range(most + 1))


def limit_error(k: int) -> float:
    """2/((k + 1)(k + 2)), what k layers leave of the labels' variance as N -> infinity (eq-ahn-random)."""
    return 2 / ((k + 1) * (k + 2))


def _standard(words: list[Word]) -> tuple[Word, ...]:
    """Return traces in an order of their own: a trace is the same turned round or read backwards."""
    turned = ([each[k:] + each[:k] for k in range(len(each))] for each in words)
    return tuple(sorted(min([*each, *(one[::-1] for one in each)]) for each in turned))


@cache
def _gaussian(words: tuple[Word, ...], N: int) -> Counter:
    """E over x of a product of traces, as a sum of products of tr Lambda^j, told by the powers j.

    One X of a W meets each other X: with A the rest of its trace, tr(W A) gives N tr(l A); each W in A = B W C gives
    tr(W B) tr(l C) and tr(B l C' W), C' backwards; each W of another trace tr(W D) gives tr(W A l D) and
    tr(W A l D').
    """
    place = next((k for k, each in enumerate(words) if "W" in each), None)
    if place is None:
        return Counter({tuple(sorted(map(len, words))): 1})
    word, others = words[place], [each for k, each in enumerate(words) if k != place]
    start = word.index("W")
    A = word[start + 1 :] + word[:start]
    terms = [(N, ["l" + A, *others])]
    for k in (k for k, letter in enumerate(A) if letter == "W"):
        B, C = A[:k], A[k + 1 :]
        terms += [(1, ["W" + B, "l" + C, *others]), (1, [B + "l" + C[::-1] + "W", *others])]
    for k, other in enumerate(others):
        left = [each for j, each in enumerate(others) if j != k]
        for j in (j for j, letter in enumerate(other) if letter == "W"):
            D = other[j + 1 :] + other[:j]
            terms += [(1, ["W" + A + "l" + D, *left]), (1, ["W" + A + "l" + D[::-1], *left])]
    found = Counter()
    for count, each in terms:
        for powers, more in _gaussian(_standard(each), N).items():
            found[powers] += count * more
    return found


@cache
def _over_variances(powers: tuple[int, ...], d: int, used: int = 0) -> int:
    """E prod_j tr Lambda^j over Exp(1) entries: the first power's entry is shared with some of the others, or its own.

    sum over partitions of the powers into groups of d (d - 1) ... times the factorials of the groups' sums.
    """
    if not powers:
        return 1
    first, rest = powers[0], powers[1:]
    total = 0
    for chosen in range(2 ** len(rest)):
        group = [each for k, each in enumerate(rest) if chosen >> k & 1]
        left = tuple(each for k, each in enumerate(rest) if not chosen >> k & 1)
        total += (d - used) * factorial(first + sum(group)) * _over_variances(left, d, used + 1)
    return total
