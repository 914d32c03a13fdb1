"""Networks with prompts to read, and their contextual layer while the context is consumed from either end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Several
from icl_lib.models.contextual.blocks import Block, State
from icl_lib.models.contextual.layers import ContextualLayer, LinearAttention
from icl_lib.models.contextual.weights import Weights
from icl_lib.seeds import stream
from papers.dherin.modern_parts import RotarySoftmaxAttention
from papers.dherin.trained import OneBlock, Trained, Training, regression, tokens, trained

LIKE = torch.zeros((), dtype=torch.float64)
Layer = Literal["softmax attention", "linear attention", "rotary attention", "tanh RNN", "GRU"]


@dataclass(frozen=True)
class RandomBlock(OneBlock):
    """A block without skips of more layers: beside those of OneBlock, linear attention and rotary attention."""

    layer: Layer

    def _layer(self, n: int) -> ContextualLayer:
        if self.layer == "linear attention":
            return LinearAttention(self.width, n, self.width)
        if self.layer == "rotary attention":
            return RotarySoftmaxAttention(self.heads, even(self.width // self.heads), n, self.width)
        return super()._layer(n)


@dataclass(frozen=True, eq=False)
class Case:
    """One network and some prompts: a block without skips, its weights, and tokens (B, N + 1, n) with the query last."""

    net: str
    block: Block
    weights: Weights
    tokens: Tensor

    @property
    def W(self) -> Float[Tensor, "m k"]:
        """The first matrix of the MLP."""
        return self.weights["W"]

    @property
    def b(self) -> Float[Tensor, "m"]:
        """The first bias of the MLP."""
        return self.weights["b"]

    def along(self, order: Tensor) -> "Case":
        """Return the case with the context in another order (N)."""
        reordered = torch.cat([self.tokens[:, :-1][:, order], self.tokens[:, -1:]], 1)
        return Case(self.net, self.block, self.weights, reordered)

    def prefixes(self) -> Float[Tensor, "B K k"]:
        """Return a_i = A(c_1 .. c_i, x), i = 0 .. N."""
        context, query = self.tokens[:, :-1], self.tokens[:, -1:]
        return self.block.joint.layer.prefixes(self.weights, context, query.expand_as(self.tokens))

    def suffixes(self) -> Float[Tensor, "B K k"]:
        """Return b_i = A(c_{i+1} .. c_N, x), i = 0 .. N."""
        layer, T = self.block.joint.layer, self.tokens.shape[1]
        return torch.stack([layer(self.weights, self.tokens[:, i:]) for i in range(T)], 1)

    def output(self, W: Tensor, a: Float[Tensor, "B L k"]) -> Float[Tensor, "B L n"]:
        """Return f(W a + b) for every a with its own matrix, W (B, L, m, k), or with one for all, (m, k)."""
        state = State(a[..., None, :], a.new_zeros(*a.shape[:-1], 1, 1))
        return self.block.feed({**self.weights, "W": W}, state)[..., 0, :]


def even(width: int) -> int:
    """Return the nearest even number of channels below, 2 at least: rotary positions turn pairs."""
    return max(2, width - width % 2)


def random_cases(model: OneBlock, networks: int, prompts: int, N: int, seed: int) -> Iterator[Case]:
    """Yield random networks of one shape, each with its own prompts."""
    block = model.network().block
    for k in range(networks):
        weights = block.start(stream(seed, f"weights/{model.layer}/{k}"), (), LIKE)
        drawn = regression(model.d).sample(stream(seed, f"prompts/{model.layer}/{k}"), (prompts,), N)
        yield Case(model.layer, block, weights, tokens(drawn))


def trained_cases(training: Training, prompts: int, N: int, seed: int, device: str) -> Iterator[Case]:
    """Yield the replicates of a training, each with its own fresh prompts."""
    networks = trained(training, seed, device)
    for s in range(networks.replicates):
        drawn = regression(training.model.d).sample(stream(seed, f"prompts/trained/{s}"), (prompts,), N)
        yield Case(f"trained {training.model.layer}", networks.network.block, first_block(networks, s), tokens(drawn))


def first_block(networks: Trained, s: int) -> Weights:
    """Return the weights of one replicate's first block."""
    return networks.network.blocks(networks.replicate(s))[0]


@dataclass(frozen=True)
class Paths(Declaration):
    """Contexts of N examples in d dimensions, shown to random networks with each of ``layers`` and to trained ones.

    layers     contextual layers of the random networks
    d          entries of an input; N: examples of a context
    width      outputs of the contextual layer; heads: attention heads; hidden: neurons of the MLP's hidden layer
    networks   random networks of each layer
    prompts    shown to each network, random or trained
    """

    layers: Several[Layer]
    d: Count
    N: AtLeastTwo
    width: Count
    heads: Count
    hidden: Count
    networks: Count
    prompts: Count
    training: Training

    def __post_init__(self):
        super().__post_init__()
        self.blocks()
        if not isinstance(self.training.model, OneBlock):
            raise ValueError("the paths are those of one block: take a training of OneBlock")

    def blocks(self) -> list[RandomBlock]:
        """Return the shapes of the random networks."""
        return [RandomBlock(layer, self.d, self.width, self.heads, self.hidden) for layer in self.layers]

    def cases(self, seed: int, device: str) -> Iterator[Case]:
        """Yield every network with its prompts."""
        for model in self.blocks():
            yield from random_cases(model, self.networks, self.prompts, self.N, seed)
        yield from trained_cases(self.training, self.prompts, self.N, seed, device)

    def readings(
        self, measure: Callable[[Case], dict[str, np.ndarray]], seed: int, device: str
    ) -> tuple[dict[str, np.ndarray], list[str]]:
        """Return every reading of all cases, one row per network and prompt, and the kind of network of each row."""
        rows, nets = [], []
        for case in self.cases(seed, device):
            rows.append(measure(case))
            nets += [case.net] * len(case.tokens)
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}, nets
