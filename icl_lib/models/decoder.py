"""A small causal decoder: pre-LN blocks as in GPT-2, read at the last token. Embedding and blocks are apart."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, layer_norm

from icl_lib.tasks.prompts import Prompts, normal

Weights = dict[str, Tensor]
"""Weights by name. In blocks the first dimension counts layers; ``Decoder.start`` puts replicates before it."""
SHAPES = {
    "attention_in": (1, 3),
    "attention_out": (1, 1),
    "mlp_in": (1, 4),
    "mlp_out": (4, 1),
}
"""Rows and columns of the four matrices of a block, in widths; attention_in holds queries, keys and values."""
NORMS = ("attention_norm", "mlp_norm")


class Reading(NamedTuple):
    """The logit at the query, and how the query's row attends to all T tokens, itself last, in every layer and head."""

    logit: Float[Tensor, "..."]
    attention: Float[Tensor, "... layers heads T"]


@dataclass(frozen=True)
class Decoder:
    """``layers`` blocks h <- h + Attention(LN(h)), h <- h + MLP(LN(h)), a last LN and a linear head at the last token.

    Causal attention with ``heads`` heads and scores over sqrt(width/heads); GELU (tanh form) in an MLP of 4 widths; biases
    and LN gains as in GPT-2. There are no positions: the order of the tokens enters through the causal mask alone.

    A decoder is a shape; its weights are an argument. ``torch.func.vmap`` runs a model of each replicate.
    Raises ValueError unless layers >= 1 and heads divide the width.
    """

    layers: int
    heads: int
    width: int

    def __post_init__(self):
        if self.layers < 1 or self.heads < 1 or self.width % self.heads:
            raise ValueError(f"{self.layers} layers, {self.heads} heads of {self.width} channels: heads must divide the width")

    def start(self, generator: torch.Generator, replicates: int, entries: int, like: Tensor) -> Weights:
        """Draw weights from N(0, 1/fan_in) for tokens of ``entries`` numbers; biases 0, gains 1. Replicates come first."""
        S, L, D = replicates, self.layers, self.width
        weights = {
            "read_in": normal(generator, (S, entries, D), like) / entries**0.5,
            "read_out": normal(generator, (S, D), like) / D**0.5,
        }
        for name, (rows, columns) in SHAPES.items():
            weights[name] = normal(generator, (S, L, rows * D, columns * D), like) / (rows * D) ** 0.5
            weights[f"{name}_bias"] = torch.zeros(S, L, columns * D, dtype=like.dtype, device=generator.device)
        for name, shape in [*((name, (S, L, D)) for name in NORMS), ("last_norm", (S, D))]:
            weights[name] = torch.ones(shape, dtype=like.dtype, device=generator.device)
            weights[f"{name}_bias"] = torch.zeros(shape, dtype=like.dtype, device=generator.device)
        return weights

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "..."]:
        """Return the logit of every sequence."""
        return self.read(weights, tokens).logit

    def read(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Reading:
        """Return the logit and the attention of the query's row; the last layer computes that row alone."""
        h, rows = torch.einsum("...tn,nd->...td", tokens, weights["read_in"]), []
        for layer in range(self.layers):
            h, attention = self._block(_layer(weights, layer), h, last=layer == self.layers - 1)
            rows.append(attention[..., -1, :])
        h = _norm(weights, "last_norm", h[..., -1, :])
        return Reading(torch.einsum("...d,d->...", h, weights["read_out"]), torch.stack(rows, -3))

    def outputs(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... T"]:
        """Return the logit at every token: what the read-out gives when each of them is taken for the query."""
        h = torch.einsum("...tn,nd->...td", tokens, weights["read_in"])
        for layer in range(self.layers):
            h, _ = self._block(_layer(weights, layer), h, last=False)
        return torch.einsum("...td,d->...t", _norm(weights, "last_norm", h), weights["read_out"])

    def _block(self, weights: Weights, h: Tensor, last: bool) -> tuple[Tensor, Tensor]:
        """Return the tokens after a block, the last one alone if ``last``, and the attention (..., heads, rows, T)."""
        T = h.shape[-2]
        mixed = _linear(weights, "attention_in", _norm(weights, "attention_norm", h))
        query, key, value = (part.unflatten(-1, (self.heads, -1)) for part in mixed.chunk(3, -1))
        if last:
            query, h = query[..., -1:, :, :], h[..., -1:, :]
        scores = torch.einsum("...shc,...thc->...hst", query, key) / (self.width / self.heads) ** 0.5
        later = torch.ones(T, T, dtype=torch.bool, device=h.device).triu(1)[-query.shape[-3] :]
        attention = scores.masked_fill(later, -torch.inf).softmax(-1)
        gathered = torch.einsum("...hst,...thc->...shc", attention, value).flatten(-2)
        h = h + _linear(weights, "attention_out", gathered)
        inner = gelu(_linear(weights, "mlp_in", _norm(weights, "mlp_norm", h)), approximate="tanh")
        return h + _linear(weights, "mlp_out", inner), attention


def pattern_tokens(prompts: Prompts, q: Float[Tensor, "d_Y"]) -> Float[Tensor, "... T n"]:
    """Return p_i = (x_i; y_i q) for the contexts and (x_query; 0) last."""
    x = torch.cat([prompts.x, prompts.x_query[..., None, :]], -2)
    y = torch.cat([prompts.y, torch.zeros_like(prompts.y_query)[..., None]], -1)
    return torch.cat([x, torch.einsum("...t,k->...tk", y, q)], -1)


def _layer(weights: Weights, layer: int) -> Weights:
    names = (*SHAPES, *NORMS)
    return {name: weights[name][layer] for name in (*names, *(f"{name}_bias" for name in names))}


def _linear(weights: Weights, name: str, h: Tensor) -> Tensor:
    return torch.einsum("...i,ij->...j", h, weights[name]) + weights[f"{name}_bias"]


def _norm(weights: Weights, name: str, h: Tensor) -> Tensor:
    return layer_norm(h, h.shape[-1:], weights[name], weights[f"{name}_bias"])
