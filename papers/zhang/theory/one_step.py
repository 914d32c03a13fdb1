"""Footnote 2: one plain gradient step from w = 0, with the same scalar step size for every task.

Lambda is the covariance, (d, d); M the prompt length, which may be numpy.inf. The step on
(1/2M) sum (<w, x_i> - y_i)^2 gives w_hat = step_size Lambda_hat w, so y_hat = step_size x_query^T Lambda_hat w.
The footnote states this prediction; the errors are derived here.

At Lambda = diag(2, 4) and M = 2, Gamma_M = diag(6, 9): the best step is 20/168 and its risk 6 - 20^2/168. Endless prompts
leave the floor, 6 - 20^2/72:

>>> import numpy as np
>>> from papers.zhang.theory.one_step import best_step_size, relative_floor, risk
>>> Lambda = np.diag([2.0, 4.0])
>>> steps = {M: best_step_size(Lambda, M) for M in (2, np.inf)}
>>> round(steps[2], 4), [round(risk(Lambda, M, step), 4) for M, step in steps.items()], round(6 * relative_floor(Lambda), 4)
(0.119, [3.619, 0.4444], 0.4444)
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.optimum import Gamma


def risk(Lambda: Float[ndarray, "d d"], M: float, step_size: float) -> float:
    """E(y_hat - y_query)^2 = tr Lambda - 2 step_size tr(Lambda^2) + step_size^2 tr(Gamma_M Lambda^2).

    Averaged over w ~ N(0, I), context and query; Gamma_M has M in place of N (derived here).
    """
    square = Lambda @ Lambda
    quadratic = np.trace(Gamma(Lambda, M) @ square)
    return float(np.trace(Lambda) - 2 * step_size * np.trace(square) + step_size**2 * quadratic)


def best_step_size(Lambda: Float[ndarray, "d d"], M: float) -> float:
    """step_size* = tr(Lambda^2) / tr(Gamma_M Lambda^2), where ``risk`` is least (derived here)."""
    square = Lambda @ Lambda
    return float(np.trace(square) / np.trace(Gamma(Lambda, M) @ square))


def relative_floor(Lambda: Float[ndarray, "d d"]) -> float:
    """1 - tr(Lambda^2)^2 / (tr(Lambda) tr(Lambda^3)): the least risk / tr Lambda as M -> infinity (derived here).

    Zero, for a positive definite Lambda, exactly when it is a multiple of I, by Cauchy-Schwarz.
    """
    square = Lambda @ Lambda
    return max(0.0, float(1 - np.trace(square) ** 2 / (np.trace(Lambda) * np.trace(square @ Lambda))))
