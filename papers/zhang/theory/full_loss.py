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
    a = s[..., None, None] * b + np.einsum("...i,...j->...ij", p, r)
    square = np.einsum("ij,...jk,...ik->...", Gamma(Lambda, N), a, a)
    return (square - 2 * np.einsum("ij,...ji->...", Lambda, a) + np.trace(Lambda)) / 2


def even_loss(Lambda: Float[ndarray, "d d"], N: float, U: Inexact[ndarray, "... d+1 d+1"]) -> Numbers:
    """(1/2) E even^2, from Gaussian moments up to order six.

    With b_s = (b + b^T)/2, t = tr b, tau = tr Lambda, c = b^T p, m = b_s p, the six terms of E even^2 are
    E[(p^T S b z)^2]                     = (1 + 1/N) |c|^2 + (1/N) |b|^2 |p|^2,
    E[(p^T z)^2 (z^T b z)^2] / N^2       = [|p|^2 (t^2 + 2 |b_s|^2) + 4 t p^T m + 8 |m|^2] / N^2,
    s^2 E[(w^T Lambda_hat w)^2] E(r^T z)^2  = s^2 (1 + 2/N) (tau^2 + 2 tr Lambda^2) |r|^2,
    and twice the products: (2/N) (t p^T m + 2 c^T m); 2 s p^T (tau I + (2/N) Lambda) b r;
    (2 s tau / N) (t p^T r + 2 m^T r).
    """
    b, p, r, s = blocks(whiten(Lambda, U))
    tau, t, c, m = np.trace(Lambda), trace(b), np.einsum("...ij,...i->...j", b, p), act(symmetric(b), p)
    context = (1 + 1 / N) * dot(c, c) + dot(b, b, 2) * dot(p, p) / N
    spread = t**2 + 2 * dot(symmetric(b), symmetric(b), 2)
    query = (dot(p, p) * spread + 4 * t * dot(p, m) + 8 * dot(m, m)) / N**2
    label = s**2 * label_moment(Lambda, N) * dot(r, r)
    context_query = 2 / N * (t * dot(p, m) + 2 * dot(c, m))
    context_label = 2 * s * dot(p @ context_label_moment(Lambda, N), act(b, r))
    query_label = 2 * s * tau / N * (t * dot(p, r) + 2 * dot(m, r))
    return (context + query + label + context_query + context_label + query_label) / 2


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


def context_label_moment(Lambda: Float[ndarray, "d d"], N: float) -> Float[ndarray, "d d"]:
    """E[tr(Lambda_hat) S] = tr(Lambda) I + (2/N) Lambda, S = Lambda^-1/2 Lambda_hat Lambda^-1/2 (derived here)."""
    return np.trace(Lambda) * np.eye(len(Lambda)) + 2 / N * Lambda


def whiten(Lambda: Float[ndarray, "d d"], U: Inexact[ndarray, "... d+1 d+1"]) -> Inexact[ndarray, "... d+1 d+1"]:
    """R U R with R = diag(Lambda^1/2, 1), the symmetric root."""
    eigenvalues, basis = np.linalg.eigh(Lambda)
    R = np.pad((basis * np.sqrt(eigenvalues)) @ basis.T, (0, 1))
    R[-1, -1] = 1.0
    return R @ U @ R


def blocks(U: Inexact[ndarray, "... D D"]) -> tuple[ndarray, ndarray, ndarray, Numbers]:
    """Return (U_11, u_12, u_21, u_-1)."""
    return U[..., :-1, :-1], U[..., :-1, -1], U[..., -1, :-1], U[..., -1, -1]


def symmetric(b: Inexact[ndarray, "... d d"]) -> Inexact[ndarray, "... d d"]:
    """(b + b^T) / 2."""
    return (b + b.swapaxes(-1, -2)) / 2


def trace(b: Inexact[ndarray, "... d d"]) -> Numbers:
    """tr b."""
    return np.einsum("...ii->...", b)


def act(b: Inexact[ndarray, "... d d"], p: Inexact[ndarray, "... d"]) -> Inexact[ndarray, "... d"]:
    """b p."""
    return np.einsum("...ij,...j->...i", b, p)


def dot(a: Inexact[ndarray, "..."], b: Inexact[ndarray, "..."], axes: int = 1) -> Numbers:
    """The sum of products over the last ``axes`` dimensions, without conjugation."""
    return (a * b).sum(axis=tuple(range(-axes, 0)))


def _outer(a: Inexact[ndarray, "... d"], b: Inexact[ndarray, "... d"]) -> Inexact[ndarray, "... d d"]:
    return a[..., :, None] * b[..., None, :]


def _join(b: ndarray, p: ndarray, r: ndarray, s: Numbers) -> ndarray:
    top = np.concatenate([b, p[..., :, None]], axis=-1)
    bottom = np.concatenate([r, s[..., None]], axis=-1)
    return np.concatenate([top, bottom[..., None, :]], axis=-2)


def _odd_gradient(Lambda, N, b, p, r, s) -> tuple[ndarray, ndarray, ndarray, Numbers]:
    a = s[..., None, None] * b + _outer(p, r)
    G = Gamma(Lambda, N) @ a - Lambda
    return s[..., None, None] * G, act(G, r), np.einsum("...ij,...i->...j", G, p), dot(G, b, 2)


def _even_gradient(Lambda, N, b, p, r, s) -> tuple[ndarray, ndarray, ndarray, Numbers]:
    tau, t, b_s, I = np.trace(Lambda), trace(b), symmetric(b), np.eye(len(Lambda))
    c, m, J = np.einsum("...ij,...i->...j", b, p), act(b_s, p), context_label_moment(Lambda, N)
    pp, pm, pr, mr = dot(p, p), dot(p, m), dot(p, r), dot(m, r)
    S, T, C = s[..., None], t[..., None], (s * tau / N)[..., None]
    T2, C2 = T[..., None], C[..., None]
    h = p @ J
    g_b = (1 + 1 / N) * _outer(p, c) + (pp[..., None, None] * (b + (T2 * I + 2 * b_s) / N)) / N
    g_b = g_b + (2 * pm[..., None, None] * I + 2 * T2 * _outer(p, p) + 8 * symmetric(_outer(p, m))) / N**2
    g_b = g_b + (pm[..., None, None] * I + T2 * _outer(p, p) + 2 * _outer(p, m) + 2 * symmetric(_outer(c, p))) / N
    g_b = g_b + S[..., None] * _outer(h, r) + C2 * (pr[..., None, None] * I + 2 * symmetric(_outer(p, r)))
    spread = (t**2 + 2 * dot(b_s, b_s, 2))[..., None]
    g_p = (1 + 1 / N) * act(b, c) + dot(b, b, 2)[..., None] * p / N + (p * spread + 4 * T * m + 8 * act(b_s, m)) / N**2
    g_p = g_p + 2 / N * (T * m + act(b, m) + act(b_s, c)) + S * (act(b, r) @ J) + C * (T * r + 2 * act(b_s, r))
    g_r = S**2 * label_moment(Lambda, N) * r + S * np.einsum("...ij,...i->...j", b, h) + C * (T * p + 2 * m)
    g_s = s * label_moment(Lambda, N) * dot(r, r) + dot(h, act(b, r)) + tau / N * (t * pr + 2 * mr)
    return g_b, g_p, g_r, g_s
