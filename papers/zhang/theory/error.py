"""Theorem 4.2 and Corollary 4.3: the error of the trained model on new tasks, at test prompt length M.

Lambda is the covariance, (d, d); N the training and M the test prompt length; either may be numpy.inf.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Real
from numpy import ndarray

from papers.zhang.theory.optimum import Gamma


class LabelLaw(NamedTuple):
    """What Theorem 4.2 needs to know of the test distribution of (x, y)."""

    a: Float[ndarray, "d"]
    """Lambda^-1 E[x y], the best linear predictor."""
    Sigma: Float[ndarray, "d d"]
    """Cov(x y)."""
    best_linear_error: float
    """min_w E(<w, x> - y)^2."""


class ErrorTerms(NamedTuple):
    """The three terms of Theorem 4.2; their sum is E(y_hat - y_query)^2."""

    best_linear: float
    variance: float
    bias: float


def noiseless_labels(Lambda: Float[ndarray, "d d"], w: Float[ndarray, "d"]) -> LabelLaw:
    """y = <w, x>, x ~ N(0, Lambda): a = w, Sigma = ||w||_Lambda^2 Lambda + Lambda w w^T Lambda, no error left (section 4.1)."""
    v = Lambda @ w
    return LabelLaw(w, w @ v * Lambda + np.outer(v, v), 0.0)


def noisy_labels(Lambda: Float[ndarray, "d d"], w: Float[ndarray, "d"], noise_sd: float) -> LabelLaw:
    """y = <w, x> + noise_sd N(0, 1): Sigma gains noise_sd^2 Lambda, best linear error noise_sd^2 (derived here)."""
    clean = noiseless_labels(Lambda, w)
    return LabelLaw(w, clean.Sigma + noise_sd**2 * Lambda, noise_sd**2)


def cubic_labels(Lambda: Float[ndarray, "d d"], v: Float[ndarray, "d"]) -> LabelLaw:
    """y = <v, x>^3 with q2 = v^T Lambda v (derived here from Gaussian moments up to order 8).

    a = 3 q2 v; Sigma = 15 q2^3 Lambda + 81 q2^2 Lambda v v^T Lambda; best linear error 6 q2^3.
    """
    u = Lambda @ v
    q2 = float(v @ u)
    return LabelLaw(3 * q2 * v, 15 * q2**3 * Lambda + 81 * q2**2 * np.outer(u, u), 6 * q2**3)


def bias(Lambda: Float[ndarray, "d d"], N: float, a: Float[ndarray, "d"]) -> float:
    """(1/N^2) ||a||^2 in the metric Gamma^-2 (Lambda^3 + 2 tr(Lambda) Lambda^2 + tr(Lambda)^2 Lambda).

    The third term of Theorem 4.2 as printed; it equals ||(I - Gamma^-1 Lambda) a||_Lambda^2.
    """
    inverse, trace = np.linalg.inv(Gamma(Lambda, N)), np.trace(Lambda)
    weight = Lambda @ Lambda @ Lambda + 2 * trace * Lambda @ Lambda + trace**2 * Lambda
    return float(a @ inverse @ inverse @ weight @ a) / float(N) ** 2


def error_terms(Lambda: Float[ndarray, "d d"], N: float, M: float, law: LabelLaw) -> ErrorTerms:
    """E(y_hat - y_query)^2 = min_w E(<w, x> - y)^2 + (1/M) tr[Sigma Gamma^-2 Lambda] + bias (Theorem 4.2).

    At Lambda = 2 I, d = 2 and N = 3 it is Gamma = 4 I. Noise 2 and w = (1, 0) give Sigma = diag(16, 12), hence (1/5) 28 (2/16),
    and half of w is missing, hence 2 (1/4):

    >>> import numpy as np
    >>> from papers.zhang.theory.error import error_terms, noisy_labels
    >>> law = noisy_labels(2 * np.eye(2), np.array([1.0, 0.0]), noise_sd=2.0)
    >>> [round(term, 4) for term in error_terms(2 * np.eye(2), 3, 5, law)]
    [4.0, 0.7, 0.5]
    """
    inverse = np.linalg.inv(Gamma(Lambda, N))
    variance = float(np.trace(law.Sigma @ inverse @ inverse @ Lambda)) / M
    return ErrorTerms(law.best_linear_error, variance, bias(Lambda, N, law.a))


def averaged_error(
    Lambda: Float[ndarray, "d d"], N: float | Real[ndarray, "..."], M: float | Real[ndarray, "..."]
) -> float | Float[ndarray, "..."]:
    """e(N, M) = tr Lambda - 2 tr(Lambda^2 Gamma_N^-1) + tr(Gamma_M Lambda^2 Gamma_N^-2).

    Theorem 4.2 for noiseless labels, averaged over w ~ N(0, I) (derived here). Its variance is tr[E Lambda^2 Gamma_N^-2]/M and
    its bias tr[E^2 Lambda Gamma_N^-2]/N^2 with E = Lambda + tr(Lambda) I: their sum has no difference of large terms.
    """
    inverse = np.linalg.inv(Gamma(Lambda, np.asarray(N)[..., None, None]))
    excess = Lambda + np.trace(Lambda) * np.eye(len(Lambda))
    variance = np.einsum("...ij,...ji->...", excess @ Lambda @ Lambda, inverse @ inverse)
    bias = np.einsum("...ij,...ji->...", excess @ excess @ Lambda, inverse @ inverse)
    return variance / M + bias / np.asarray(N, float) ** 2


def isotropic_shrinkage(d: int, N: float) -> float:
    """a = 1 / (1 + (d + 1)/N): at Lambda = I, y_hat = a x_query^T (1/M) sum y_i x_i (Theorem 4.1)."""
    return 1 / (1 + (d + 1) / N)


def isotropic_error(d: int, N: float, M: float) -> float:
    """e(N, M)/d = (1 - a)^2 + a^2 (d + 1)/M at Lambda = I, with a the shrinkage (derived here)."""
    a = isotropic_shrinkage(d, N)
    return (1 - a) ** 2 + a**2 * (d + 1) / M


def isotropic_large_d(nu, mu):
    """e/d -> (nu^2 + mu)/(1 + nu)^2 as d grows with d/N = nu and d/M = mu fixed (Lu et al. 2025, derived here).

    Their asymptotic error without label noise, for unlimited pretraining data and task diversity; it is the isotropic
    error with d in the place of d + 1. The two differ by (2 nu^2 + mu (1 - nu)) / ((1 + nu)^3 d) + O(1/d^2).
    """
    return (nu**2 + mu) / (1 + nu) ** 2


def averaged_bound(Lambda: Float[ndarray, "d d"], N: float, M: float) -> float:
    """(d+1) tr(Lambda)/M + (1 + 2d + d^2 kappa) tr(Lambda)/N^2 >= e(N, M) (section 4.1, below Theorem 4.2)."""
    return (len(Lambda) + 1) * float(np.trace(Lambda)) / M + eta(Lambda, N)


def eta(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """eta = (1 + 2d + d^2 kappa) tr(Lambda)/N^2 >= e(N, inf), the bound of Corollary 4.3.

    kappa is the condition number.
    """
    d = len(Lambda)
    return float((1 + 2 * d + d**2 * np.linalg.cond(Lambda)) * np.trace(Lambda) / float(N) ** 2)


def sufficient_test_length(Lambda: Float[ndarray, "d d"], epsilon: float) -> float:
    """M(epsilon) = (d + 1) tr(Lambda)/epsilon: from here on the error is at most eta + epsilon (Corollary 4.3)."""
    return (len(Lambda) + 1) * float(np.trace(Lambda)) / epsilon
