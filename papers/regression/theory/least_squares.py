"""The error of least squares by the number of examples."""

import numpy as np


def least_squares_error(d: int, M: int, noise_sd: float) -> float:
    """Error/d of minimum-norm least squares at covariance I, w ~ N(0, I), against the clean target; d >= 1, M >= 0.

    max(0, 1 - M/d), plus noise_sd^2/(M-d-1) for M > d+1 and noise_sd^2 (M/d)/(d-M-1) for M < d-1, by the mean of the
    inverse Wishart distribution; with noise the error has no finite mean for |M - d| <= 1, but for M = 0, where it is 1.

    At d = 5 and noise 2: 3/5 + 4 (2/5)/(5 - 2 - 1) with 2 examples, no mean with 6, and 4/(10 - 5 - 1) with 10:

    >>> from papers.regression.theory.least_squares import least_squares_error
    >>> [round(least_squares_error(5, M, noise_sd=2.0), 4) for M in (2, 6, 10)]
    [1.4, inf, 1.0]
    """
    unseen = max(0.0, 1 - M / d)
    if noise_sd == 0 or M == 0:
        return unseen
    if abs(M - d) <= 1:
        return np.inf
    amplification = 1 / (M - d - 1) if d < M else M / d / (d - M - 1)
    return unseen + noise_sd**2 * amplification
