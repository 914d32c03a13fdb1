"""Section 4.3 of Dherin et al.: the update of softmax attention is a running weighted average seen through W.

Tokens come one by one with scores s_t and values v_t. Place 0 is the query itself, places 1, 2, ... are the context, so that
S_i = e^{s_0} + ... + e^{s_i} is the total weight after i tokens of context. T counts places, N = T - 1 the context.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def running_average(scores: Float[ndarray, "*b T"], values: Float[ndarray, "*b T c"]) -> Float[ndarray, "*b T c"]:
    """abar_i = (1/S_i) sum_{t <= i} e^{s_t} v_t: one head's output after i = 0 .. N tokens (eq-dherin-4-3-average)."""
    if np.shape(values)[:-1] != np.shape(scores):
        raise ValueError(
            f"scores and values have the shapes {np.shape(scores)} and {np.shape(values)}: give (.., T) and (.., T, c)"
        )
    averages, shares = [values[..., 0, :]], newest_share(scores)[..., None]
    for i in range(values.shape[-2] - 1):
        averages.append(averages[-1] + shares[..., i, :] * (values[..., i + 1, :] - averages[-1]))
    return np.stack(averages, -2)


def newest_share(scores: Float[ndarray, "*b T"]) -> Float[ndarray, "*b N"]:
    """p_{i+1} = e^{s_{i+1}}/S_{i+1}: the attention on the newest of i + 1 tokens, i = 0 .. N-1 (eq-dherin-4-3-share)."""
    return np.exp(scores - np.logaddexp.accumulate(scores, -1))[..., 1:]


def increment(scores: Float[ndarray, "*b T"], values: Float[ndarray, "*b T c"]) -> Float[ndarray, "*b N c"]:
    """p_{i+1} (v_{i+1} - abar_i): what the newest token adds to one head's output (eq-dherin-4-3-step).

    Weights 1, 3, 1: the averages are 4, 4/4 and 12/5, the shares of the newest 3/4 and 1/5:

    >>> import numpy as np
    >>> from papers.dherin.theory.convergence import increment, newest_share, running_average
    >>> scores, values = np.log([1.0, 3.0, 1.0]), np.array([[4.0], [0.0], [8.0]])
    >>> running_average(scores, values)[:, 0].round(4).tolist(), newest_share(scores).round(4).tolist()
    ([4.0, 1.0, 2.4], [0.75, 0.2])
    >>> increment(scores, values)[:, 0].round(4).tolist()  # 3/4 (0 - 4) and 1/5 (8 - 1)
    [-3.0, 1.4]
    """
    return newest_share(scores)[..., None] * (values[..., 1:, :] - running_average(scores, values)[..., :-1, :])


def marginal_update(
    W: Float[ndarray, "m k"],
    W_O: Float[ndarray, "k h c"],
    increments: Float[ndarray, "*b h N c"],
    a: Float[ndarray, "*b k"],
) -> Float[ndarray, "*b N m k"]:
    """DeltaW_{i+1} - DeltaW_i = W (sum_h W_O^h p^h (v^h - abar^h)) A(x)^T/|A(x)|^2 (eq-dherin-4-3-increment); a = A(x) != 0."""
    if not a.any(-1).all():
        raise ValueError("A(x) = 0: there is no update of W that could carry the context")
    moved = np.einsum("mk,khc,...hic->...im", W, W_O, increments, optimize=True)
    return np.einsum("...im,...k->...imk", moved, a / np.square(a).sum(-1, keepdims=True))


def mean_share(i: int, own: float) -> float:
    """(1 - own)/i: mean attention on the newest of i exchangeable tokens when the query keeps ``own`` (eq-dherin-4-3-mean)."""
    if i < 1:
        raise ValueError(f"a newest token needs a context of 1 or more tokens, not {i}")
    return (1 - own) / i


def limit(b: Float[ndarray, "*b d"], w: Float[ndarray, "*b d"]) -> Float[ndarray, "*b n"]:
    """(b; <w, b>): mean token under attention on endless context, x ~ N(0, I), scores <b, x> (eq-dherin-4-3-limit)."""
    return np.concatenate([b, (w * b).sum(-1, keepdims=True)], -1)


def kappa(G: Float[ndarray, "*b h m d"], b: Float[ndarray, "*b h d"]) -> float | Float[ndarray, "*b"]:
    """kappa = lim i |W(A_{i+1} - A_i)| = lim sqrt(i) |W(A_i - A_oo)|, both as root mean squares (eq-dherin-4-3-kappa).

    kappa^2 = sum_{h,g} e^{<b_h, b_g>} tr(G_h (I + b_g b_h^T) G_g^T), scores <b_h, x>, G_h = W W_O^h W_V^h [I; w^T].
    """
    weight = np.exp(np.einsum("...hd,...gd->...hg", b, b))
    gram = np.einsum("...hmd,...gme->...hgde", G, G, optimize=True)
    spread, tilted = np.einsum("...hgdd->...hg", gram), np.einsum("...hgde,...gd,...he->...hg", gram, b, b)
    return np.sqrt(np.maximum((weight * (spread + tilted)).sum((-2, -1)), 0))  # heads may cancel, but for rounding


def moving_average_step(p: float, sigma: float) -> float:
    """p sigma sqrt(2/(2 - p)): root mean square of p (v - s) once s <- s + p (v - s) is stationary (eq-dherin-4-3-forget).

    v are independent draws of variance sigma^2.
    """
    if not 0 < p <= 1:
        raise ValueError(f"a share must lie in (0, 1], not {p}")
    return p * sigma * (2 / (2 - p)) ** 0.5
