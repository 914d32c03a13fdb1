"""Section 1: what the network can do without its softmax, without its ReLU, and without both (derived here).

Letters: u = W_V^T W_O^T a = (u_X; u_Y) is what a linear MLP reads out; M = W_K^T W_Q is the form of the scores;
c = delta^2 beta^2 is the score of a context with the query's pattern at the start.

Of features 4 S_1/2 and labels 3/2 the ReLU makes the linear 2 * 3/2 at S_1 = 1, 1.7 - 0 at S_1 = 0.1 and nothing at S_1 = -1.
Votes with positive and with negative weights share the (3/4)^4 of absence as 60 to 21:

>>> from papers.li.theory.nonlinearity import absent_error, two_types, two_types_linear
>>> [round(two_types(S_1, total=0.5, votes=0.5, gamma=4.0, eta=3.0), 4) for S_1 in (1.0, 0.1, -1.0)]
[3.0, 1.7, 0.0]
>>> two_types_linear(0.5, eta=3.0), round(absent_error(0.5, 4, 1), 4), round(absent_error(0.5, 4, -1), 4)
(3.0, 0.2344, 0.082)
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.stats import binom


def readout(a: Float[ndarray, "m"], W_O: Float[ndarray, "m m_b"], W_V: Float[ndarray, "m_b D"]) -> Float[ndarray, "D"]:
    """u = W_V^T W_O^T a."""
    return W_V.T @ W_O.T @ a


def vote(
    attention: Float[ndarray, "l"],
    x: Float[ndarray, "l d"],
    y: Float[ndarray, "l"],
    u: Float[ndarray, "D"],
    q: Float[ndarray, "d_Y"],
) -> float:
    """F = <u_Y, q> sum_i attn_i y_i + sum_i attn_i <u_X, x_i>: a linear MLP is a weighted vote and a feature term."""
    d = x.shape[-1]
    return float(u[d:] @ q * (attention @ y) + attention @ (x @ u[:d]))


def margin_slope(
    relevant: Float[ndarray, "M1 d"], M: Float[ndarray, "D D"], u: Float[ndarray, "D"], q: Float[ndarray, "d_Y"]
) -> float:
    """G in E[z F] = (alpha'/2) G for attn_i = s_i/l and a linear MLP, over all tasks and whatever l (eq-li-1-slope); M1 >= 2.

    Mean over ordered pairs j != k of
    (mu_j^T M mu_j - mu_k^T M mu_j) <u_Y, q> + (q^T M mu_j) <u_X, mu_j - mu_k>, mu = (mu; 0) and q = (0; q) in M.
    """
    M1, d = relevant.shape
    score = relevant @ M[:d, :d] @ relevant.T  # [k, j]: context k, query j
    label_score = q @ M[d:, :d] @ relevant.T
    feature = relevant @ u[:d]
    own = np.diag(score) * (u[d:] @ q) + label_score * feature
    partner = score * (u[d:] @ q) + label_score * feature[:, None]
    return float(own.mean() - partner[~np.eye(M1, dtype=bool)].mean())


def two_types(S_1: float, total: float, votes: float, *, gamma: float, eta: float) -> float:
    """ReLU(gamma S_1 w + eta v) - ReLU(gamma S_1 w - eta v), w = sum_i attn_i, v = sum_i attn_i y_i.

    Two types of neurons with one feature part and opposite label parts, feeding a = +1 and a = -1.
    """
    feature, label = gamma * S_1 * total, eta * votes
    return float(max(0, feature + label) - max(0, feature - label))


def two_types_linear(votes: float, *, eta: float) -> float:
    """The same without the ReLU: 2 eta v."""
    return 2 * eta * votes


def softmax_signal(c: float, alpha: float, l: int) -> float:
    """E[z sum_i attn_i y_i] = c (alpha/2)(1 - 1/l) to first order in c, softmax attention."""
    return c * alpha / 2 * (1 - 1 / l)


def linear_signal(c: float, alpha: float) -> float:
    """E[z sum_i attn_i y_i] = c alpha/2, exactly, linear attention with score c on the query's pattern and 0 elsewhere."""
    return c * alpha / 2


def absent_error(alpha: float, l: int, sign: int) -> float:
    """P(query's pattern absent) P(a vote of the other contexts with weights of one ``sign`` is wrong), ties by a coin.

    Given absence a context has the wrong label -z with probability (alpha/2 + (1 - alpha)/2) / (1 - alpha/2). Positive
    weights follow the majority of labels, negative weights go against it. Raises ValueError for another sign.
    """
    if sign not in (1, -1):
        raise ValueError(f"sign = {sign}: the weights of a vote are positive (1) or negative (-1)")
    p_wrong = 0.5 / (1 - alpha / 2)
    wrong = np.arange(l + 1)
    loses = np.where(2 * wrong == l, 0.5, sign * (2 * wrong - l) > 0)
    return float((1 - alpha / 2) ** l * (binom.pmf(wrong, l, p_wrong) * loses).sum())
