"""One paper's weights as another's: linear self-attention of Zhang et al. as a contextual layer of Dherin et al., and back."""

import torch

from icl_lib.models.contextual.weights import Weights
from icl_lib.models.linear_attention import LinearSelfAttention
from papers.lenses.blocks import key_value


def contextual(model: LinearSelfAttention, rho: float) -> Weights:
    """Return W_Q, W_K, W_V of A(C, z) = z + sum_i W_V z_i <W_K z_i, W_Q z>, which is f_LSA at the last token.

    Values are those of W_PV, scores those of W_KQ over the divisor rho; the query is in the sum where it is in C.
    """
    return key_value(model.W_PV, model.W_KQ, rho)


def self_attention(weights: Weights, rho: float) -> LinearSelfAttention:
    """Return W_PV = W_V and W_KQ = rho W_K^T W_Q: any factorisation of the scores gives the same model."""
    return LinearSelfAttention(weights["W_V"], rho * torch.einsum("...ki,...kj->...ij", weights["W_K"], weights["W_Q"]))
