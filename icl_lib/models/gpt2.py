"""The GPT-2 decoder on tokens of numbers, many models as one batch. A decoder is a shape; its weights are an argument."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

from icl_lib.tasks.prompts import Prompts, normal, unread
from icl_lib.typed import refuse

Weights = dict[str, Tensor]
"""Weights by name. The first dimension of each counts models; in blocks the second counts layers."""
MATRICES = {"attention_in": (1, 3), "attention_out": (1, 1), "mlp_in": (1, 4), "mlp_out": (4, 1)}
"""Rows and columns of the four matrices of a block, in widths; attention_in holds queries, keys and values."""
NORMS = ("attention_norm", "mlp_norm")
IN_BLOCKS = tuple(name + part for name in (*MATRICES, *NORMS) for part in ("", "_bias"))
EVERY_TOKEN, INPUTS, LAST = slice(None), slice(None, None, 2), slice(-1, None)
"""Tokens to read: all, those of an input x in an interleaved prompt, the last."""


class Reading(NamedTuple):
    """The output at the last token, and how its row attends to all T tokens, itself last, in every layer and head."""

    output: Float[Tensor, "S B"]
    attention: Float[Tensor, "S B layers heads T"]


@dataclass(frozen=True)
class GPT2:
    """``layers`` blocks h <- h + Attention(LN(h)), h <- h + MLP(LN(h)) between a linear read-in and LN with a linear read-out.

    Causal attention with ``heads`` heads and scores over sqrt(width/heads); GELU (tanh form) in an MLP of 4 widths; tokens
    of ``entries`` numbers. ``positions`` rows of a learned table are added to the first tokens; without a table (0) the
    order of the tokens enters through the causal mask alone, as if the table were frozen at 0.
    The blocks are those of Radford et al. 2019 as in Hugging Face's ``GPT2Model`` with dropout 0; read-in and read-out
    are those of Garg et al. 2022. Raises ValueError unless layers >= 1 and heads divide the width.

    Another number as the second token changes no output before it:

    >>> import torch
    >>> from icl_lib.models.gpt2 import GPT2
    >>> from icl_lib.seeds import stream
    >>> decoder, tokens = GPT2(layers=2, heads=2, width=8, entries=1), torch.zeros(1, 1, 3, 1, dtype=torch.float64)
    >>> weights, second = decoder.start(stream(0, "weights"), 1, tokens), torch.tensor([[0.0], [1.0], [0.0]])
    >>> ((decoder(weights, tokens + second) - decoder(weights, tokens)).abs() > 1e-12).tolist()
    [[[False, True, True]]]
    """

    layers: int
    heads: int
    width: int
    entries: int
    positions: int = 0

    def __post_init__(self):
        if self.layers < 1 or self.heads < 1 or self.width % self.heads:
            raise ValueError(f"{self.layers} layers, {self.heads} heads of {self.width} channels: heads must divide the width")
        refuse(self.width < 1 or self.entries < 1, f"{self.width} channels, tokens of {self.entries} numbers: take 1 or more")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight of one model."""
        L, D = self.layers, self.width
        shapes = {"read_in": (self.entries, D), "read_in_bias": (D,), "read_out": (D,), "read_out_bias": ()}
        for name, (rows, columns) in MATRICES.items():
            shapes |= {name: (L, rows * D, columns * D), f"{name}_bias": (L, columns * D)}
        for name in NORMS:
            shapes |= {name: (L, D), f"{name}_bias": (L, D)}
        shapes |= {"last_norm": (D,), "last_norm_bias": (D,)}
        return shapes | ({"positions": (self.positions, D)} if self.positions else {})

    def start(self, generator: torch.Generator, models: int, like: Tensor) -> Weights:
        """Draw weights for ``models`` models as GPT-2 does: N(0, 0.02^2), in matrices that write to the residual stream
        over sqrt(2 layers); biases 0, gains 1. Read-in and read-out are uniform as in ``torch.nn.Linear``, +-1/sqrt(fan_in).
        In the dtype of ``like``, on the generator's device.
        """
        weights = {}
        for name, shape in self.shapes().items():
            full = (models, *shape)
            if name.startswith("read_"):
                bound = (self.entries if name.startswith("read_in") else self.width) ** -0.5
                uniform = torch.rand(full, generator=generator, dtype=like.dtype, device=generator.device)
                weights[name] = bound * (2 * uniform - 1)
            elif name in MATRICES or name == "positions":
                deviation = 0.02 / (2 * self.layers) ** 0.5 if name in ("attention_out", "mlp_out") else 0.02
                weights[name] = deviation * normal(generator, full, like)
            else:
                weights[name] = torch.full(full, float("norm" in name and "bias" not in name)).to(generator.device, like.dtype)
        return weights

    def __call__(self, weights: Weights, tokens: Float[Tensor, "S B T n"], read: slice = EVERY_TOKEN) -> Float[Tensor, "S B r"]:
        """Return the outputs at the tokens that ``read`` names; behind its attention the last layer computes those alone."""
        h = self._embed(weights, tokens)
        for number, layer in enumerate(_by_layer(weights), start=1):
            h, _ = self._block(layer, h, read if number == self.layers else EVERY_TOKEN)
        return _read_out(weights, h)

    def attention(self, weights: Weights, tokens: Float[Tensor, "S B T n"]) -> Reading:
        """Return the output at the last token and how it attends to all tokens, in every layer."""
        h, rows = self._embed(weights, tokens), []
        for layer in _by_layer(weights):
            h, (query, key) = self._block(layer, h, EVERY_TOKEN)
            scores = torch.einsum("bhc,bhtc->bht", query[:, :, -1], key) / (self.width / self.heads) ** 0.5
            rows.append(scores.softmax(-1).unflatten(0, tokens.shape[:2]))
        return Reading(_read_out(weights, h[:, :, LAST])[..., 0], torch.stack(rows, -3))

    def _embed(self, weights: Weights, tokens: Tensor) -> Tensor:
        refuse(
            {name: W.shape[1:] for name, W in weights.items()} != self.shapes(),
            f"the weights are of another decoder than one of {self.layers} layers, {self.width} channels, tokens of "
            f"{self.entries} numbers and {self.positions} positions: give those that its start makes",
        )
        refuse(
            tokens.ndim != 4 or tokens.shape[-1] != self.entries,
            f"tokens of shape {tuple(tokens.shape)}: give (S, B, T, {self.entries})",
        )
        h, T = _linear(weights, "read_in", tokens), tokens.shape[-2]
        if not self.positions:
            return h
        if self.positions < T:
            raise ValueError(
                f"{T} tokens, but the table has {self.positions} positions: take shorter prompts or a longer table"
            )
        return h + weights["positions"][:, None, :T]

    def _block(self, weights: Weights, h: Tensor, read: slice) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the read tokens after a block, and queries and keys (S * B, heads, T, channels)."""
        S, B, T, D = h.shape
        mixed = _linear(weights, "attention_in", _norm(weights, "attention_norm", h))
        query, key, value = mixed.view(S * B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        gathered = scaled_dot_product_attention(query, key, value, is_causal=True)[:, :, read]
        h = h[:, :, read] + _linear(weights, "attention_out", gathered.transpose(1, 2).reshape(S, B, -1, D))
        inner = gelu(_linear(weights, "mlp_in", _norm(weights, "mlp_norm", h)), approximate="tanh")
        return h + _linear(weights, "mlp_out", inner), (query, key)


def _by_layer(weights: Weights) -> Iterator[Weights]:
    """Return the weights of one block after another; unbinding once spares a full gradient per layer."""
    for layer in zip(*(weights[name].unbind(1) for name in IN_BLOCKS), strict=True):
        yield dict(zip(IN_BLOCKS, layer, strict=True))


def _linear(weights: Weights, name: str, h: Float[Tensor, "S B T i"]) -> Float[Tensor, "S B T j"]:
    matrix, bias = weights[name], weights[f"{name}_bias"]
    if len(matrix) == 1:  # one model: the bias is added within the product
        return linear(h, matrix[0].mT, bias[0])
    return torch.baddbmm(bias[:, None], h.flatten(1, 2), matrix).unflatten(1, h.shape[1:3])


def _norm(weights: Weights, name: str, h: Float[Tensor, "S B T D"]) -> Float[Tensor, "S B T D"]:
    gain, bias = weights[name], weights[f"{name}_bias"]
    if len(gain) == 1:
        return layer_norm(h, h.shape[-1:], gain[0], bias[0])
    return torch.addcmul(bias[:, None, None], layer_norm(h, h.shape[-1:]), gain[:, None, None])


def _read_out(weights: Weights, h: Float[Tensor, "S B r D"]) -> Float[Tensor, "S B r"]:
    outputs = torch.einsum("sbtd,sd->sbt", _norm(weights, "last_norm", h), weights["read_out"])
    return outputs + weights["read_out_bias"][:, None, None]


def interleaved_tokens(prompts: Prompts) -> Float[Tensor, "... T d"]:
    """Return x_1, (y_1, 0, ..), x_2, (y_2, 0, ..), .., x_query as T = 2M + 1 tokens (Garg et al. 2022, section 3)."""
    refuse(*unread(prompts))
    labels = torch.nn.functional.pad(prompts.y[..., None], (0, prompts.x.shape[-1] - 1))
    pairs = torch.stack([prompts.x, labels], -2).flatten(-3, -2)
    return torch.cat([pairs, prompts.x_query[..., None, :]], -2)


def pattern_tokens(prompts: Prompts, q: Float[Tensor, "d_Y"]) -> Float[Tensor, "... T n"]:
    """Return p_i = (x_i; y_i q) for the contexts and (x_query; 0) last (Li et al., section 2)."""
    refuse(*unread(prompts))
    x = torch.cat([prompts.x, prompts.x_query[..., None, :]], -2)
    y = torch.cat([prompts.y, torch.zeros_like(prompts.y_query)[..., None]], -1)
    return torch.cat([x, torch.einsum("...t,k->...tk", y, q)], -1)


@dataclass(frozen=True, eq=False)
class InContextGPT2:
    """S decoders as predictors: prompts (B, M, d), or (S, B, M, d) with one batch for each, -> y_hat (S, B)."""

    decoder: GPT2
    weights: Weights

    def __call__(self, prompts: Prompts) -> Float[Tensor, "S B"]:
        """Return the predictions for the query."""
        return self._read(prompts, LAST)[..., 0]

    def prefixes(self, prompts: Prompts) -> Float[Tensor, "S B P"]:
        """Return the predictions for x_{i+1} after i = 0 .. M examples, x_{M+1} = x_query, P = M + 1."""
        return self._read(prompts, INPUTS)

    def _read(self, prompts: Prompts, read: slice) -> Tensor:
        like = self.weights["read_in"]
        tokens = interleaved_tokens(prompts).to(like)
        tokens = tokens if tokens.ndim == 4 else tokens.expand(len(like), *tokens.shape)
        return self.decoder(self.weights, tokens, read).to(prompts.y.dtype)
