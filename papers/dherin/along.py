"""What a contextual layer hands on while its context grows and its query stays."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.layers import LinearAttention, SoftmaxAttention
from icl_lib.models.contextual.weights import Weights

SPREAD = 600.0
"""Scores further apart than this underflow in a running sum of exponentials (float64)."""


def states_along(layer, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... T k"]:
    """Return A(c_1 .. c_i, x) for i = 0 .. N, one query x (the last of T = N + 1 tokens) for all i.

    A layer of attention is a running sum over its tokens: O(T h n) in place of the O(T^2 h) of ``prefixes``.
    """
    found, running = None, RUNNING.get(type(layer))
    if running:
        found = running(layer, weights, torch.cat([tokens[..., -1:, :], tokens[..., :-1, :]], -2))
    if found is None:
        found = layer.prefixes(weights, tokens[..., :-1, :], tokens[..., -1:, :].expand_as(tokens))
    return found


def _softmax(layer: SoftmaxAttention, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Tensor | None:
    """Return the layer at the first token, after 1 .. T tokens: running averages with weights e^score."""
    W_Q, W_K, W_V = (weights[name].unflatten(-2, (layer.heads, layer.head_width)) for name in ("W_Q", "W_K", "W_V"))
    key = torch.einsum("...hcn,...hcm,...m->...hn", W_K, W_Q, tokens[..., 0, :]) / layer.head_width**0.5
    scores = torch.einsum("...hn,...tn->...ht", key, tokens)
    if tokens.dtype != torch.float64 or scores.amax() - scores.amin() > SPREAD:
        return None
    share = (scores - scores.amax(-1, keepdim=True)).exp()
    average = torch.einsum("...ht,...tn->...htn", share, tokens).cumsum(-2) / share.cumsum(-1)[..., None]
    W_O = weights["W_O"].unflatten(-1, (layer.heads, layer.head_width))
    return torch.einsum("...hkn,...htn->...tk", torch.einsum("...khc,...hcn->...hkn", W_O, W_V), average)


def _linear(layer: LinearAttention, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... T k"]:
    """Return the layer at the first token, after 1 .. T tokens: running sums with the scores as weights."""
    key = torch.einsum("...cn,...cm,...m->...n", weights["W_K"], weights["W_Q"], tokens[..., 0, :])
    scores = torch.einsum("...n,...tn->...t", key, tokens)
    return torch.einsum("...kn,...tn->...tk", weights["W_V"], (scores[..., None] * tokens).cumsum(-2))


RUNNING = {SoftmaxAttention: _softmax, LinearAttention: _linear}
"""Layers whose state along a context has a form of its own; rotary attention, which knows positions, has none."""
