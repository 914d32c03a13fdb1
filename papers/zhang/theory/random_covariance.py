"""Section 4.3: what a model trained on random diagonal covariances predicts, and its error.

Per prompt Lambda = diag(lambda_1 .. lambda_d) with independent entries; distributions enter through their first three moments.
N is the training and M the test prompt length; either may be numpy.inf.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray


class SpectrumMoments(NamedTuple):
    """Moments of the independent variances lambda_i, one entry a coordinate."""

    first: Float[ndarray, "d"]
    """E lambda_i."""
    second: Float[ndarray, "d"]
    """E lambda_i^2."""
    third: Float[ndarray, "d"]
    """E lambda_i^3."""


def exponential_moments(scale: Float[ndarray, "d"]) -> SpectrumMoments:
    """lambda_i = scale_i Exp(1): s, 2 s^2, 6 s^3."""
    return SpectrumMoments(scale, 2 * scale**2, 6 * scale**3)


def uniform_moments(low: Float[ndarray, "d"], high: Float[ndarray, "d"]) -> SpectrumMoments:
    """lambda_i ~ Uniform(low_i, high_i): E lambda^k = (1/(k+1)) sum_j low^j high^(k-j)."""
    second = (low**2 + low * high + high**2) / 3
    return SpectrumMoments((low + high) / 2, second, (low + high) * (low**2 + high**2) / 4)


def fixed_moments(diagonal: Float[ndarray, "d"]) -> SpectrumMoments:
    """lambda_i constant: the setting of Theorem 4.1 with a diagonal covariance."""
    return SpectrumMoments(diagonal, diagonal**2, diagonal**3)


def scaled_moments(moments: SpectrumMoments, c: float) -> SpectrumMoments:
    """Moments of c lambda: c scales the covariance, as in Figure 1 (in section 4.2 it scales the inputs)."""
    return SpectrumMoments(c * moments.first, c**2 * moments.second, c**3 * moments.third)


def xi(moments: SpectrumMoments) -> Float[ndarray, "d"]:
    """xi_i = E lambda_i^2, the diagonal of E[Lambda^2] (Corollary C.2)."""
    return moments.second


def gamma(moments: SpectrumMoments, N: float) -> Float[ndarray, "d"]:
    """gamma_i = E[ (N+1)/N lambda_i^3 + (1/N) lambda_i^2 sum_j lambda_j ] (Corollary C.2).

    The diagonal of E[Gamma Lambda^2].
    """
    first, second, third = moments
    others = first.sum() - first
    return (1 + 1 / N) * third + (third + second * others) / N


def zeta(moments: SpectrumMoments, N: float) -> Float[ndarray, "d d"]:
    """zeta_ij = E[ (N+1)/N lambda_i^2 lambda_j + (1/N) lambda_i lambda_j sum_k lambda_k ] (Corollary C.2).

    zeta_ij = E[Gamma_ii lambda_i lambda_j]; not symmetric. Its diagonal is gamma.
    """
    first, second, _ = moments
    square = np.einsum("i,j->ij", second, first)
    others = first.sum() - first[:, None] - first[None, :]
    cubic = np.einsum("ij->ji", square) + square + np.einsum("i,j->ij", first, first) * others
    off_diagonal = (1 + 1 / N) * square + cubic / N
    return np.where(np.eye(len(first), dtype=bool), np.diag(gamma(moments, N)), off_diagonal)


def A_limit(moments: SpectrumMoments, N: float) -> Float[ndarray, "d d"]:
    """A_* = [E Gamma Lambda^2]^-1 E[Lambda^2] = diag(xi_i / gamma_i) (Theorem 4.5).

    For Exp(1) variances, d = 3 and N = 4: xi = 2 and gamma = (5/4) 6 + (1/4) (6 + 2 * 2) = 10. Endless prompts give 1/3, not 1.
    On spectra of twice the size, at M = 8, the error is 2 - 4 * 4/5 + 8 (6 + 16/8)/25 a dimension:

    >>> import numpy as np
    >>> from papers.zhang.theory.random_covariance import A_limit, error, exponential_A, exponential_error, exponential_moments
    >>> moments = exponential_moments(np.ones(3))
    >>> [np.diag(A_limit(moments, N)).round(4).tolist() for N in (4, np.inf)], round(exponential_A(3, 4), 4)
    ([[0.2, 0.2, 0.2], [0.3333, 0.3333, 0.3333]], 0.2)
    >>> twice = exponential_moments(2 * np.ones(3))
    >>> round(error(A_limit(moments, 4), twice, 8) / 3, 4), round(exponential_error(3, 0.2, 2, 8), 4)
    (1.36, 1.36)
    """
    return np.diag(xi(moments) / gamma(moments, N))


def W_KQ_limit(A: Float[ndarray, "d d"]) -> Float[ndarray, "d+1 d+1"]:
    """W_KQ_* = ||A_*||_F^(-1/2) [[A_*, 0], [0, 0]] (Theorem 4.5)."""
    return np.pad(A / np.linalg.norm(A) ** 0.5, (0, 1))


def W_PV_limit(A: Float[ndarray, "d d"]) -> Float[ndarray, "d+1 d+1"]:
    """W_PV_* = ||A_*||_F^(+1/2) [[0, 0], [0, 1]] (Theorem 4.5)."""
    return np.pad(np.array([[np.linalg.norm(A) ** 0.5]]), (len(A), 0))


def prediction(
    A: Float[ndarray, "d d"], x: Float[ndarray, "... M d"], y: Float[ndarray, "... M"], x_query: Float[ndarray, "... d"]
) -> Float[ndarray, "..."] | float:
    """y_hat = x_query^T A^T (1/M) sum_i y_i x_i, which is x_query^T A_* Lambda_hat w without noise (4.13)."""
    moment = np.einsum("...md,...m->...d", x, y) / x.shape[-2]
    return np.einsum("...e,de,...d->...", x_query, A, moment)


def prediction_limit(
    moments: SpectrumMoments, Lambda_new: Float[ndarray, "d d"], w: Float[ndarray, "d"], x_query: Float[ndarray, "d"]
) -> float:
    """x_query^T [E Lambda^2] [E Lambda^3]^-1 Lambda_new w: the limit N, M -> infinity of (4.13)."""
    return float(x_query @ A_limit(moments, np.inf) @ Lambda_new @ w)


def error(A: Float[ndarray, "d d"], test: SpectrumMoments, M: float) -> float:
    """E(y_hat - y_query)^2 = sum_i E lambda_i - 2 sum_i A_ii xi_i + sum_ij A_ij^2 zeta_ij(M) (derived here).

    For weights A = u_{-1} U_11, test spectrum with moments ``test``, w ~ N(0, I), no noise; y_hat as in ``prediction``.
    """
    return float(test.first.sum() - 2 * np.diag(A) @ xi(test) + np.einsum("ij,ij,ij->", A, A, zeta(test, M)))


def exponential_A(d: int, N):
    """a with A_* = a I for Exp(1) variances: a = 1 / (3 + (d + 5)/N); N a number or an array (derived here)."""
    return 1 / (3 + (d + 5) / N)


def exponential_error(d: int, a, c, M):
    """e(c)/d = c - 4 a c^2 + a^2 c^3 (6 + (2d + 10)/M): weights a I on variances c Exp(1) (derived here).

    a, c and M are numbers or arrays of one shape.
    """
    return c - 4 * a * c**2 + a**2 * c**3 * (6 + (2 * d + 10) / M)


def exponential_posterior_mean(x: Float[ndarray, "..."]) -> Float[ndarray, "..."] | float:
    """E[lambda | x] = 1/2 + |x|/sqrt(2) for lambda ~ Exp(1) and x | lambda ~ N(0, lambda) (derived here)."""
    return 0.5 + np.abs(x) / np.sqrt(2)
