"""One convex function of the context: what softmax attention, its small logits and its best single patch have in common.

A context of N tokens z_i has the log-partition function Phi_C(k) = log((1/N) sum_i exp(<k, z_i>)). With the tokens 1 and -1
it is log cosh k, with the slope tanh k and the curvature 1 - tanh^2 k:

>>> import numpy as np
>>> from papers.lenses.theory import one_function
>>> z, k = np.array([[1.0], [-1.0]]), np.array([0.5])
>>> round(float(one_function.slope(k, z)[0]), 6), round(float(np.tanh(0.5)), 6)
(0.462117, 0.462117)
>>> round(float(one_function.curvature(k, z)[0, 0]), 6), round(float(1 - np.tanh(0.5) ** 2), 6)
(0.786448, 0.786448)
"""

from itertools import product
from math import comb, factorial

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import roots_jacobi

NODES = 40
"""Nodes of the one-dimensional quadratures."""


def log_partition(k: Float[ndarray, "*B D"], z: Float[ndarray, "N D"]) -> Float[ndarray, "*B"] | float:
    """Phi_C(k) = log((1/N) sum_i exp(<k, z_i>)) (eq-lenses-3-partition)."""
    logits = k @ z.T
    top = logits.max(-1)
    return top + np.log(np.exp(logits - top[..., None]).mean(-1))


def attention(k: Float[ndarray, "*B D"], z: Float[ndarray, "N D"]) -> Float[ndarray, "*B N"]:
    """attn_i = exp(<k, z_i>) / sum_j exp(<k, z_j>) (eq-lenses-3-attention)."""
    logits = k @ z.T
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def slope(k: Float[ndarray, "*B D"], z: Float[ndarray, "N D"]) -> Float[ndarray, "*B D"]:
    """grad Phi_C(k) = sum_i attn_i z_i: what softmax attention with the values z_i gives (eq-lenses-3-slope)."""
    return attention(k, z) @ z


def curvature(k: Float[ndarray, "D"], z: Float[ndarray, "N D"]) -> Float[ndarray, "D D"]:
    """The Hessian of Phi_C at k: the covariance of the tokens under the attention (eq-lenses-3-curvature)."""
    weights = attention(k, z)
    centred = z - weights @ z
    return centred.T @ (weights[:, None] * centred)


# --- small logits ---------------------------------------------------------------------------------------------------


def cumulants(v: Float[ndarray, "N o"], s: Float[ndarray, "N"], terms: int) -> Float[ndarray, "n o"]:
    """kappa(v, s, .., s) with s taken n = 0 .. terms - 1 times: the derivatives of attention at 0 (eq-lenses-3-cumulants).

    From A Z = M, Z = E[e^(eps s)], M = E[v e^(eps s)]: kappa_n = E[v s^n] - sum_(j=1)^n C(n, j) E[s^j] kappa_(n-j).
    """
    found = []
    for n, moment in enumerate(raw_moments(v, s, terms)):
        found.append(moment - sum(comb(n, j) * (s**j).mean() * found[n - j] for j in range(1, n + 1)))
    return np.array(found)


def raw_moments(v: Float[ndarray, "N o"], s: Float[ndarray, "N"], terms: int) -> Float[ndarray, "n o"]:
    """E[v s^n] over the tokens, n = 0 .. terms - 1: what would stand in the series if the weights were not normalised."""
    return np.array([(v * s[:, None] ** n).mean(0) for n in range(terms)])


def central_moments(v: Float[ndarray, "N o"], s: Float[ndarray, "N"], terms: int) -> Float[ndarray, "n o"]:
    """The mean of v, then E[(v - mean) (s - mean)^n]: equal to the cumulants up to n = 2, and not from n = 3 on."""
    return np.concatenate([v.mean(0)[None], raw_moments(v - v.mean(0), s - s.mean(), terms)[1:]])


def partial_sum(coefficients: Float[ndarray, "n o"], eps: float) -> Float[ndarray, "o"]:
    """sum_n eps^n/n! kappa_n (eq-lenses-3-series)."""
    return sum(eps**n / factorial(n) * each for n, each in enumerate(coefficients))


# --- one patch for Gaussian queries ---------------------------------------------------------------------------------


def mean_curvature(K: Float[ndarray, "D d"], z: Float[ndarray, "N D"]) -> Float[ndarray, "D D"]:
    """E[Hessian of Phi_C at K q] over q ~ N(0, I), by Gauss and Hermite (eq-lenses-3-mean-curvature).

    At 40^d points less those of no weight: for a d of 1, 2 or 3 and queries that many tokens share. Two tokens, z = 1 and -1,
    have it to 1e-6 at K = 1, and at K = 3 to 4% only.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights, found = weights / weights.sum(), 0.0
    for places in product(range(NODES), repeat=K.shape[1]):
        share = weights[list(places)].prod()
        if share > 1e-18:
            found = found + share * curvature(K @ nodes[list(places)], z)
    return found


def mean_curvature_on_sphere(K: Float[ndarray, "D d"], z: Float[ndarray, "N D"]) -> Float[ndarray, "D D"]:
    """The same over |q|^2 = d, uniform on the sphere: a near miss of ``mean_curvature``."""
    points, weights = sphere(K.shape[1], K.shape[1] ** 0.5, NODES)
    return sum(share * curvature(K @ q, z) for share, q in zip(weights, points, strict=True))


def averaged_first(K: Float[ndarray, "D d"], z: Float[ndarray, "N D"]) -> Float[ndarray, "D D"]:
    """The covariance of the tokens under the mean attention over q ~ N(0, I): a near miss of ``mean_curvature``; d <= 3."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    places = np.array([*product(range(NODES), repeat=K.shape[1])])
    shares = (weights / weights.sum())[places].prod(-1)
    mean = shares @ attention(nodes[places] @ K.T, z)
    return z.T @ (mean[:, None] * z) - np.outer(mean @ z, mean @ z)


# --- which tokens one patch serves ----------------------------------------------------------------------------------


def sphere(d: int, radius: float, nodes: int) -> tuple[Float[ndarray, "n d"], Float[ndarray, "n"]]:
    """Points and weights that integrate polynomials of degree 2 nodes - 1 over the uniform sphere exactly.

    On the circle evenly spaced; above, one coordinate by Gauss for the weight (1 - t^2)^((d-3)/2), the others by recursion.
    """
    if d == 1:
        return np.array([[radius], [-radius]]), np.array([0.5, 0.5])
    if d == 2:
        angle = 2 * np.pi * (np.arange(2 * nodes) + 0.5) / (2 * nodes)
        return radius * np.c_[np.cos(angle), np.sin(angle)], np.full(2 * nodes, 0.5 / nodes)
    n, a = np.arange(1, nodes), (d - 2) / 2
    beside = np.sqrt(n * (n + 2 * a - 1) / (4 * (n + a) * (n + a - 1)))
    t, basis = np.linalg.eigh(np.diag(beside, 1) + np.diag(beside, -1))
    below, weights = sphere(d - 1, 1.0, nodes)
    points = [np.c_[np.full(len(below), each), np.sqrt(1 - each**2) * below] for each in t]
    return radius * np.concatenate(points), np.concatenate([first**2 * weights for first in basis[0]])


def gaussian_kernel(u: Float[ndarray, "*B"], d: int) -> Float[ndarray, "*B"] | float:
    """R(u) = e^u (d + u), lim N tr Cov of the outputs at two queries, u = eps^2 <q, q'> (eq-lenses-3-kernel)."""
    return np.exp(u) * (d + u)


def gaussian_left(d: int, x: float, kernel=gaussian_kernel) -> float:
    """lim N E|what the best affine map of the query leaves|^2, tokens N(0, I), |q| = sqrt(d) (eq-lenses-3-gaussian).

    x = eps^2 d is the variance of a logit: R(x) - E[R(u)] - E[(u/eps^2) R(u)], u = eps^2 <q, q'>, q' uniform on the sphere, to
    1e-14 of R(x).
    """
    t, weights = roots_jacobi(NODES, (d - 3) / 2, (d - 3) / 2) if d > 1 else (np.array([1.0, -1.0]), np.ones(2))
    along, weights = d * t, weights / weights.sum()
    found = kernel(x / d * along, d)
    return float(kernel(np.array(x), d) - weights @ found - weights @ (along * found))


def pattern_left(d: int, x: float) -> float:
    """E|what the best affine map leaves|^2 for N = infinity tokens sqrt(d) (+-e_j), of covariance I (eq-lenses-3-patterns).

    To 1e-5 where d is 4 to 6 and x <= 5, and where d <= 3 and x <= 50. For d > 3 it raises ValueError beyond x = 5, where the
    sphere has too few nodes for cosh.
    """
    q, weights = _queries(d, x)
    A = pattern_attention(q, x)
    linear = np.einsum("n,nj,nk->jk", weights, A, q)
    return float(weights @ (A**2).sum(-1) - (linear**2).sum())


def pattern_left_at_zero(d: int, x: float) -> float:
    """The same with the curvature at 0, eps I, for the best map: a near miss."""
    q, weights = _queries(d, x)
    return float(weights @ ((pattern_attention(q, x) - (x / d) ** 0.5 * q) ** 2).sum(-1))


def pattern_left_mean_curvature(d: int, x: float) -> float:
    """The same with E[Jacobian], which is the best map for Gaussian queries and not on a sphere: a near miss."""
    q, weights = _queries(d, x)
    A, b = pattern_attention(q, x), x**0.5
    slopes = b * d**0.5 * np.cosh(b * q) / np.cosh(b * q).sum(-1, keepdims=True) - b / d**0.5 * A**2
    return float(weights @ ((A - (weights @ slopes).mean() * q) ** 2).sum(-1))


def _queries(d: int, x: float) -> tuple[Float[ndarray, "n d"], Float[ndarray, "n"]]:
    """Nodes of the sphere on which a query lies, and their weights."""
    if not (d > 0 and x >= 0) or d > 3 and x > 5:
        raise ValueError(f"x = {x:.4g} in {d} dimensions: the quadrature is good for 0 <= x <= 5, beyond for d = 1 to 3")
    return sphere(d, d**0.5, NODES if d < 4 else 16)  # of each coordinate: fewer where there are more coordinates


def pattern_attention(q: Float[ndarray, "n d"], x: float) -> Float[ndarray, "n d"]:
    """sqrt(d) sinh(b q_j) / sum_k cosh(b q_k): infinitely many tokens sqrt(d) (+-e_j) (eq-lenses-3-axes).

    b = eps sqrt(d), and x = eps^2 d >= 0 is the variance of a logit.
    """
    b = x**0.5
    return q.shape[-1] ** 0.5 * np.sinh(b * q) / np.cosh(b * q).sum(-1, keepdims=True)


# --- heads ----------------------------------------------------------------------------------------------------------


def pair_weights(Lambda: Float[ndarray, "d d"], N: float) -> Float[ndarray, "d d"]:
    """Lambda + tr(Lambda)/N I, whose inverse a pair of heads (+eps, -eps) learns from N >= 2 examples (eq-lenses-3-pair)."""
    return Lambda + np.trace(Lambda) / N * np.eye(len(Lambda))


def one_step_risk(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """tr(Lambda) - tr(Lambda^2 Gamma^-1), Gamma = (1 + 1/N) Lambda + tr(Lambda)/N I, w ~ N(0, I) (eq-lenses-3-pair-risk).

    The risk of the pair is this at N - 1, for N >= 2.
    """
    Gamma = pair_weights(Lambda, N) + Lambda / N
    return float(np.trace(Lambda) - np.trace(Lambda @ np.linalg.solve(Gamma, Lambda)))


def single_head_noise(d: int, x: float) -> float:
    """(e^x / x) (1 + x/d): lim N/d^2 times the squared error of one head at the variance x of its logits (eq-lenses-3-head)."""
    return float(np.exp(x) / x * (1 + x / d))


def single_head_next(d: int, x: float) -> float:
    """c in 1 + c/N: what the next term makes of the error of one head, Lambda = I and |q|^2 = d (eq-lenses-3-head-next).

    x is the variance of a logit; c = (2 R + 3 R (e^x - 1) + 6 x e^(2 x) - 2 e^(3 x) (d + 4 x)) / R with R = e^x (d + x).
    """
    R = gaussian_kernel(np.array(x), d)
    return float((2 * R + 3 * R * (np.exp(x) - 1) + 6 * x * np.exp(2 * x) - 2 * np.exp(3 * x) * (d + 4 * x)) / R)


# --- examples that are removed --------------------------------------------------------------------------------------


def removal(slope: Float[ndarray, "*B"], attention: Float[ndarray, "*B"]) -> Float[ndarray, "*B"] | float:
    """F(C) - F(C without i) = (dF/ds_i) / (1 - attn_i), if the same neurons are on and attn_i < 1 (eq-lenses-3-removal)."""
    return slope / (1 - attention)


def patch_odds(mass: Float[ndarray, "*B"], lengths: Float[ndarray, "*B"]) -> Float[ndarray, "*B"] | float:
    """|DeltaW(Y)| / |DeltaW(rest)| = mass/(1 - mass) |a_rest|/|a_Y| (eq-lenses-3-odds).

    mass is the attention on Y; a_Y and a_rest are what is left without Y, and without the rest; lengths = |a_rest|/|a_Y|.
    """
    return mass / (1 - mass) * lengths
