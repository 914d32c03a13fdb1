"""Sequel 2 (Goldwaser, Munn, Gonzalvo, Dherin): patches of blocks with gates, norms and experts.

z, z_C: what the feed-forward part reads without and with the context; v, v_C: what is added to its output;
d = v_C - v; h: what its last matrix reads; n: normalised output, m: gain of the norm behind it, both of D entries. Where no
function raises, a vector of 0 that is divided by gives NaN or infinity.
"""

from math import exp, lgamma, pi

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.optimize import brentq

# --- input and output ---------------------------------------------------------------------------------------------


def input_update(W: Float[ndarray, "m k"], z: Float[ndarray, "k"], z_C: Float[ndarray, "k"]) -> Float[ndarray, "m k"]:
    """W (z_C - z) z^T / |z|^2 for every matrix that reads z (eq-dherin-modern-input). Raises ValueError at z = 0."""
    if not z.any():
        raise ValueError("z = 0: every matrix sends it to 0, so no change of a matrix can act on it")
    return np.outer(W @ (z_C - z), z) / (z @ z)


def output_update(d: Float[ndarray, "D"], h: Float[ndarray, "H"]) -> Float[ndarray, "D H"]:
    """d h^T / |h|^2, the change of the last matrix (eq-dherin-modern-output). Raises ValueError at h = 0."""
    if not h.any():
        raise ValueError("h = 0: the last matrix cannot add anything, patch a bias in its place")
    return np.outer(d, h) / (h @ h)


def expert_ratio(p: Float[ndarray, "e"], length: Float[ndarray, "e"]) -> float:
    """sqrt(sum_e 1/|h_e|^2 sum_e p_e^2 |h_e|^2): one change an expert over one change for all (eq-dherin-modern-ratio).

    p are the shares of the active experts, length their |h_e|, none 0. It is 1 or more because the shares sum to one.
    Raises ValueError where they do not, as before they are divided by their sum, and for a length of 0 or too few or many.
    """
    if p.shape != length.shape or not length.all():
        raise ValueError(f"shares {p.shape} and lengths {length.shape}: give one length a share, none 0")
    if not np.isclose(p.sum(), 1):
        raise ValueError(f"the shares sum to {p.sum():.4g}: divide those of the active experts by their sum")
    return float(np.sqrt((length**-2.0).sum() * (p**2 * length**2).sum()))


# --- a norm behind the feed-forward part --------------------------------------------------------------------------


def rms(x: Float[ndarray, "... D"]) -> Float[ndarray, "..."] | float:
    """sqrt(mean of x_i^2)."""
    return np.sqrt((x**2).mean(-1))


def normalised(u: Float[ndarray, "D"], epsilon: float) -> Float[ndarray, "D"]:
    """n = u / sqrt(mean(u^2) + epsilon) (eq-dherin-modern-norm); its RMS is below 1 for epsilon > 0."""
    return u / np.sqrt(rms(u) ** 2 + epsilon)


def gain_change(d: Float[ndarray, "D"], n: Float[ndarray, "D"]) -> Float[ndarray, "D"]:
    """d / n entry by entry (eq-dherin-modern-gain). Raises ValueError when an entry of n is 0."""
    if (n == 0).any():
        raise ValueError("an entry of n is 0: no gain can move it")
    return d / n


def target(d: Float[ndarray, "... D"], n: Float[ndarray, "... D"], m: Float[ndarray, "D"]) -> Float[ndarray, "... D"]:
    """t = n + d / m, the normalised output that would do without a change of the gain (eq-dherin-modern-target)."""
    return n + d / m


def conditioned(
    u: Float[ndarray, "D"], d: Float[ndarray, "D"], m: Float[ndarray, "D"], epsilon: float
) -> tuple[Float[ndarray, "D"], float]:
    """u' = RMS(u) t / RMS(t) and the one factor on the gain, RMS(t) / RMS(n) (eq-dherin-modern-conditioned); u, t, m_i != 0.

    n = (1, 7)/5 and t = (2.8, 0.4), of RMS 2. The new u' and gain give m n + d = (0.2 + 2.6, 2.8 - 2):

    >>> import numpy as np
    >>> from papers.dherin.theory.modern_blocks import conditioned, normalised
    >>> m = np.array([1.0, 2.0])
    >>> u, factor = conditioned(np.array([1.0, 7.0]), np.array([2.6, -2.0]), m, epsilon=0.0)
    >>> u.round(4).tolist(), round(factor, 4), (factor * m * normalised(u, 0.0)).round(4).tolist()
    ([7.0, 1.0], 2.0, [2.8, 0.8])
    """
    n = normalised(u, epsilon)
    t = target(d, n, m)
    return rms(u) * t / rms(t), float(rms(t) / rms(n))


def scale_bound(d: Float[ndarray, "... D"], n: Float[ndarray, "... D"], m: Float[ndarray, "... D"]):
    """RMS(d/m) / RMS(n): at least the conditioned form's change of scale, at most the published one's largest
    (eq-dherin-modern-bound)."""
    return rms(d / m) / rms(n)


def tail_share(mean_size: float, D: int, x: float) -> float:
    """2 f_D(0) E|d| / x, share of entries of d/n beyond x, for n uniform on the sphere of RMS 1 (eq-dherin-modern-tail).

    To leading order in E|d|/x, so for a large x; no share where it is above 1.

    f_D(0) = Gamma(D/2) / (Gamma((D-1)/2) sqrt(pi D)) is the density of one entry of n at 0; D >= 2.
    """
    return 2 * sphere_density(D) * mean_size / x


def sphere_density(D: int) -> float:
    """Density at 0 of one entry of a vector that is uniform on the sphere of radius sqrt(D), D >= 2."""
    if D < 2:
        raise ValueError(f"one entry has no density: D must be 2 or more, not {D}")
    return exp(lgamma(D / 2) - lgamma((D - 1) / 2)) / (pi * D) ** 0.5


def nearest(m: Float[ndarray, "D"], t: Float[ndarray, "D"]) -> Float[ndarray, "D"]:
    """The s with RMS(s) <= 1 that makes |m * (s - t)| least: s_i = m_i^2 t_i / (m_i^2 + lam) (eq-dherin-modern-nearest).

    lam >= 0 with RMS(s) = 1 when RMS(t) > 1; else s = t. All that a change of W_down can reach lies in RMS < 1.
    Raises ValueError where an entry of m is 0.
    """
    if not m.all():
        raise ValueError("an entry of m is 0: no output can move what it multiplies, and any s_i is as near")
    if rms(t) <= 1:
        return t
    square = m**2

    def excess(lam: float) -> float:
        return float(rms(square * t / (square + lam))) - 1

    lam = brentq(excess, 0.0, square.max() * rms(t), xtol=np.finfo(float).tiny, rtol=1e-14)
    return square * t / (square + lam)


def last_bit(d: float, n: float, slip: float) -> float:
    """|d slip / n|: error of the published form when n comes out as n + slip (eq-dherin-modern-slip)."""
    return abs(d * slip / n)
