"""Section 2: the untrained network in closed form (derived here; the start itself is from memory of the paper).

Letters: alpha share of contexts that the task decides, l contexts, M1 relevant patterns of norm beta, kappa uniform on
(-K, K), q length of the label embedding, delta and xi the sizes of the start. The mass is the attention on the contexts
with the query's pattern; n counts them. Scores are taken without the distractors, which change the odds n g : l - n of
the mass by at most a factor exp(2 delta^2 beta^2 K^2), and only where query and context share a distractor.

With alpha = 1/2, l = 2 and g = 3 the counts n = 0, 1, 2 have chances 9/16, 6/16, 1/16, attention 0, 3/4, 1 on the pattern and
mean labels -1/3, 2/3, 1; squared, labels are 5/9, 1/2, 1, and at K = 3/2 patterns and distractors 25/24, 35/32, 11/8:

>>> from papers.li.theory.start import label_signal, mass, mean_square
>>> round(mass(0.5, 2, 3.0), 4), round(label_signal(0.5, 2, 3.0), 4)  # 11/14 and 1/8
(0.7857, 0.125)
>>> round(mean_square(0.5, 2, 3.0, M1=4, beta=2.0, K=1.5, q=3.0), 6)  # 4 * 277/256 + 9 * 9/16
9.390625
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.stats import binom


def ratio(delta: float, beta: float) -> float:
    """g = exp(delta^2 beta^2): attention on a context with the query's pattern over that on one without, at the start."""
    return float(np.exp(delta**2 * beta**2))


def present(alpha: float, l: int) -> float:
    """P(n >= 1) = 1 - (1 - alpha/2)^l."""
    _require(alpha, l)
    return 1 - (1 - alpha / 2) ** l


def uniform_mass(alpha: float, l: int) -> float:
    """E[n/l | n >= 1] = (alpha/2) / (1 - (1 - alpha/2)^l): the mass under uniform attention, where it is defined."""
    return alpha / 2 / present(alpha, l)


def mass(alpha: float, l: int, g: float) -> float:
    """E[n g/(n g + l - n) | n >= 1], n binomial (l, alpha/2)."""
    n, P = _counts(alpha, l)
    return float((P * n * g / (n * g + l - n)).sum() / present(alpha, l))


def long_mass(alpha: float, g: float) -> float:
    """(alpha/2) g / ((alpha/2) g + 1 - alpha/2): the limit of ``mass`` as l goes to infinity."""
    return alpha / 2 * g / (alpha / 2 * g + 1 - alpha / 2)


def label_signal(alpha: float, l: int, g: float) -> float:
    """E[z sum_i attn_i y_i]: the labels, averaged by the attention, in the direction of the answer z.

    Given n it is A - (1 - A) (alpha/2)/(1 - alpha/2), A = n g/(n g + l - n): the other contexts lean to the other label.
    """
    n, P = _counts(alpha, l)
    A = n * g / (n * g + l - n)
    return float((P * (A - (1 - A) * _lean(alpha))).sum())


def mean_square(alpha: float, l: int, g: float, *, M1: int, beta: float, K: float, q: float) -> float:
    """E|p_bar|^2 of p_bar = sum_i attn_i p_i: what the MLP receives.

    Given n a context has weight g/(n g + l - n) with the query's pattern and 1/(n g + l - n) without. The square is
    beta^2 times the squared weight of each relevant pattern, beta^2 K^2/3 times the sum of squared weights (distractors),
    and q^2 times the squared mean label.
    """
    n, P = _counts(alpha, l)
    rest, unit = l - n, 1 / (n * g + l - n)
    p_other = np.array([alpha / 2] + [(1 - alpha) / (M1 - 2)] * (M1 - 2)) / (1 - alpha / 2)
    crowd = rest * (1 - (p_other**2).sum()) + rest**2 * (p_other**2).sum()  # E sum_j n_j^2 over the other patterns
    relevant = (n * g * unit) ** 2 + unit**2 * crowd
    distractors = K**2 / 3 * (n * (g * unit) ** 2 + rest * unit**2)
    lean = _lean(alpha)
    labels = (n * g * unit - rest * unit * lean) ** 2 + unit**2 * rest * (1 - lean**2)
    return float((P * (beta**2 * (relevant + distractors) + q**2 * labels)).sum())


def output_size(xi: float, delta: float, square: float) -> float:
    """Root mean square of F over W_O and prompts: xi delta sqrt(E|p_bar|^2 (1 - 1/pi)/2), whatever m.

    a has entries +-1/sqrt(m), as many of either sign; ``square`` is E|p_bar|^2.
    """
    return float(xi * delta * np.sqrt(square * (1 - 1 / np.pi) / 2))


def output_size_coins(xi: float, delta: float, square: float) -> float:
    """The same when each sign of a is drawn on its own: xi delta sqrt(E|p_bar|^2/2)."""
    return float(xi * delta * np.sqrt(square / 2))


def blind_hinge(F: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """E over z = +-1 of max(0, 1 - z F) = max(1, (1 + |F|)/2): the hinge loss of an output that does not know the query."""
    return np.maximum(1, (1 + abs(F)) / 2)


def _lean(alpha: float) -> float:
    """(alpha/2)/(1 - alpha/2): minus the mean of z y over the contexts without the query's pattern."""
    return alpha / 2 / (1 - alpha / 2)


def _counts(alpha: float, l: int) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Return n = 0..l and its probabilities, binomial (l, alpha/2)."""
    _require(alpha, l)
    n = np.arange(l + 1)
    return n.astype(float), binom.pmf(n, l, alpha / 2)


def _require(alpha: float, l: int) -> None:
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha = {alpha}: it is the share of contexts that the task decides, so 0 < alpha <= 1")
    if l < 1:
        raise ValueError(f"l = {l}: a prompt has at least one context")
