"""Section 4: what gradient descent does to the scores and to the neurons (derived here unless said otherwise).

p_i are the l context columns (x_i; y_i q), D numbers each; the rows w_r of W_O W_V are the m neurons; a their output
weights; G = dF/d(W_K^T W_Q). Patterns have norm beta; M1 of them are relevant.

Scores: phi_bar = 3/2 + 1/4 - 1/4, and the gradient sums to 0. Tasks (0, 1) and (0, 2) push by c (1 - 1/l) (alpha/4) = 0.4
times (1, -1/2, -1/2). At g = ln 3, two of five contexts hold 6/(6 + 3) of the attention, and
2/3 - (1/3) (1/3) of the label is left:

>>> import numpy as np
>>> from papers.li.theory.mechanism import attention_mass, attention_push, label_signal, score_gradient
>>> score_gradient(np.array([0.5, 0.25, 0.25]), np.array([3.0, 1.0, -1.0])).tolist()
[0.75, -0.125, -0.625]
>>> attention_push(np.array([[0, 1], [0, 2]]), 3, c=4.0, alpha=0.5, l=5)[0].round(4).tolist()
[0.4, -0.2, -0.2]
>>> mass = float(attention_mass(2, 5, np.log(3)))
>>> round(mass, 4), round(label_signal(mass, share=0.25), 4)
(0.6667, 0.5556)
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy.special import expit, logsumexp
from scipy.stats import binom


def context_outputs(
    a: Float[ndarray, "m"], active: Bool[ndarray, "m"], rows: Float[ndarray, "m D"], contexts: Float[ndarray, "l D"]
) -> Float[ndarray, "l"]:
    """phi_i = sum_r a_r 1[neuron r active] <w_r, p_i>: what context i says through neurons that are on (eq-li-4-phi)."""
    return contexts @ (rows.T @ (a * active))


def score_gradient(attention: Float[ndarray, "l"], phi: Float[ndarray, "l"]) -> Float[ndarray, "l"]:
    """dF/ds_i = attn_i (phi_i - phi_bar) with phi_bar = sum_j attn_j phi_j = F, s_i the score of context i."""
    return attention * (phi - attention @ phi)


def form_gradient(
    slope: Float[ndarray, "l"], contexts: Float[ndarray, "l D"], query: Float[ndarray, "D"]
) -> Float[ndarray, "D D"]:
    """G = sum_i (dF/ds_i) p_i p_query^T: the gradient of F in W_K^T W_Q as one matrix; ``slope`` is dF/ds."""
    return np.outer(contexts.T @ slope, query)


def query_gradient(W_K: Float[ndarray, "n D"], G: Float[ndarray, "D D"]) -> Float[ndarray, "n D"]:
    """dF/dW_Q = W_K G."""
    return W_K @ G


def key_gradient(W_Q: Float[ndarray, "n D"], G: Float[ndarray, "D D"]) -> Float[ndarray, "n D"]:
    """dF/dW_K = W_Q G^T."""
    return W_Q @ G.T


def hinge_slope(F: float, z: float, c: float = 1.0) -> float:
    """d max{0, c - z F}/dF = -z while z F < c, and 0 from there on."""
    return -z if z * F < c else 0.0


# --- the push on the scores -----------------------------------------------------------------------------------------


def require_tasks(tasks: Int[ndarray, "n 2"], M1: int) -> None:
    """Raise ValueError when there is no task, or one that pairs a pattern with itself or names one that is not there."""
    if len(tasks) == 0 or (tasks[:, 0] == tasks[:, 1]).any() or tasks.min() < 0 or tasks.max() >= M1:
        raise ValueError(f"tasks are pairs of different patterns among 0..{M1 - 1}, at least one of them")


def task_laplacian(tasks: Int[ndarray, "n 2"], M1: int) -> Float[ndarray, "M1 M1"]:
    """Lap = (1/n) sum over tasks (a, b) of (e_a - e_b)(e_a - e_b)^T, the Laplacian of the graph of tasks over n (eq-li-4-push).

    Raises ValueError as ``require_tasks`` does.
    """
    require_tasks(tasks, M1)
    difference = np.eye(M1)[tasks[:, 0]] - np.eye(M1)[tasks[:, 1]]
    return difference.T @ difference / len(tasks)


def attention_push(tasks: Int[ndarray, "n 2"], M1: int, c: float, alpha: float, l: int) -> Float[ndarray, "M1 M1"]:
    """The pattern part sum_jk P_jk mu_j mu_k^T of E[z G], all of it for balanced labels: P = c (1 - 1/l) (alpha/4) Lap.

    At uniform attention over l >= 1 contexts and phi_i = c y_i. Raises ValueError as ``require_tasks`` does.
    """
    return c * (1 - 1 / l) * alpha / 4 * task_laplacian(tasks, M1)


def mode_growth(eigenvalue: Float[ndarray, "*S"], beta: float, alpha: float, l: int, total: float) -> Float[ndarray, "*S"]:
    """ln(u^T W_K^T W_Q u / delta^2) = 2 beta^2 (1 - 1/l) (alpha/4) lambda total, total = eta sum_t c_t, u a mode of Lap.

    To first order in eta, while attention is near uniform.
    """
    return 2 * beta**2 * (1 - 1 / l) * alpha / 4 * eigenvalue * total


def eigenspaces(S: Float[ndarray, "M M"]) -> tuple[Float[ndarray, "N"], Float[ndarray, "N M M"]]:
    """The distinct eigenvalues of a symmetric S, rising, apart by more than 1e-9, and the projectors P on their spaces."""
    eigenvalue, basis = np.linalg.eigh(S)
    ends = np.flatnonzero(np.diff(eigenvalue) > 1e-9) + 1
    spaces = np.split(basis, ends, axis=1)
    return np.array([part.mean() for part in np.split(eigenvalue, ends)]), np.array([u @ u.T for u in spaces])


def mean_on_spaces(P: Float[ndarray, "N M M"], S: Float[ndarray, "*B M M"]) -> Float[ndarray, "*B N"]:
    """tr(P S) / tr P, the mean of u^T S u over the unit vectors u of each space; whichever basis it has."""
    return np.einsum("nij,...ji->...n", P, S) / np.einsum("nii->n", P)


def attention_mass(n: float | ndarray, l: int, g: float | ndarray) -> float | ndarray:
    """n e^g / (n e^g + l - n): the attention on n of l contexts whose scores are g above those of the others.

    Raises ValueError unless 0 <= n <= l.
    """
    if np.any(np.asarray(n) < 0) or np.any(np.asarray(n) > l):
        raise ValueError(f"{n} of {l} contexts: take 0 to {l}")
    with np.errstate(divide="ignore"):  # no context, or all of them
        return expit(np.log(n) - np.log(l - np.asarray(n)) + np.asarray(g))


def attention_mass_from_gap(g: Float[ndarray, "*S"], l: int, share: float) -> Float[ndarray, "*S"]:
    """The mean of ``attention_mass`` over n ~ Binomial(l, share) given n >= 1."""
    n = np.arange(1, l + 1)
    weight = binom.pmf(n, l, share) / (1 - binom.pmf(0, l, share))
    return attention_mass(n, l, np.asarray(g)[..., None]) @ weight


def score_gap(scores: Float[ndarray, "*S M1 M1"], others: Float[ndarray, "M1 M1"]) -> Float[ndarray, "*S M1"]:
    """g_k = -ln sum_j others_jk e^(s_jk - s_kk): the gap that a query with pattern k has over the mix of the others.

    ``scores[j, k]`` is the score of context pattern j under query pattern k; ``others[j, k]`` the share of pattern j
    among the contexts without the query's pattern, columns of sum 1 with a zero diagonal (raises ValueError else).
    """
    if not np.allclose(others.sum(0), 1) or np.diagonal(others).any():
        raise ValueError("each column of ``others`` is a distribution over the patterns but the query's: sum 1, diagonal 0")
    own = np.diagonal(scores, axis1=-2, axis2=-1)[..., None, :]
    return -logsumexp(scores - own, axis=-2, b=others)


# --- the push on the neurons ----------------------------------------------------------------------------------------


def row_push(
    a_r: float, z: Float[ndarray, "B"], active: Bool[ndarray, "B"], value: Float[ndarray, "B n"]
) -> Float[ndarray, "n"]:
    """a_r E[z 1[neuron r active] W_V p_bar], p_bar = sum_i attn_i p_i: the step of row r of W_O over eta, all z F < 1.

    ``value`` holds W_V p_bar, a row for each prompt.
    """
    return a_r * ((z * active)[:, None] * value).mean(0)


def label_signal(mass: float, share: float) -> float:
    """E[z sum_i attn_i y_i] = mass - (1 - mass) share/(1 - share): what the averaged label says about the query's.

    ``mass`` is the mean attention on the query's pattern, ``share`` = alpha/2. Zero at uniform attention, mass = share.
    """
    return mass - (1 - mass) * share / (1 - share)


def two_cluster_push(
    a_r: float, on_plus: bool, on_minus: bool, mu_bar: Float[ndarray, "d"], q: Float[ndarray, "k"]
) -> Float[ndarray, "d+k"]:
    """(a_r/2) (1[active at (mu_bar, q)] (mu_bar, q) - 1[active at (mu_bar, -q)] (mu_bar, -q)), W_V = I."""
    plus, minus = np.concatenate([mu_bar, q]), np.concatenate([mu_bar, -q])
    return a_r / 2 * (on_plus * plus - on_minus * minus)
