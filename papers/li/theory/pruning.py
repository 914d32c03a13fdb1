"""Section 3.4: which neurons stay small, and what deleting neurons does to the output, the hinge loss and the sign.

mu_bar is the mean of the M1 relevant patterns, of length beta/sqrt(M1); q is the length of the label embedding. All of
this is derived in the book; the paper's theorem gives orders of magnitude only.

With one pattern the integral over rows is the angle arctan(3/4)/pi. Four patterns of norm 6 have a mean of norm 3, and a push
adds 1/4. Of the 4 sets of three rows out of four, 2 hold both rows of a label:

>>> from papers.li.theory.pruning import label_lost, pushed_share_means, silent_share_inputs, silent_share_means
>>> round(silent_share_inputs(3.0, 4.0, 1), 4), round(silent_share_means(6.0, 4.0, 4), 4)
(0.2048, 0.2048)
>>> round(pushed_share_means(6.0, 4.0, 4), 4), label_lost(2, 4, 3)
(0.4548, 0.5)
"""

from math import comb

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy.integrate import quad
from scipy.special import ndtr

# --- which rows stay small ----------------------------------------------------------------------------------------


def start_size(xi: float, m_b: int) -> float:
    """xi sqrt(m_b): length of a row of W_O at the start, as root mean square (eq-li-3-4-start)."""
    return xi * m_b**0.5


def silent_share_means(beta: float, q: float, M1: int) -> float:
    """arctan(|mu_bar|/q)/pi: rows of a Gaussian start that are silent on (mu_bar, +q) and (mu_bar, -q) (eq-li-3-4-wedge)."""
    return float(np.arctan2(beta / M1**0.5, q) / np.pi)


def silent_share_inputs(beta: float, q: float, M1: int) -> float:
    """2 int_0^oo phi(v) Phi(-q v/beta)^M1 dv: rows silent on all of (mu_j, +-q), j = 1..M1 (eq-li-3-4-all).

    Raises ValueError unless beta > 0 and q >= 0.
    """
    if beta <= 0 or q < 0:
        raise ValueError(f"beta = {beta}, q = {q} are norms: take beta > 0 and q >= 0")

    def density(v: float) -> float:
        return 2 * np.exp(-(v**2) / 2) / np.sqrt(2 * np.pi) * ndtr(-q * v / beta) ** M1

    scale = max(1.0, q / beta)  # at 40 of 1/scale either factor is 0
    return float(quad(lambda v: density(v / scale), 0, 40, epsabs=0, limit=200)[0] / scale)  # it falls like 2^-M1


def pushed_share_means(beta: float, q: float, M1: int) -> float:
    """min(1/4 + arctan(|mu_bar|/q)/pi, 1/2): silent after the push on two clusters (eq-li-3-4-pushed)."""
    return min(0.25 + silent_share_means(beta, q, M1), 0.5)


def push(
    u: Float[ndarray, "n M1"], v: Float[ndarray, "n"], beta: float, q: float, time: float = 25.0, step: float = 0.02
) -> Bool[ndarray, "n"]:
    """Follow eq-li-3-4-push from (u, v) and say which rows end silent on all (mu_j, +-q); Euler steps, a_r > 0.

    u'_j = beta (1[beta u_j + q v > 0] - 1[beta u_j - q v > 0]), v' = q sum_j (1[beta u_j + q v > 0] + 1[beta u_j - q v > 0]).
    Rows with a_r < 0 are the mirror image, v -> -v. Time is in units of the growth, 25 is long for starts of size 1.
    """
    for _ in range(round(time / step)):
        right, wrong = beta * u + q * v[:, None] > 0, beta * u - q * v[:, None] > 0
        u = u + step * beta * (right.astype(float) - wrong)
        v = v + step * q * (right.sum(-1) + wrong.sum(-1))
    return ~((beta * u + q * v[:, None] > 0) | (beta * u - q * v[:, None] > 0)).any(-1)


# --- what deleting rows does --------------------------------------------------------------------------------------


def change_bound(a: Float[ndarray, "P"], values: Float[ndarray, "... P"]) -> float | Float[ndarray, "..."]:
    """sum_r |a_r| relu(v_r) over the P deleted rows, v_r = <w_r, p_bar>: the most F can change (eq-li-3-4-change)."""
    return (abs(a) * np.maximum(values, 0)).sum(-1)


def surviving_share(contribution: Float[ndarray, "... m"], kept: Bool[ndarray, "... m"]) -> float | Float[ndarray, "..."]:
    """s = sum over kept rows of c_r / sum over all rows of c_r, for the rows of one label (eq-li-3-4-share).

    NaN where no row contributes.
    """
    with np.errstate(invalid="ignore"):
        return (contribution * kept).sum(-1) / contribution.sum(-1)


def pruned_output(F_plus, F_minus, s_plus, s_minus):
    """s_plus F_plus - s_minus F_minus: the output when the rows of a label are copies of one direction (eq-li-3-4-output)."""
    return s_plus * F_plus - s_minus * F_minus


def pruned_hinge(margin: Float[ndarray, "... B"], s: float | Float[ndarray, "... B"]) -> float | Float[ndarray, "..."]:
    """mean of max(0, 1 - s z F) over prompts with unpruned margin z F and surviving share s (eq-li-3-4-hinge)."""
    return np.maximum(0, 1 - s * margin).mean(-1)


def hinge_bounds(margin: Float[ndarray, "B"], R: float) -> tuple[float, float]:
    """max(0, 1 - (1 - R) E[z F]) <= hinge at share 1 - R <= R + (1 - R) hinge at share 1 (eq-li-3-4-bounds).

    R is the deleted share of the contributions (rho on the page), 0 <= R <= 1; outside, the upper bound is none.
    """
    return max(0.0, 1 - (1 - R) * float(margin.mean())), R + (1 - R) * float(pruned_hinge(margin, 1.0))


def plateau(margin: float) -> float:
    """1 - 1/margin: the share of contributions without which a margin >= 1 keeps hinge 0 (eq-li-3-4-plateau).

    Raises ValueError below 1, where the hinge is not 0 before.
    """
    if not margin >= 1:
        raise ValueError(f"a margin of {margin:.4g} has a hinge above 0 before anything is deleted: take 1 or more")
    return 1 - 1 / margin


def label_lost(n_label: int, n: int, deleted: int) -> float:
    """C(n - n_label, deleted - n_label)/C(n, deleted): all n_label rows of a label are among the deleted (eq-li-3-4-lost).

    ``deleted`` of n rows go at random. Raises ValueError where there are not as many.
    """
    if not (0 <= deleted <= n and 0 <= n_label <= n):
        raise ValueError(f"{deleted} of {n} rows are deleted, and {n_label} are of a label: take 0 to {n}")
    return comb(n - n_label, deleted - n_label) / comb(n, deleted) if deleted >= n_label else 0.0


def random_error(error, one, both):
    """(1 - P_1 - P_2) err + P_1 (1/4 + err/2) + P_2/2: 0-1 error after random deletion (eq-li-3-4-random).

    P_1 and P_2 are the probabilities that exactly one label, or both, have lost every row that speaks.
    """
    return (1 - one - both) * error + one * (0.25 + error / 2) + both / 2
