"""Section 4.2: the error of the trained model when tasks, queries or covariates are not those of training.

Lambda is the training covariance, (d, d); N the training and M the test prompt length; either may be numpy.inf.
Where a function does not say otherwise, the test context is drawn from N(0, Lambda_test), the query
is independent of it with second moment Q, and y = <w, x>.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.error import LabelLaw, isotropic_shrinkage, noiseless_labels
from papers.zhang.theory.optimum import Gamma, second_moment


def error_of_weights(
    P: Float[ndarray, "d d"], M: float, Q: Float[ndarray, "d d"], Lambda_test: Float[ndarray, "d d"], law: LabelLaw
) -> float:
    """Best linear error + (1/M) tr[Q P Sigma P^T] + ||(P Lambda_test - I) a||_Q^2, for any weights P (derived here).

    y_hat = x_query^T P (1/M) sum y_i x_i; the query, with second moment Q, is independent of the context. Labels that are not
    linear in x need a query that has the distribution of the inputs, Q = Lambda_test.
    """
    off = P @ Lambda_test @ law.a - law.a
    return float(law.best_linear_error + np.trace(Q @ P @ law.Sigma @ P.T) / M + off @ Q @ off)


def averaged_error_of_weights(
    P: Float[ndarray, "d d"], Q: Float[ndarray, "d d"], Lambda_test: Float[ndarray, "d d"], square: Float[ndarray, "d d"]
) -> float:
    """tr Q - 2 tr(Q P Lambda_test) + tr(Q P square P^T), the mean over noiseless labels with w ~ N(0, I) (derived here).

    square = E[Lambda_hat^2] of the context.
    """
    off = P @ Lambda_test - np.eye(len(P))
    return float(np.trace(Q @ off @ off.T) + np.trace(Q @ P @ (square - Lambda_test @ Lambda_test) @ P.T))


def query_shift_error(
    Lambda: Float[ndarray, "d d"], N: float, M: float, Q: Float[ndarray, "d d"], w: Float[ndarray, "d"]
) -> float:
    """(1/M) tr[Q Gamma^-1 Sigma Gamma^-1] + ||(Gamma^-1 Lambda - I) w||_Q^2 with Sigma = Cov(x y) (derived here).

    Equals Theorem 4.2 for noiseless labels when Q = Lambda.
    """
    return shift_error(Lambda, N, M, Lambda, Q, w)


def covariate_shift_error(
    Lambda: Float[ndarray, "d d"], N: float, M: float, Lambda_test: Float[ndarray, "d d"], w: Float[ndarray, "d"]
) -> float:
    """(1/M) tr[Lambda_test Gamma^-1 Sigma_test Gamma^-1] + ||(Gamma^-1 Lambda_test - I) w||_{Lambda_test}^2.

    Context and query are both drawn from N(0, Lambda_test); Gamma is that of training (derived here).
    """
    return shift_error(Lambda, N, M, Lambda_test, Lambda_test, w)


def shift_error(
    Lambda: Float[ndarray, "d d"],
    N: float,
    M: float,
    Lambda_test: Float[ndarray, "d d"],
    Q: Float[ndarray, "d d"],
    w: Float[ndarray, "d"],
) -> float:
    """(1/M) tr[Q Gamma^-1 Sigma_test Gamma^-1] + ||(Gamma^-1 Lambda_test - I) w||_Q^2 (derived here).

    Sigma_test = ||w||_{Lambda_test}^2 Lambda_test + Lambda_test w w^T Lambda_test.

    Here Gamma = 2 I, Sigma_test = diag(128, 64) and Gamma^-1 Lambda_test = 2 I: (1/5) 3 (192/4) + 3 |w|^2. With endless
    prompts, inputs scaled by c = 2 leave c^2 (c^2 - 1)^2 |w|^2 = 4 * 9 * 4:

    >>> import numpy as np
    >>> from papers.zhang.theory.shifts import covariate_shift_error, scaling_limit, shift_error
    >>> I, w = np.eye(2), np.array([2.0, 0.0])
    >>> round(shift_error(I, 3, 5, 4 * I, 3 * I, w), 4)
    40.8
    >>> round(covariate_shift_error(I, np.inf, np.inf, 4 * I, w), 4), round(scaling_limit(I, 2.0, w), 4)
    (144.0, 144.0)
    """
    return error_of_weights(np.linalg.inv(Gamma(Lambda, N)), M, Q, Lambda_test, noiseless_labels(Lambda_test, w))


def averaged_shift_error(
    Lambda: Float[ndarray, "d d"], N: float, M: float, Lambda_test: Float[ndarray, "d d"], Q: Float[ndarray, "d d"]
) -> float:
    """tr Q - 2 tr(Q Gamma^-1 Lambda_test) + tr(Q Gamma^-1 E[Lambda_hat^2] Gamma^-1), the mean over w ~ N(0, I).

    Lambda_hat = (1/M) sum x_i x_i^T with x_i ~ N(0, Lambda_test) (derived here).
    """
    return averaged_error_of_weights(np.linalg.inv(Gamma(Lambda, N)), Q, Lambda_test, second_moment(Lambda_test, M))


def covariate_shift_limit(Lambda: Float[ndarray, "d d"], Lambda_test: Float[ndarray, "d d"], w: Float[ndarray, "d"]) -> float:
    """||(Lambda^-1 Lambda_test - I) w||_{Lambda_test}^2: the error left as N, M -> infinity (derived here)."""
    off = np.linalg.solve(Lambda, Lambda_test @ w) - w
    return float(off @ Lambda_test @ off)


def scaling_limit(Lambda: Float[ndarray, "d d"], c: float, w: Float[ndarray, "d"]) -> float:
    """c^2 (c^2 - 1)^2 ||w||_Lambda^2, the limit for inputs scaled by c.

    There y_hat -> c^2 <w, x_query> (section 4.2) and x_query has covariance c^2 Lambda (derived here).
    """
    return float(c**2 * (c**2 - 1) ** 2 * (w @ Lambda @ w))


def noisy_context_error(Lambda: Float[ndarray, "d d"], N: float, M: float, noise_sd: float) -> float:
    """(noise_sd^2 / M) tr[Lambda Gamma^-1 Lambda Gamma^-1]: what label noise in the context adds to the error.

    The noise of the query's own label is not counted (derived here).
    """
    weighted = Lambda @ np.linalg.inv(Gamma(Lambda, N))
    return float(noise_sd**2 / M * np.trace(weighted @ weighted))


def repeated_query_error(d: int, N: float, M: float) -> float:
    """E(y_hat - y_query)^2 / d at Lambda = I when the query copies x_1, averaged over w ~ N(0, I).

    It is (1/d) E||((a r/M) - 1) x_1 + (a/M) S x_1||^2 with a = 1/(1 + (d+1)/N), r = ||x_1||^2, S = sum_{i>=2} x_i x_i^T
    and E||S x_1||^2 = (M-1)(M+d) E r (derived here).
    """
    a = isotropic_shrinkage(d, N)
    r, r2, r3 = d, d * (d + 2), d * (d + 2) * (d + 4)
    own = (a / M) ** 2 * r3 - 2 * a / M * r2 + r
    cross = 2 * a * (1 - 1 / M) * (a / M * r2 - r)
    return (own + cross + a**2 * (1 - 1 / M) * (1 + d / M) * r) / d


def orthant_error(d: int, N: float, M: float) -> float:
    """1 - 2a + a^2 [(d+2)/M + (1 - 1/M)(1 + 4(d-1)/pi^2)] at Lambda = I, the error divided by d.

    The context is N(0, I) folded into one orthant, the query into an independent one, w ~ N(0, I) (derived here).
    """
    a = isotropic_shrinkage(d, N)
    return 1 - 2 * a + a**2 * ((d + 2) / M + (1 - 1 / M) * (1 + 4 * (d - 1) / np.pi**2))
