"""Section 2: a block with linear attention whose patch is one step of gradient descent on least squares.

The gradient at w = (1, 1) is -(1, 0) + 2 (1, 2) = (1, 4), so a step of 0.1 predicts <(0.9, 0.6), (1, 2)> = 2.1 at q; so does
W = (w, -1) on the attention to the context, and the patched W on q alone:

>>> import numpy as np
>>> from papers.dherin.theory.one_step import attention, patch, stepped
>>> w, x, y, q = np.array([1.0, 1.0]), np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([2.0, 1.0]), np.array([1.0, 2.0])
>>> W = np.r_[w, -1.0]
>>> predictions = stepped(w, x, y, 0.1, q), W @ attention(x, y, 0.1, q), (W + patch(w, x, y, 0.1, q))[0] @ np.r_[q, 0.0]
>>> [round(float(prediction), 4) for prediction in predictions]
[2.1, 2.1, 2.1]
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def loss(w: Float[ndarray, "d"], x: Float[ndarray, "N d"], y: Float[ndarray, "N"]) -> float:
    """L(w) = 1/2 sum_i (<w, x_i> - y_i)^2 (eq-dherin-2-loss)."""
    return float(0.5 * ((x @ w - y) ** 2).sum())


def gradient(w: Float[ndarray, "d"], x: Float[ndarray, "N d"], y: Float[ndarray, "N"]) -> Float[ndarray, "d"]:
    """sum_i (<w, x_i> - y_i) x_i, the gradient of L (eq-dherin-2-gradient)."""
    return (x @ w - y) @ x


def stepped(
    w: Float[ndarray, "d"], x: Float[ndarray, "N d"], y: Float[ndarray, "N"], eta: float, q: Float[ndarray, "d"]
) -> float:
    """<w - eta grad L(w), q>: the prediction at q after one step (eq-dherin-2-step)."""
    return float((w - eta * gradient(w, x, y)) @ q)


def memory(x: Float[ndarray, "N d"], y: Float[ndarray, "N"], eta: float) -> Float[ndarray, "d+1 d"]:
    """Delta(Y) = sum_i v_i k_i^T, v_i = (x_i, y_i), k_i = -eta x_i: Y adds Delta(Y) q (eq-dherin-2-memory)."""
    return -eta * np.c_[x, y].T @ x


def attention(x: Float[ndarray, "N d"], y: Float[ndarray, "N"], eta: float, q: Float[ndarray, "d"]) -> Float[ndarray, "d+1"]:
    """A(C, q) = (q, 0) + Delta(C) q: linear attention to the context alone, with a residual (eq-dherin-2-attention)."""
    return np.r_[q, 0.0] + memory(x, y, eta) @ q


def self_attention_excess(w: Float[ndarray, "d"], eta: float, q: Float[ndarray, "d"]) -> float:
    """-eta |q|^2 <w, q>: what the output gains when the query (q, 0) is a token of the sum, too (eq-dherin-2-self)."""
    return float(-eta * (q @ q) * (w @ q))


def patch(
    w: Float[ndarray, "d"], x: Float[ndarray, "N d"], y: Float[ndarray, "N"], eta: float, q: Float[ndarray, "d"]
) -> Float[ndarray, "1 d+1"]:
    """-eta <grad L(w), q> (q, 0)^T / |q|^2: Delta W(C) for W = (w, -1) (eq-dherin-2-projected)."""
    return -eta * (gradient(w, x, y) @ q) * np.r_[q, 0.0][None] / (q @ q)
