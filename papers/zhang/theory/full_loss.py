"""The population loss over all live parameters, an exact polynomial (derived here).

U = [[U_11, u_12], [u_21^T, u_-1]], (..., d+1, d+1), as in Lemma 5.1. Lambda is the covariance, (d, d); N the training
prompt length. With R = diag(Lambda^1/2, 1) the inputs become standard normal and R U R = [[b, p], [r^T, s]]; all
formulas below are in b, p, r, s. Under w -> -w the prediction splits into an odd and an even part,
    odd  = w^T Lambda^1/2 S (s b + p r^T) z,
    even = p^T (S + z z^T / N) b z + s (w^T Lambda^1/2 S Lambda^1/2 w) r^T z,
with z = Lambda^-1/2 x_query and S = Lambda^-1/2 Lambda_hat Lambda^-1/2, and L = (1/2) E(odd - y)^2 + (1/2) E even^2.
"""

import numpy as np
from jaxtyping import Float, Inexact
from numpy import ndarray

from papers.zhang.theory.dynamics import symmetric_root
from papers.zhang.theory.optimum import Gamma

Numbers = Inexact[ndarray, "..."] | np.inexact
"""One number a parameter point."""


def full_loss(Lambda: Float[ndarray, "d d"], N: float, U: Inexact[ndarray, "... d+1 d+1"]) -> Numbers:
    """L(U) = (1/2) E(y_hat - <w, x_query>)^2 = odd_loss + even_loss (3.8), for any U.

    At Lambda = 4 I, d = 2, N = 4 and U = ones but u_-1 = 2, with e = (1, 1): y = 2 w^T z, odd = 24 (e^T z) e^T S w and
    even = 8 (e^T z) [e^T S e + 2 w^T S w + (e^T z)^2/4]. So E(odd - y)^2 = 4032 - 192 + 8, E even^2 = 64 (148 + 36 + 7.5):

    >>> import numpy as np
    >>> from papers.zhang.theory.full_loss import even_loss, full_loss, odd_loss
    >>> U = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])
    >>> [round(float(part(4 * np.eye(2), 4, U)), 4) for part in (odd_loss, even_loss, full_loss)]
    [1924.0, 6128.0, 8052.0]
    """
    return odd_loss(Lambda, N, U) + even_loss(Lambda, N, U)


def odd_loss(Lambda: Float[ndarray, "d d"], N: float, U: Inexact[ndarray, "... d+1 d+1"]) -> Numbers:
    """(1/2) E(odd - y)^2 = (1/2) [tr(Gamma a a^T) - 2 tr(Lambda a) + tr Lambda], a = s b + p r^T.

    In the original letters a = Lambda^1/2 A Lambda^1/2 with A = u_-1 U_11 + u_12 u_21^T.
    """
    b, p, r, s = blocks(whiten(Lambda, U))
    a = s[..., None, None] * b + outer(p, r)
    return (inner(Gamma(Lambda, N) @ a - 2 * Lambda, a) + np.trace(Lambda)) / 2


def even_loss(Lambda: Float[ndarray, "d d"], N: float, U: Inexact[ndarray, "... d+1 d+1"]) -> Numbers:
    """(1/2) E even^2, from Gaussian moments up to order six (eq-zhang-5-1-even-moment).

    With b_s = (b + b^T)/2, t = tr b, tau = tr Lambda, c = b^T p, m = b_s p and v = E[even z] = c + (t p + 2 m)/N + s tau r,
    E even^2 = |v|^2 + (2/N^2) (|b_s|^2 |p|^2 + 2 |m|^2) + (1/N) (|c|^2 + |b|^2 |p|^2) + 2 s p^T K b r + s^2 V |r|^2.
    The first term is of what is linear in z, the second of what is cubic; S and w^T Lambda_hat w add the others by their
    fluctuation, with the covariance K = (2/N) Lambda and the variance V of w^T Lambda_hat w.
    """
    b, p, r, s = blocks(whiten(Lambda, U))
    b_s, c, m, v = _vectors(Lambda, N, b, p, r, s)
    K, V = context_label_covariance(Lambda, N), label_variance(Lambda, N)
    cubic = 2 / N**2 * (inner(b_s, b_s) * dot(p, p) + 2 * dot(m, m))
    context = (dot(c, c) + inner(b, b) * dot(p, p)) / N
    return (dot(v, v) + cubic + context + 2 * s * dot(p @ K, act(b, r)) + s**2 * V * dot(r, r)) / 2


def full_gradient(
    Lambda: Float[ndarray, "d d"], N: float, U: Inexact[ndarray, "... d+1 d+1"]
) -> Inexact[ndarray, "... d+1 d+1"]:
    """The gradient of L at U, term by term of ``odd_loss`` and ``even_loss``."""
    b, p, r, s = blocks(whiten(Lambda, U))
    odd = _odd_gradient(Lambda, N, b, p, r, s)
    even = _even_gradient(Lambda, N, b, p, r, s)
    return whiten(Lambda, _join(*(x + y for x, y in zip(odd, even, strict=True))))


def full_hessian(Lambda: Float[ndarray, "d d"], N: float, U: Float[ndarray, "d+1 d+1"]) -> Float[ndarray, "P P"]:
    """The Hessian of L at U in the order of U.ravel(), P = (d+1)^2.

    L is a polynomial, so Im grad(U + i h e)/h with a tiny h is its derivative to rounding: nothing is subtracted.
    """
    size = U.size
    h = 1e-30
    steps = U + 1j * h * np.eye(size).reshape(size, *U.shape)
    return full_gradient(Lambda, N, steps).imag.reshape(size, size) / h


def rescaling_direction(U: Float[ndarray, "D D"]) -> Float[ndarray, "D D"]:
    """(-U_11, u_12; -u_21^T, u_-1): the tangent of (c W_PV, W_KQ / c) at c = 1, along which y_hat does not change."""
    return np.column_stack([-U[:, :-1], U[:, -1]])


def label_moment(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """E[(w^T Lambda_hat w)^2] = (1 + 2/N) (tr(Lambda)^2 + 2 tr(Lambda^2)) for w ~ N(0, I) (derived here)."""
    return float((1 + 2 / N) * (np.trace(Lambda) ** 2 + 2 * np.trace(Lambda @ Lambda)))


def label_variance(Lambda: Float[ndarray, "d d"], N: float) -> float:
    """Var(w^T Lambda_hat w) = (2/N) tr(Lambda)^2 + (2 + 4/N) tr(Lambda^2), ``label_moment`` less tr(Lambda)^2."""
    return float(2 / N * np.trace(Lambda) ** 2 + (2 + 4 / N) * np.trace(Lambda @ Lambda))


def context_label_covariance(Lambda: Float[ndarray, "d d"], N: float) -> Float[ndarray, "d d"]:
    """E[(w^T Lambda_hat w - tr Lambda) S] = (2/N) Lambda, S = Lambda^-1/2 Lambda_hat Lambda^-1/2 (derived here)."""
    return 2 / N * Lambda


def whiten(Lambda: Float[ndarray, "d d"], U: Inexact[ndarray, "... d+1 d+1"]) -> Inexact[ndarray, "... d+1 d+1"]:
    """R U R with R = diag(Lambda^1/2, 1), the symmetric root; Lambda may be singular."""
    R = np.pad(symmetric_root(Lambda), (0, 1))
    R[-1, -1] = 1.0
    return transposed(np.tensordot(transposed(np.tensordot(U, R, 1)), R, 1))  # one product of matrices for all points


def blocks(U: Inexact[ndarray, "... D D"]) -> tuple[ndarray, ndarray, ndarray, Numbers]:
    """Return (U_11, u_12, u_21, u_-1)."""
    return U[..., :-1, :-1], U[..., :-1, -1], U[..., -1, :-1], U[..., -1, -1]


def transposed(b: Inexact[ndarray, "... d d"]) -> Inexact[ndarray, "... d d"]:
    """b^T."""
    return b.swapaxes(-1, -2)


def symmetric(b: Inexact[ndarray, "... d d"]) -> Inexact[ndarray, "... d d"]:
    """(b + b^T) / 2."""
    return (b + transposed(b)) / 2


def trace(b: Inexact[ndarray, "... d d"]) -> Numbers:
    """tr b."""
    return np.einsum("...ii->...", b)


def act(b: Inexact[ndarray, "... d d"], p: Inexact[ndarray, "... d"]) -> Inexact[ndarray, "... d"]:
    """b p."""
    return np.einsum("...ij,...j->...i", b, p)


def dot(p: Inexact[ndarray, "... d"], r: Inexact[ndarray, "... d"]) -> Numbers:
    """p^T r, without conjugation."""
    return np.einsum("...i,...i->...", p, r)


def inner(a: Inexact[ndarray, "... d d"], b: Inexact[ndarray, "... d d"]) -> Numbers:
    """tr(a^T b), without conjugation."""
    return np.einsum("...ij,...ij->...", a, b)


def outer(a: Inexact[ndarray, "... d"], b: Inexact[ndarray, "... d"]) -> Inexact[ndarray, "... d d"]:
    """a b^T."""
    return a[..., :, None] * b[..., None, :]


def _join(b: ndarray, p: ndarray, r: ndarray, s: Numbers) -> ndarray:
    top = np.concatenate([b, p[..., :, None]], axis=-1)
    bottom = np.concatenate([r, s[..., None]], axis=-1)
    return np.concatenate([top, bottom[..., None, :]], axis=-2)


def _vectors(Lambda, N, b, p, r, s) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return b_s, c, m and v of ``even_loss``."""
    b_s = symmetric(b)
    c, m, t = act(transposed(b), p), act(b_s, p), trace(b)
    return b_s, c, m, c + (t[..., None] * p + 2 * m) / N + s[..., None] * np.trace(Lambda) * r


def _odd_gradient(Lambda, N, b, p, r, s) -> tuple[ndarray, ndarray, ndarray, Numbers]:
    a = s[..., None, None] * b + outer(p, r)
    G = Gamma(Lambda, N) @ a - Lambda
    return s[..., None, None] * G, act(G, r), act(transposed(G), p), inner(G, b)


def _even_gradient(Lambda, N, b, p, r, s) -> tuple[ndarray, ndarray, ndarray, Numbers]:
    """Return the derivatives of ``even_loss`` in b, p, r and s: of v, then term by term."""
    b_s, c, m, v = _vectors(Lambda, N, b, p, r, s)
    K, V, I = context_label_covariance(Lambda, N), label_variance(Lambda, N), np.eye(len(Lambda))
    t, pp, pv, bb, ss, sigma = (x[..., None] for x in (trace(b), dot(p, p), dot(p, v), inner(b, b), inner(b_s, b_s), s))
    g_b = outer(p, v) + (pv[..., None] * I + 2 * symmetric(outer(p, v))) / N
    g_b = g_b + 2 / N**2 * (pp[..., None] * b_s + 2 * symmetric(outer(p, m)))
    g_b = g_b + (outer(p, c) + pp[..., None] * b) / N + sigma[..., None] * outer(p @ K, r)
    g_p = act(b, v) + (t * v + 2 * act(b_s, v)) / N + 2 / N**2 * (ss * p + 2 * act(b_s, m))
    g_p = g_p + (act(b, c) + bb * p) / N + sigma * act(b, r) @ K
    g_label = np.trace(Lambda) * v + act(transposed(b), p @ K) + sigma * V * r  # in s r, which the even part is linear in
    return g_b, g_p, sigma * g_label, dot(g_label, r)
