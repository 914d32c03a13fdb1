"""Softmax attention head by head: its scores, and what it is without softmax."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.layers import SoftmaxAttention, heads
from icl_lib.models.contextual.weights import Weights
from papers.dherin.network import Network


def parts(network: Network, weights: Weights) -> tuple[SoftmaxAttention, Weights]:
    """Return the layer of the one block, and the block's weights."""
    return network.block.joint.layer, network.blocks(weights)[0]


def keys(layer: SoftmaxAttention, block: Weights, query: Float[Tensor, "B n"]) -> Float[Tensor, "B h n"]:
    """Return what scores are products with: <key, token> under a query."""
    W_Q, W_K, _, _ = heads(layer, block)
    return torch.einsum("hcn,hcm,bm->bhn", W_K, W_Q, query) / layer.head_width**0.5


def scored(layer: SoftmaxAttention, block: Weights, sequence: Float[Tensor, "B T n"]) -> tuple[Tensor, Tensor]:
    """Return the tokens, the query now first (trial, T, n), and their scores under it (trial, h, T)."""
    order = torch.cat([sequence[:, -1:], sequence[:, :-1]], 1)
    return order, torch.einsum("bhn,btn->bht", keys(layer, block, sequence[:, -1]), order)


def sums_along(layer: SoftmaxAttention, block: Weights, sequence: Float[Tensor, "B T n"]) -> Float[Tensor, "B T k"]:
    """Return the layer without softmax along the context: values times raw scores, summed."""
    (_, _, W_V, W_O), (order, scores) = heads(layer, block), scored(layer, block, sequence)
    return torch.einsum("khc,hcn,bhtn->btk", W_O, W_V, (scores[..., None] * order[:, None]).cumsum(2))


def seen(block: Weights, moved: Float[Tensor, "B N k"]) -> Float[Tensor, "B N"]:
    """Return |W moved|."""
    return torch.einsum("mk,bnk->bnm", block["W"], moved).norm(dim=-1)
