"""Medians over contexts with an interval from order statistics, and how the readings of static patches are stored."""

from math import comb

import numpy as np

PARTS = ("median", "low", "high")


def median_interval(values: np.ndarray) -> np.ndarray:
    """Return median, low and high (3, ...) over the last dimension; low and high enclose that of the distribution in 95 of 100.

    They are the r-th smallest and the r-th largest of n values, r as large as 2 P(Bin(n, 1/2) < r) <= 0.05 allows. This
    holds for every distribution. Raises ValueError for fewer than 6 values, of which no pair does.
    """
    n, r, tail = values.shape[-1], 0, 0
    while 2 * (tail + comb(n, r)) <= 0.05 * 2**n:
        tail, r = tail + comb(n, r), r + 1
    if r == 0:
        raise ValueError(f"an interval for a median needs 6 values or more, not {n}")
    rows = np.sort(values, -1)
    return np.stack([np.median(values, -1), rows[..., r - 1], rows[..., n - r]])


def parts(K: int) -> list[list[int]]:
    """Return K calibration queries in five parts for cross-validation, K parts below five and none for one query."""
    count = min(5, K)
    return [list(range(first, K, count)) for first in range(count)] if K > 1 else []
