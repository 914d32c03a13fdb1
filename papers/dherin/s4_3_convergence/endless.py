"""Softmax attention after an endless context of one task, x ~ N(0, I), and kappa, the size of what n tokens leave."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.layers import SoftmaxAttention, heads
from icl_lib.models.contextual.weights import Weights
from papers.dherin.s4_3_convergence.heads import keys, seen
from papers.dherin.theory import convergence


def tilt(
    layer: SoftmaxAttention, block: Weights, sequence: Float[Tensor, "B T n"], w: Float[Tensor, "B d"]
) -> Float[np.ndarray, "B h d"]:
    """Return b: the scores of a task's examples under the query, the last token, are <b, x>."""
    d, key = w.shape[-1], keys(layer, block, sequence[:, -1])
    return (key[..., :d] + key[..., d:] * w[:, None]).numpy()


def task_values(layer: SoftmaxAttention, block: Weights, w: Float[Tensor, "B d"]) -> Float[np.ndarray, "B h m d"]:
    """Return G: what W sees of a task's example in one head is G x."""
    d, (_, _, W_V, W_O) = w.shape[-1], heads(layer, block)
    token = torch.cat([torch.eye(d, dtype=w.dtype).expand(len(w), d, d), w[:, None]], 1)  # [I; w^T]
    return torch.einsum("mk,khc,hcn,bnd->bhmd", block["W"], W_O, W_V, token).numpy()


def endless_context(
    layer: SoftmaxAttention, block: Weights, sequence: Float[Tensor, "B T n"], w: Float[Tensor, "B d"]
) -> Float[Tensor, "B k"]:
    """Return A at the query, the last token, after an endless context of each task."""
    (_, _, W_V, W_O), b = heads(layer, block), tilt(layer, block, sequence, w)
    tilted = torch.from_numpy(convergence.limit(b, np.broadcast_to(w[:, None].numpy(), b.shape)))
    return torch.einsum("khc,hcn,bhn->bk", W_O, W_V, tilted)


def distances(
    layer: SoftmaxAttention,
    block: Weights,
    sequence: Float[Tensor, "B T n"],
    w: Float[Tensor, "B d"],
    a: Float[Tensor, "B T k"],
) -> Float[Tensor, "B N"]:
    """Return |W (A_n - A_oo)|, n = 1 .. N; a are A_0 .. A_N."""
    return seen(block, a[:, 1:] - endless_context(layer, block, sequence, w)[:, None])


def untilted(G: Float[np.ndarray, "B h m d"], b: Float[np.ndarray, "B h d"]) -> Float[np.ndarray, "B"]:
    """Return kappa with I in the place of I + b_g b_h^T, a near miss."""
    weight, spread = np.exp(np.einsum("bhd,bgd->bhg", b, b)), np.einsum("bhmd,bgmd->bhg", G, G, optimize=True)
    return np.sqrt((weight * spread).sum((-2, -1)))
