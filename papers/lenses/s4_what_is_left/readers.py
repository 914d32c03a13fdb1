"""Trained networks that answer many queries after one context, with the attention that each query pays to each example."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention

from icl_lib.models.contextual.layers import heads
from icl_lib.models.contextual.weights import Weights
from icl_lib.models.gpt2 import GPT2, IN_BLOCKS, interleaved_tokens
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.prompts import Prompts
from papers.dherin.network import Network
from papers.dherin.trained import Training
from papers.dherin.trained import trained as trained_blocks
from papers.regression.decoders import DecoderTraining, repeated

CHUNK = 50
"""Contexts that are read at a time."""
RUNS = 3
"""Trainings of each decoder that are shipped."""


class Reading(NamedTuple):
    """Outputs at the queries, and the attention of each on each of k examples; no layers where there is no softmax."""

    output: Float[Tensor, "B Q"]
    attention: Float[Tensor, "layers h B Q k"]


@runtime_checkable
class Reader(Protocol):
    """A network that answers queries after the first k examples of each context."""

    def read(self, x: Tensor, y: Tensor, queries: Tensor, k: int) -> Reading: ...


@dataclass(frozen=True, eq=False)
class BlockReader:
    """One block of softmax attention and an MLP, no skip and no positions; tokens (x; y)."""

    network: Network
    weights: Weights

    def read(self, x: Float[Tensor, "B M d"], y: Float[Tensor, "B M"], queries: Float[Tensor, "B Q d"], k: int) -> Reading:
        """Answer after the first k examples; a query attends to itself as well."""
        layer, block = self.network.block.joint.layer, self.network.blocks(self.weights)[0]
        W_Q, W_K, W_V, W_O = heads(layer, block)
        tokens = torch.cat([x, y[..., None]], -1)[:, :k]
        z = torch.cat([queries, torch.zeros_like(queries[..., :1])], -1)
        key = torch.einsum("hcn,hcm,bqm->bqhn", W_K, W_Q, z) / layer.head_width**0.5
        scores = torch.einsum("bqhn,bkn->bqhk", key, tokens), torch.einsum("bqhn,bqn->bqh", key, z)[..., None]
        attention = torch.cat(scores, -1).softmax(-1)
        average = torch.einsum("bqhk,bkn->bqhn", attention[..., :k], tokens) + attention[..., k:] * z[:, :, None]
        a = torch.einsum("mhc,hcn,bqhn->bqm", W_O, W_V, average)
        output = self.network.read(self.weights, self.network.block.feed_forward(block, a))
        return Reading(output, attention[None, ..., :k].permute(0, 3, 1, 2, 4))


@dataclass(frozen=True, eq=False)
class DecoderReader:
    """One GPT-2 decoder on tokens x_1, y_1, .., x_query; the context is read once, whatever the number of queries."""

    decoder: GPT2
    weights: Weights

    def read(self, x: Float[Tensor, "B M d"], y: Float[Tensor, "B M"], queries: Float[Tensor, "B Q d"], k: int) -> Reading:
        """Answer after the first k examples; the attention on an example is that on its two tokens."""
        tokens = interleaved_tokens(Prompts(x[:, :k], y[:, :k], queries[:, 0], y[:, 0]))[:, :-1]
        h, asked, found = self._embed(tokens, slice(0, 2 * k)), self._embed(queries, slice(2 * k, 2 * k + 1)), []
        for layer in self._layers():
            query, key, value = self._heads(layer, h)
            own = self._heads(layer, asked)
            scores = torch.einsum("bhqc,bhtc->bhqt", own[0], key), torch.einsum("bhqc,bhqc->bhq", own[0], own[1])[..., None]
            attention = (torch.cat(scores, -1) / query.shape[-1] ** 0.5).softmax(-1)
            gathered = torch.einsum("bhqt,bhtc->bhqc", attention[..., :-1], value) + attention[..., -1:] * own[2]
            h = _after(layer, h, scaled_dot_product_attention(query, key, value, is_causal=True))
            asked = _after(layer, asked, gathered)
            found.append(attention[..., :-1].unflatten(-1, (k, 2)).sum(-1).transpose(0, 1))
        w = self.weights
        last = layer_norm(asked, asked.shape[-1:], w["last_norm"], w["last_norm_bias"])
        return Reading(torch.einsum("bqd,d->bq", last, w["read_out"]) + w["read_out_bias"], torch.stack(found))

    def _embed(self, tokens: Float[Tensor, "B T n"], places: slice) -> Float[Tensor, "B T D"]:
        return tokens @ self.weights["read_in"] + self.weights["read_in_bias"] + self.weights["positions"][places]

    def _layers(self) -> Iterator[Weights]:
        for number in range(self.decoder.layers):
            yield {name: self.weights[name][number] for name in IN_BLOCKS}

    def _heads(self, layer: Weights, h: Float[Tensor, "B T D"]) -> Float[Tensor, "3 B h T c"]:
        mixed = _normed(layer, "attention_norm", h) @ layer["attention_in"] + layer["attention_in_bias"]
        return mixed.unflatten(-1, (3, self.decoder.heads, -1)).permute(2, 0, 3, 1, 4)


@dataclass(frozen=True, eq=False)
class LinearReader:
    """Linear self-attention of Zhang et al.; without softmax it has no shares of attention."""

    model: LinearSelfAttention

    def read(self, x: Float[Tensor, "B M d"], y: Float[Tensor, "B M"], queries: Float[Tensor, "B Q d"], k: int) -> Reading:
        """Answer after the first k examples."""
        shape = queries.shape[:-1]
        each = x[:, None, :k].expand(*shape, -1, -1).flatten(0, 1), y[:, None, :k].expand(*shape, -1).flatten(0, 1)
        output = self.model(Prompts(*each, queries.flatten(0, 1), each[1][:, 0])).unflatten(0, shape)
        return Reading(output, output.new_zeros(0, 1, *shape, k))


def readers(training: Training | DecoderTraining, seed: int, device: str) -> list[Reader]:
    """Return the shipped networks of a training, in float64."""
    if isinstance(training, Training):
        found = trained_blocks(training, seed, device)
        return [BlockReader(found.network, found.replicate(s)) for s in range(found.replicates)]
    models = repeated(training, RUNS, seed, device)
    return [DecoderReader(each.decoder, {name: weight[0].double() for name, weight in each.weights.items()}) for each in models]


def _normed(layer: Weights, name: str, h: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    return layer_norm(h, h.shape[-1:], layer[name], layer[f"{name}_bias"])


def _after(layer: Weights, h: Float[Tensor, "B T D"], gathered: Float[Tensor, "B h T c"]) -> Float[Tensor, "B T D"]:
    """Return the tokens after the residuals of attention and of the MLP."""
    h = h + gathered.transpose(1, 2).flatten(-2) @ layer["attention_out"] + layer["attention_out_bias"]
    inner = gelu(_normed(layer, "mlp_norm", h) @ layer["mlp_in"] + layer["mlp_in_bias"], approximate="tanh")
    return h + inner @ layer["mlp_out"] + layer["mlp_out_bias"]


def names(*trainings: Training | DecoderTraining) -> list[str]:
    """Return how the networks of each training are told."""
    return [_told(each) for each in trainings]


def _told(training: Training | DecoderTraining) -> str:
    if isinstance(training, DecoderTraining):
        return f"decoder, N = {training.N}"
    return f"one block, every length to {training.N}" if training.every_prefix else f"one block, N = {training.N}"


def dimension(training: Training | DecoderTraining) -> int:
    """Return d of a training's prompts."""
    return training.d if isinstance(training, DecoderTraining) else training.model.d
