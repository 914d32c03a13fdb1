"""What training does to the weights of a softmax-attention MLP (Li et al., section 4)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from papers.li.softmax_attention import SoftmaxAttentionMLP


def bilinear_form(model: SoftmaxAttentionMLP) -> Float[Tensor, "... D D"]:
    """Return W_K^T W_Q: the score of context p under query p' is p^T W_K^T W_Q p'."""
    return torch.einsum("...ai,...aj->...ij", model.W_K, model.W_Q)


class Growth(NamedTuple):
    """Length of W p and of its projection on the input's relevant pattern, for each relevant pattern."""

    norm: Float[Tensor, "... M1"]
    projection: Float[Tensor, "... M1"]


def growth(W: Float[Tensor, "... m_a D"], relevant: Float[Tensor, "... M1 d"]) -> Growth:
    """Return |W p_j| and <p_j/|p_j|, W p_j> for p_j = (mu_j; 0); needs m_a = D, as in ``initial_weights``."""
    d = relevant.shape[-1]
    image = torch.einsum("...ai,...ji->...ja", W[..., :d], relevant)
    along = torch.einsum("...ji,...ji->...j", image[..., :d], relevant) / relevant.norm(dim=-1)
    return Growth(image.norm(dim=-1), along)


class Neurons(NamedTuple):
    """The rows of W_O W_V, split at d_X into a feature part and a label part."""

    feature: Float[Tensor, "... m d_X"]
    label: Float[Tensor, "... m d_Y"]


def neurons(model: SoftmaxAttentionMLP) -> Neurons:
    """Return feature and label parts of the rows of W_O W_V."""
    rows = torch.einsum("...mv,...vj->...mj", model.W_O, model.W_V)
    d_X = rows.shape[-1] - model.q.shape[-1]
    return Neurons(rows[..., :d_X], rows[..., d_X:])
