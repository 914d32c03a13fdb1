"""Appendix A of v1: patches of blocks with skip connections.

T = v + W' g(W z + b) + b'. What the MLP reads is z, what the skip carries is v; both depend on the context.

Where the MLP reads A alone and the skip carries v = x + A, both patches together give without Y what the block gives with it,
(4, 1) + (1, 2) tanh(1), by DeltaW = W (2, 0)^T (1, 1)/2 = (0.1, 0.1) and Delta b' = (2, 0):

>>> import numpy as np
>>> from papers.dherin.theory.skip_connections import bias_update, outer_skip_block, weight_update
>>> x, a, a_full, b = (np.array(v) for v in ([1.0, 0.0], [1.0, 1.0], [3.0, 1.0], [0.5]))
>>> W, W_out = np.array([[0.1, 0.2]]), np.array([[1.0], [2.0]])
>>> without = a, W + weight_update(W, a, a_full), b, W_out, bias_update(x + a, x + a_full)
>>> [outer_skip_block(x, *given).round(4).tolist() for given in (without, (a_full, W, b, W_out, 0))]
[[4.7616, 2.5232], [4.7616, 2.5232]]
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def weight_update(
    W: Float[ndarray, "... m n"], z: Float[ndarray, "... n"], z_full: Float[ndarray, "... n"]
) -> Float[ndarray, "... m n"]:
    """DeltaW(Y) = W (z_full - z) z^T / |z|^2 (eq-dherin-skip-update). Raises ValueError at z = 0."""
    square = (z**2).sum(-1)
    if (square == 0).any():
        raise ValueError("what the MLP reads without Y is 0 for one of the prompts, so no matrix can act on it")
    return np.einsum("...m,...n->...mn", np.einsum("...mn,...n->...m", W, z_full - z), z / square[..., None])


def bias_update(v: Float[ndarray, "... D"], v_full: Float[ndarray, "... D"]) -> Float[ndarray, "... D"]:
    """Delta b'(Y) = v_full - v, which is DeltaA(Y) where v = x + A (eq-dherin-skip-update)."""
    return v_full - v


def layer_norm(
    x: Float[ndarray, "... D"], gain: Float[ndarray, "... D"], bias: Float[ndarray, "... D"], epsilon: float
) -> Float[ndarray, "... D"]:
    """gain (x - mean(x)) / sqrt(var(x) + epsilon) + bias (eq-dherin-skip-usual)."""
    x = x - x.mean(-1, keepdims=True)
    return gain * x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) + bias


def outer_skip_block(x, a, W, b, W_out, b_out):
    """x + a + W' g(W a + b) + b', a = A(C, x), g = tanh: the block of v1 (eq-dherin-skip-block), for one token."""
    return x + a + W_out @ np.tanh(W @ a + b) + b_out
