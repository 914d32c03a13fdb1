"""Section 3.3: errors of a pattern vote over l contexts, and how long a prompt has to be.

Contexts are independent: with probability alpha/2 one carries the query's pattern, else it carries the wrong label with
probability 1/(2 - alpha). The query's pattern scores ``gap`` above the others in the softmax.
"""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.stats import binom

from papers.li.theory.floor import wrong_label


def needed_length(eps: float, alpha: float) -> float:
    """ln(1/eps) / (-ln(1 - alpha/2)), the l at which (1 - alpha/2)^l = eps (eq-li-3-3-length)."""
    _require(alpha)
    if not 0 < eps < 1:
        raise ValueError(f"eps = {eps}: it is a probability that the prompt has to reach, so 0 < eps < 1")
    return float(np.log(1 / eps) / -np.log1p(-alpha / 2))


def length_bracket(eps: float, alpha: float) -> tuple[float, float]:
    """(2/alpha - 1) ln(1/eps) and (2/alpha) ln(1/eps), which enclose the needed length (eq-li-3-3-bracket)."""
    needed_length(eps, alpha)
    return float((2 / alpha - 1) * np.log(1 / eps)), float(2 / alpha * np.log(1 / eps))


def attention_mass(gap: float | Float[ndarray, "..."], alpha: float, l: int) -> float | Float[ndarray, "..."]:
    """E[n e^gap / (n e^gap + l - n) | n >= 1], n ~ Binomial(l, alpha/2): attention on the query's pattern (eq-li-3-3-mass)."""
    _require(alpha, l)
    n = np.arange(1, l + 1)
    weights = binom.pmf(n, l, alpha / 2)
    return n / (n + (l - n) * np.exp(-np.asarray(gap))[..., None]) @ weights / weights.sum()


def vote_error(gap: float | Float[ndarray, "..."], alpha: float, l: int) -> float | Float[ndarray, "..."]:
    """P(n e^gap + (l - n) - 2w < 0) + P(... = 0)/2, w ~ Binomial(l - n, 1/(2 - alpha)) (eq-li-3-3-vote-error).

    n contexts carry the query's pattern and vote for its label with weight e^gap; of the others, w vote against it.
    ``gap`` may be infinite: then one context with the query's pattern decides. Sums up to 1e-9 count as 0.

    Each label alone is right with chance 1/2, so that equal weights make a coin. At weight 3 only prompts without the pattern
    are lost, (3/4)^3 (20/27); at weight 2 those with one context of it can tie, 3 (1/4) (3/4)^2 (2/3)^2:

    >>> import numpy as np
    >>> from papers.li.theory.prompt_length import needed_length, vote_error
    >>> [round(float(vote_error(np.log(weight), 0.5, 3)), 5) for weight in (1, 2, 3, np.inf)]
    [0.5, 0.40625, 0.3125, 0.3125]
    >>> round(needed_length(0.75**3, 0.5), 4)
    3.0
    """
    n, w, chance = _counts(alpha, l)
    own = np.zeros((*np.shape(gap), len(n)))
    np.multiply(n, np.exp(gap)[..., None], out=own, where=n > 0)  # no context, no vote, whatever its weight
    votes = own + (l - n) - 2 * w
    return ((votes < -1e-9) + 0.5 * (abs(votes) <= 1e-9)) @ chance


def label_law(gap: float, alpha: float, l: int) -> tuple[Float[ndarray, "C"], Float[ndarray, "C"]]:
    """Chances and values of the attention-weighted label over the query's, by the counts n and w (eq-li-3-3-label-law).

    Its value at n and w is (n e^gap + l - n - 2w) / (n e^gap + l - n), n and w distributed as in ``vote_error``.
    """
    n, w, chance = _counts(alpha, l)
    others = np.exp(-gap)  # what a context without the query's pattern weighs; alone such contexts weigh 1
    return chance, 1 - 2 * w * np.where(n > 0, others, 1.0) / np.where(n > 0, n + (l - n) * others, l)


def _counts(alpha: float, l: int) -> tuple[Int[ndarray, "C"], Int[ndarray, "C"], Float[ndarray, "C"]]:
    """All n and w with n + w <= l, and their chances."""
    _require(alpha, l)
    n, w = np.nonzero(np.add.outer(np.arange(l + 1), np.arange(l + 1)) <= l)
    return n, w, binom.pmf(n, l, alpha / 2) * binom.pmf(w, l - n, wrong_label(alpha))


def crossing(lengths: Float[ndarray, "L"], errors: Float[ndarray, "L"], eps: float) -> float:
    """The length at which errors that fall with length pass ``eps``: log-linear between grid points; NaN if none or all are.

    An error below eps/1000, as 0 is, counts as eps/1000.
    """
    below = np.flatnonzero(errors <= eps)
    if len(below) == 0 or below[0] == 0:
        return float("nan")
    j = below[0]
    high, low = np.log(errors[j - 1] / eps), np.log(max(errors[j], eps * 1e-3) / eps)
    return float(lengths[j - 1] + (lengths[j] - lengths[j - 1]) * high / (high - low))


def _require(alpha: float, l: int = 1) -> None:
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha = {alpha}: it is the share of contexts that the task decides, so 0 < alpha <= 1")
    if l < 1:
        raise ValueError(f"l = {l}: prompts have at least one context")
