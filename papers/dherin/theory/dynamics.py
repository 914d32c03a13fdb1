"""Section 3: what the context does to W token by token, written as steps, and the path that consumes it from the left.

a_i = A(c_1 .. c_i, x), i = 0 .. N, and b_i = A(c_{i+1} .. c_N, x), i = 0 .. N, so that a_0 = b_N = A(x) and
a_N = b_0 = A(C, x); K = N + 1. Prompts are leading dimensions; W_0 is one matrix. Nothing is added to a denominator.

W_0 a_i = 3, 2, 8 here, and W_i a_0 follows. Consumed from the left, the same tokens end in another matrix of the same effect:

>>> import numpy as np
>>> from papers.dherin.theory.dynamics import follow, left_product, path, rate, step_matrices
>>> W_0, a = np.array([[1.0, 2.0]]), np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 4.0]])
>>> path(W_0, a)[:, 0].round(4).tolist(), bool(np.allclose(path(W_0, a), follow(W_0, step_matrices(W_0, a), rate(a[0]))))
([[1.0, 2.0], [0.5, 1.5], [3.5, 4.5]], True)
>>> left_product(W_0, a[::-1]).round(4).tolist(), float((left_product(W_0, a[::-1]) @ a[0]).round(4)[0])
([[5.0, 3.0]], 8.0)
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

# --- the path of proposition 3.1 ----------------------------------------------------------------------------------


def rate(a: Float[ndarray, "... n"]) -> float | Float[ndarray, "..."]:
    """h = 1/|a|^2, a = A(x) (eq-dherin-3-step). Raises ValueError at a = 0."""
    square = (a**2).sum(-1)
    if (square == 0).any():
        raise ValueError("A is 0 for one of the prompts, and the rate 1/|A|^2 does not exist there: the theorem needs A != 0")
    return 1 / square


def path(W_0: Float[ndarray, "m n"], a: Float[ndarray, "... K n"]) -> Float[ndarray, "... K m n"]:
    """W_i = W_0 + W_0 (a_i - a_0) a_0^T / |a_0|^2, i = 0 .. N (eq-dherin-3-path)."""
    change = np.einsum("mn,...in->...im", W_0, a - a[..., :1, :])
    return W_0 + np.einsum("...im,...n,...->...imn", change, a[..., 0, :], rate(a[..., 0, :]))


def step_matrices(W_0: Float[ndarray, "m n"], a: Float[ndarray, "... K n"]) -> Float[ndarray, "... K-1 m n"]:
    """Delta_i = W_0 (a_i - a_{i+1}) a_0^T, i = 0 .. N - 1 (eq-dherin-3-delta)."""
    return np.einsum("mn,...in,...k->...imk", W_0, a[..., :-1, :] - a[..., 1:, :], a[..., 0, :])


def follow(
    W_0: Float[ndarray, "m n"], Delta: Float[ndarray, "... N m n"], h: float | Float[ndarray, "..."]
) -> Float[ndarray, "... N+1 m n"]:
    """W_{i+1} = W_i - h Delta_i from W_0, one step after another (eq-dherin-3-step)."""
    found = [np.broadcast_to(W_0, (*Delta.shape[:-3], *W_0.shape))]
    for i in range(Delta.shape[-3]):
        found.append(found[-1] - np.asarray(h)[..., None, None] * Delta[..., i, :, :])
    return np.stack(found, -3)


def path_vectors(W_0: Float[ndarray, "m n"], a: Float[ndarray, "... K n"]) -> Float[ndarray, "... K m"]:
    """W_0 (a_i - a_0) / |a_0|: vectors with the distances and angles of the matrices W_i - W_0 (eq-dherin-3-vectors)."""
    change = np.einsum("mn,...in->...im", W_0, a - a[..., :1, :])
    return change * rate(a[..., 0, :])[..., None, None] ** 0.5


def ahead(W: Float[ndarray, "... K m n"]) -> Float[ndarray, "... K-1 m n"]:
    """W_0 + W_{i+1} - W_1, i = 0 .. N - 1: where steps with the index as printed lead (eq-dherin-3-ahead)."""
    return W[..., :1, :, :] + W[..., 1:, :, :] - W[..., 1:2, :, :]


# --- losses whose gradient steps these are ------------------------------------------------------------------------


def linear_loss(Delta: Float[ndarray, "... m n"], W: Float[ndarray, "... m n"]) -> float | Float[ndarray, "..."]:
    """L(W) = trace(Delta^T W), whose gradient is Delta at every W (eq-dherin-3-loss)."""
    return np.einsum("...mn,...mn->...", Delta, W)


def decrease(Delta: Float[ndarray, "... m n"], h: float | Float[ndarray, "..."]) -> float | Float[ndarray, "..."]:
    """L(W) - L(W - h Delta) = h |Delta|^2 (eq-dherin-3-decrease).

    h of one step, or one for each Delta, as rate(a_0)[..., None] is.
    """
    return h * (Delta**2).sum((-2, -1))


def falls(W_0: Float[ndarray, "m n"], a: Float[ndarray, "... K n"]) -> Float[ndarray, "... K-1"]:
    """h |Delta_i|^2 = |W_0 (a_i - a_{i+1})|^2, i = 0 .. N - 1: A(x) drops out (eq-dherin-3-decrease)."""
    return (np.einsum("mn,...in->...im", W_0, np.diff(a, axis=-2)) ** 2).sum(-1)


def moving_gradient(
    W: Float[ndarray, "... m n"], difference: Float[ndarray, "... n"], a: Float[ndarray, "... n"]
) -> Float[ndarray, "... m n"]:
    """W (D + D^T), D = (a_i - a_{i+1}) a_0^T: the gradient of trace((W D)^T W), Delta made with W (eq-dherin-3-moving)."""
    D = np.einsum("...k,...n->...kn", difference, a)
    return np.einsum("...mk,...kn->...mn", W, D + D.swapaxes(-1, -2))


def frozen_gradients(V: Float[ndarray, "... K m n"], h: float) -> Float[ndarray, "... K-1 m n"]:
    """(V_i - V_{i+1}) / h, which makes any sequence a descent on linear losses (eq-dherin-3-any)."""
    return (V[..., :-1, :, :] - V[..., 1:, :, :]) / h


def quadratic_loss(
    W: Float[ndarray, "... m n"], a: Float[ndarray, "... n"], target: Float[ndarray, "... m"]
) -> float | Float[ndarray, "..."]:
    """Q(W) = |W a_0 - target|^2 / 2, target = W_0 a_{i+1} (eq-dherin-3-quadratic)."""
    return ((np.einsum("...mn,...n->...m", W, a) - target) ** 2).sum(-1) / 2


def quadratic_gradient(
    W: Float[ndarray, "... m n"], a: Float[ndarray, "... n"], target: Float[ndarray, "... m"]
) -> Float[ndarray, "... m n"]:
    """(W a_0 - target) a_0^T, which at W = W_i is Delta_i (eq-dherin-3-quadratic)."""
    return np.einsum("...m,...n->...mn", np.einsum("...mn,...n->...m", W, a) - target, a)


# --- consuming from the left --------------------------------------------------------------------------------------


def left_matrices(b: Float[ndarray, "... K n"]) -> Float[ndarray, "... K-1 n n"]:
    """A_i = (b_{i-1} - b_i) b_i^T, i = 1 .. N (eq-dherin-3-left)."""
    return np.einsum("...ik,...in->...ikn", b[..., :-1, :] - b[..., 1:, :], b[..., 1:, :])


def left_consuming(W_0: Float[ndarray, "m n"], b: Float[ndarray, "... K n"]) -> Float[ndarray, "... K m n"]:
    """W_i = W_{i-1} (I + h_i A_i), h_i = 1/|b_i|^2, i = 1 .. N (eq-dherin-3-left)."""
    A, h = left_matrices(b), rate(b[..., 1:, :])
    found = [np.broadcast_to(W_0, (*b.shape[:-2], *W_0.shape))]
    for i in range(A.shape[-3]):
        found.append(found[-1] + h[..., i, None, None] * np.einsum("...mk,...kn->...mn", found[-1], A[..., i, :, :]))
    return np.stack(found, -3)


def left_product(W_0: Float[ndarray, "m n"], b: Float[ndarray, "K n"]) -> Float[ndarray, "m n"]:
    """W_N = W_0 (I + h_1 A_1) ... (I + h_N A_N), of one prompt (eq-dherin-3-product)."""
    return np.linalg.multi_dot([W_0, np.eye(b.shape[1]), *(np.eye(b.shape[1]) + rate(b[1:])[:, None, None] * left_matrices(b))])


def skew(full: Float[ndarray, "... n"], bare: Float[ndarray, "... n"]) -> float | Float[ndarray, "..."]:
    """sqrt(2) sin of the angle between b_{i-1} - b_i and b_i: how far the step is from a gradient (eq-dherin-3-skew).

    NaN where one of the two is 0.
    """
    difference = full - bare
    along = ((difference * bare).sum(-1) / (bare**2).sum(-1))[..., None] * bare
    return np.sqrt(2) * np.linalg.norm(difference - along, axis=-1) / np.linalg.norm(difference, axis=-1)


def left_least(W_0: Float[ndarray, "m n"], b: Float[ndarray, "... K n"]) -> Float[ndarray, "... K m n"]:
    """W_0 (b_0 - b_i) b_i^T / |b_i|^2: the least change that does to b_i what W_i - W_0 does (eq-dherin-3-norm)."""
    change = np.einsum("mn,...in->...im", W_0, b[..., :1, :] - b)
    return np.einsum("...im,...in,...i->...imn", change, b, rate(b))


def rank_bound(N: int, hidden: int, width: int, span: int) -> int:
    """min(N, hidden, width, span) >= rank(W_N - W_0) when A lives in a space of ``span`` dimensions (eq-dherin-3-rank)."""
    return min(N, hidden, width, span)


def attention_span(heads: int, head_width: int, inputs: int, outputs: int) -> int:
    """min(outputs, heads min(head_width, inputs)): dimensions in which softmax attention's output lives (eq-dherin-3-rank)."""
    return min(outputs, heads * min(head_width, inputs))


def linear_span(heads: int, d: int) -> int:
    """m d - m(m-1)/2, m = min(heads, d): dimensions in which a token moves linear attention (eq-dherin-3-linear-rank).

    Tokens are (x, <w, x>), labels without noise. One head: d. As many heads as d, or more: d(d+1)/2. The output has to have as
    many entries, or it bounds them.
    """
    m = min(heads, d)
    return m * d - m * (m - 1) // 2
