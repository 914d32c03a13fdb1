"""All positions, all blocks (Innocenti and Achour): one update for every token of a prompt, from the query alone.

A token i of a block's input is z_i, the query x. With skips s_i = A(C, x)_i + z_i leaves the attention half of the block and
s = A(x) + x is the same for the query alone; without skips s_i = A(C, x)_i and s = A(x). What the MLP reads is n_i = norm(s_i).
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

# --- one token ----------------------------------------------------------------------------------------------------


def layer_norm(
    s: Float[ndarray, "... D"], gain: Float[ndarray, "D"], bias: Float[ndarray, "D"], epsilon: float
) -> Float[ndarray, "... D"]:
    """g (s - mean(s)) / sqrt(var(s) + epsilon) + b, mean and variance over the D entries (eq-dherin-positions-norm)."""
    centred = s - s.mean(-1, keepdims=True)
    return gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) + bias


def weight_update(
    W: Float[ndarray, "m D"], read: Float[ndarray, "... D"], base: Float[ndarray, "D"], epsilon: float = 0.0
) -> Float[ndarray, "... m D"]:
    """DeltaW_i = W (n_i - n) n^T / (|n|^2 + epsilon) (eq-dherin-positions-weight); the theorem has epsilon = 0.

    read    n_i, what the MLP reads at token i in the whole prompt: A(C, x)_i + z_i with skips and without norm
    base    n, what it reads for the query alone. At n = 0 and epsilon = 0 the entries are not finite.

    W n = 5 and W n_i = 9, 1. With |n|^2 = 5 an epsilon of 15 leaves out 15/20 of the change:

    >>> import numpy as np
    >>> from papers.dherin.theory.positions import missing_share, weight_update
    >>> W, read, base = np.array([[1.0, 2.0]]), np.array([[3.0, 3.0], [1.0, 0.0]]), np.array([1.0, 2.0])
    >>> [((W + weight_update(W, read, base, epsilon)) @ base)[:, 0].round(4).tolist() for epsilon in (0.0, 15.0)]
    [[9.0, 1.0], [6.0, 4.0]]
    >>> missing_share(5.0, 15.0)
    0.75
    """
    change = (read - base) @ W.T
    return change[..., :, None] * base / ((base**2).sum() + epsilon)


def bias_update(carried: Float[ndarray, "... D"], base: Float[ndarray, "D"]) -> Float[ndarray, "... D"]:
    """Delta b'_i = s_i - s = DeltaA_i + Deltaz_i, without norm (eq-dherin-positions-bias)."""
    return carried - base


def missing_share(base_square: float | Float[ndarray, "..."], epsilon: float) -> float | Float[ndarray, "..."]:
    """epsilon / (|n|^2 + epsilon): share of W (n_i - n) that an epsilon below leaves out (eq-dherin-positions-epsilon)."""
    return epsilon / (base_square + epsilon)


# --- many tokens --------------------------------------------------------------------------------------------------


def summed_update(W: Float[ndarray, "m D"], read: Float[ndarray, "T D"], base: Float[ndarray, "D"]) -> Float[ndarray, "m D"]:
    """sum_i DeltaW_i = W (sum_i (n_i - n)) n^T / |n|^2, a matrix of rank one (eq-dherin-positions-sum)."""
    return weight_update(W, base + (read - base).sum(0), base)


def alignment(W: Float[ndarray, "m D"], read: Float[ndarray, "T D"], base: Float[ndarray, "D"]) -> Float[ndarray, "T T"]:
    """<DeltaW_i, DeltaW_j> / (|DeltaW_i| |DeltaW_j|) = cos of W (n_i - n) and W (n_j - n) (eq-dherin-positions-alignment)."""
    change = (read - base) @ W.T
    unit = change / np.sqrt((change**2).sum(-1, keepdims=True))
    return unit @ unit.T


def shared_base_alignment(W: Float[ndarray, "m D"], token: Float[ndarray, "D D"], base: Float[ndarray, "D D"]) -> float:
    """tr(W B W^T) / (tr(W S W^T) + tr(W B W^T)), the alignment that one base token alone makes (eq-dherin-positions-shared).

    E <W d_i, W d_j> over E |W d_i|^2 with d_i = z_i - x, for independent centred tokens z_i of second moment ``token`` and a
    base x of second moment ``base``, no attention and no norm.
    """
    own, shared = (float(np.trace(W @ moment @ W.T)) for moment in (token, base))
    return shared / (own + shared)
