"""One paper's weights as another's: self-attention of Zhang et al., a layer of Dherin et al., a network of Li et al."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.weights import Weights
from icl_lib.models.linear_attention import LinearSelfAttention
from papers.lenses.blocks import key_value
from papers.li.softmax_attention import SoftmaxAttentionMLP


def contextual(model: LinearSelfAttention, rho: float) -> Weights:
    """Return W_Q, W_K, W_V of A(C, z) = z + sum_i W_V z_i <W_K z_i, W_Q z>, which is f_LSA at the last token.

    Values are those of W_PV, scores those of W_KQ over the divisor rho; the query is in the sum where it is in C.
    """
    return key_value(model.W_PV, model.W_KQ, rho)


def self_attention(weights: Weights, rho: float) -> LinearSelfAttention:
    """Return W_PV = W_V and W_KQ = rho W_K^T W_Q: any factorisation of the scores gives the same model."""
    return LinearSelfAttention(weights["W_V"], rho * torch.einsum("...ki,...kj->...ij", weights["W_K"], weights["W_Q"]))


def classifier(weights: Weights, W_O: Float[Tensor, "m D"], a: Float[Tensor, "m"], l: int) -> SoftmaxAttentionMLP:
    """Return Li et al.'s network on l contexts whose linear variant answers a^T W_O (A(C, z) - z): no skip, no ReLU.

    Labels have one slot, q = 1. The variant divides scores by l, so keys are l times as long.
    """
    return SoftmaxAttentionMLP(weights["W_Q"], l * weights["W_K"], weights["W_V"], W_O, a, W_O.new_ones(1))


def layer(model: SoftmaxAttentionMLP, l: int) -> Weights:
    """Return W_Q, W_K, W_V of the contextual layer in the linear variant of a network of Li et al. with one label slot."""
    return {"W_Q": model.W_Q, "W_K": model.W_K / l, "W_V": model.W_V}
