"""Appendix C: gradient flow under random covariances, its loss, its lower bound and its PL constant.

U is U_11 = W_KQ's top-left block, (d, d); u is u_{-1} = W_PV's last entry; u_12 = u_21 = 0 throughout.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory.loss import require_unit
from papers.zhang.theory.optimum import Gamma


class Flow(NamedTuple):
    """A velocity, or a gradient, of the live parameters."""

    U: Float[ndarray, "d d"]
    u: float


def lemma_C1(U: Float[ndarray, "d d"], u: float, covariances: Float[ndarray, "S d d"], N: float) -> Flow:
    """The flow for any distribution of Lambda, here S equally likely covariances (Lemma C.1).

    dU/dt = -u^2 E[Gamma Lambda U Lambda] + u E[Lambda^2];
    du/dt = -u tr E[Gamma Lambda U Lambda U^T] + tr(E[Lambda^2] U^T).
    """
    trace = np.einsum("sii->s", covariances)
    square = np.einsum("sij,sjk->sik", covariances, covariances)
    GammaLambda = (1 + 1 / N) * square + trace[:, None, None] / N * covariances
    quartic = np.einsum("sij,jk,skl->il", GammaLambda, U, covariances, optimize=True) / len(covariances)
    second = square.mean(axis=0)
    return Flow(-(u**2) * quartic + u * second, float(-u * np.sum(quartic * U) + np.sum(second * U)))


def corollary_C2(U: Float[ndarray, "d d"], u: float, xi: Float[ndarray, "d"], zeta: Float[ndarray, "d d"]) -> Flow:
    """The flow for diagonal covariances, with gamma on the diagonal of zeta (Corollary C.2).

    du_ii/dt = -gamma_i u^2 u_ii + xi_i u;   du_ij/dt = -zeta_ij u^2 u_ij for i != j;
    du/dt = -sum_i gamma_i u u_ii^2 - sum_{i != j} zeta_ij u u_ij^2 + sum_i xi_i u_ii.
    """
    return Flow(-zeta * u**2 * U + np.diag(xi) * u, float(-np.sum(zeta * u * U**2) + np.sum(xi * np.diag(U))))


def reduced_loss(U: Float[ndarray, "d d"], u: float, xi: Float[ndarray, "d"], zeta: Float[ndarray, "d d"]) -> float:
    """l_rdm = (u^2/2) sum_ij zeta_ij u_ij^2 - u sum_i xi_i u_ii (Appendix C.2); L = l_rdm + (1/2) sum_i E lambda_i."""
    return float(0.5 * u**2 * np.sum(zeta * U**2) - u * xi @ np.diag(U))


def reduced_minimum(xi: Float[ndarray, "d"], gamma: Float[ndarray, "d"]) -> float:
    """min l_rdm = -(1/2) sum_i xi_i^2 / gamma_i, at u u_ij = 1_{i=j} xi_i / gamma_i (Lemma C.4)."""
    return -0.5 * float(np.sum(xi**2 / gamma))


def u_limit(xi: Float[ndarray, "d"], gamma: Float[ndarray, "d"]) -> float:
    """lim u_{-1} = [ sum_i xi_i^2 / gamma_i^2 ]^(1/4) (C.17) = ||A_*||_F^(1/2)."""
    return float(np.sum((xi / gamma) ** 2) ** 0.25)


def u_limit_as_printed(xi: Float[ndarray, "d"], gamma: Float[ndarray, "d"]) -> float:
    """[ sum_i xi_i / gamma_i ]^(1/4): (C.15) without the squares, as far as the copy we read shows; wrong."""
    return float(np.sum(xi / gamma) ** 0.25)


def product_limit(covariances: Float[ndarray, "S d d"], N: float) -> Float[ndarray, "d d"]:
    """A with E[Gamma Lambda A Lambda] = E[Lambda^2]: the limit of u U where the flow converges to a minimum (derived here).

    Lambda is each of S covariances with the same probability.

    For diag(1, 2) and diag(3, 2) at N = 4, Gamma is diag(2, 3.25) and diag(5, 3.75), so A = diag(10/(2 + 45), 8/(13 + 15)), and
    the flow rests there:

    >>> import numpy as np
    >>> from papers.zhang.theory.random_covariance_flow import lemma_C1, product_limit, u_limit
    >>> covariances = np.array([np.diag([1.0, 2.0]), np.diag([3.0, 2.0])])
    >>> A, u = product_limit(covariances, 4), u_limit(np.array([5.0, 4.0]), np.array([23.5, 14.0]))
    >>> np.diag(A).round(4).tolist(), all(np.allclose(part, 0) for part in lemma_C1(A / u, u, covariances, 4))
    ([0.2128, 0.2857], True)
    >>> bool(np.isclose(np.linalg.norm(A / u), u))  # balanced
    True
    """
    d = covariances.shape[-1]
    quadratic, second = np.zeros((d, d, d, d)), np.zeros((d, d))
    for Lambda in covariances:
        quadratic += np.einsum("ij,kl->iljk", Gamma(Lambda, N) @ Lambda, Lambda) / len(covariances)
        second += Lambda @ Lambda / len(covariances)
    return np.linalg.solve(quadratic.reshape(d * d, d * d), second.reshape(d * d)).reshape(d, d)


# --- the conditions of Theorem 4.5; spectra are equally likely draws of (lambda_1 .. lambda_d) ---------------------


def initial_pull(Theta: Float[ndarray, "d d"], spectra: Float[ndarray, "S d"]) -> float:
    """||E[Lambda] Theta||_F^2, which Theorem 4.5 asks to differ from 0."""
    return float(np.sum((spectra.mean(axis=0)[:, None] * Theta) ** 2))


def initial_drag(spectra: Float[ndarray, "S d"], N: float) -> float:
    """E[ ||Gamma||_op ||Lambda||_F^2 ]; ||Gamma||_op = (1 + 1/N) max_i lambda_i + (1/N) sum_i lambda_i."""
    Gamma_norm = (1 + 1 / N) * spectra.max(axis=1) + spectra.sum(axis=1) / N
    return float(np.mean(Gamma_norm * np.sum(spectra**2, axis=1)))


def sigma_squared_bound(Theta: Float[ndarray, "d d"], spectra: Float[ndarray, "S d"], N: float) -> float:
    """sigma^2 < 2 ||E[Lambda] Theta||_F^2 / ( sqrt(d) E[ ||Gamma||_op ||Lambda||_F^2 ] ) (Theorem 4.5).

    Raises ValueError unless ||Theta Theta^T||_F = 1.
    """
    require_unit(Theta @ Theta.T)
    return 2 * initial_pull(Theta, spectra) / (len(Theta) ** 0.5 * initial_drag(spectra, N))


def u_lower_bound(Theta: Float[ndarray, "d d"], sigma: float, spectra: Float[ndarray, "S d"], N: float) -> float:
    """u_{-1}(t) >= sqrt( sigma^2 / (2 sqrt(d) ||E Lambda^2||_op) * bracket ) for all t (Lemma C.7).

    bracket = 2 ||E[Lambda] Theta||_F^2 - sqrt(d) sigma^2 E[ ||Gamma||_op ||Lambda||_F^2 ] must be positive. Raises ValueError
    where it is not, and unless ||Theta Theta^T||_F = 1.
    """
    require_unit(Theta @ Theta.T)
    root_d = len(Theta) ** 0.5
    bracket = 2 * initial_pull(Theta, spectra) - root_d * sigma**2 * initial_drag(spectra, N)
    if bracket <= 0:
        raise ValueError(f"Lemma C.7 needs sigma^2 below the bound of Theorem 4.5: sigma={sigma:.3g} is too large")
    return float(np.sqrt(sigma**2 * bracket / (2 * root_d * np.mean(spectra**2, axis=0).max())))


def pl_constant(lower_bound: float, zeta: Float[ndarray, "d d"]) -> float:
    """nu = 2 eta u_low^2 with eta = min_ij zeta_ij and u_low the bound of Lemma C.7 (Lemma C.8; constant derived here).

    Then ||grad l_rdm||^2 >= nu (l_rdm - min l_rdm) along the flow.
    """
    return 2 * float(zeta.min()) * lower_bound**2


# --- every sigma --------------------------------------------------------------------------------------------------


def u_ceiling(xi: Float[ndarray, "d"], zeta: Float[ndarray, "d d"], start_gap: float) -> float:
    """u_{-1}(t)^2 <= ||A_*||_F + sqrt(2 gap(0)/eta), square-rooted; eta = min_ij zeta_ij, gap = l_rdm - min l_rdm.

    On a balanced flow u_{-1}^2 = ||u_{-1} U_11||_F, and the gap, at least (eta/2) ||u_{-1} U_11 - A_*||_F^2, only falls
    (derived here).
    """
    A = np.linalg.norm(xi / np.diag(zeta))
    return float(np.sqrt(A + np.sqrt(2 * start_gap / zeta.min())))


def u_lower_bound_any_sigma(
    Theta: Float[ndarray, "d d"], sigma: float, xi: Float[ndarray, "d"], zeta: Float[ndarray, "d d"], start_gap: float
) -> float:
    """[sum_i min(sigma theta_i, xi_i/(c gamma_i))^2]^1/2 <= u_{-1}(t), for every sigma > 0 (derived here).

    theta is the diagonal of Theta Theta^T, ||Theta Theta^T||_F = 1 as in the theorem, and c the ceiling of u_{-1}: u_ii rises
    whenever it is below xi_i/(c gamma_i).
    """
    require_unit(Theta @ Theta.T)
    theta, c = np.sum(Theta**2, axis=1), u_ceiling(xi, zeta, start_gap)
    return float(np.linalg.norm(np.minimum(sigma * theta, xi / (c * np.diag(zeta)))))
