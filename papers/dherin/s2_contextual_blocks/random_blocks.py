"""Random contextual layers, regression prompts and subsets Y of their contexts: the draws that section 2 shares."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.companion import Count
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import ContextualLayer, LinearAttention, SoftmaxAttention
from icl_lib.models.contextual.weights import Weights, start
from icl_lib.models.linear_attention import embed
from icl_lib.seeds import stream
from icl_lib.tasks.regression import LinearRegression
from papers.dherin.declared import Heads
from papers.dherin.recurrent_layers import GRU, TanhRNN

LAYERS = ("softmax attention", "linear attention", "tanh RNN", "GRU")
LIKE = torch.zeros((), dtype=torch.float64)


@dataclass(frozen=True)
class RandomBlocks(Heads):
    """Random blocks of a contextual layer with ``width`` outputs and an MLP, one prompt of N examples each.

    networks   random blocks
    d          entries of an input; N: examples of a prompt
    width      outputs of the contextual layer; heads: attention heads, which divide the width
    hidden     neurons of the MLP's hidden layer
    """

    networks: Count
    d: Count
    N: Count
    width: Count
    heads: Count
    hidden: Count

    def layer(self, name: str = "softmax attention") -> ContextualLayer:
        """Return the shape of the layer."""
        return contextual_layer(name, self.d, self.width, self.heads)

    def mlp(self) -> MLP:
        """Return the shape of the MLP with one hidden layer."""
        return MLP(self.width, (self.hidden,), self.d + 1, "gelu")

    def start(self, shapes: dict[str, tuple[int, ...]], seed: int, role: str) -> Weights:
        """Draw weights of all blocks."""
        return start(shapes, stream(seed, role), (self.networks,), LIKE)

    def prompts(self, seed: int, role: str, *more: int) -> Float[Tensor, "... T n"]:
        """Draw a prompt for every block, or ``more`` of them."""
        return regression_tokens(seed, role, (*more, self.networks), self.N, self.d)

    def orders(self, seed: int, role: str, *more: int) -> Int[Tensor, "... N"]:
        """Draw an order of the places of every context."""
        return orders(seed, role, (*more, self.networks), self.N)


def contextual_layer(name: str, d: int, width: int, heads: int) -> ContextualLayer:
    """Return a layer on tokens (x; y) of d + 1 numbers with ``width`` outputs; heads are for softmax attention."""
    if name == "softmax attention":
        return SoftmaxAttention(heads, width // heads, d + 1, width)
    if name == "linear attention":
        return LinearAttention(width, d + 1, width)
    recurrent = {"tanh RNN": TanhRNN, "GRU": GRU}
    if name not in recurrent:
        raise ValueError(f"unknown layer {name!r}: take one of {', '.join(LAYERS)}")
    return recurrent[name](d + 1, width)


def regression_tokens(seed: int, name: str, lead: tuple[int, ...], N: int, d: int) -> Float[Tensor, "... T n"]:
    """Draw prompts of N examples, x and w from N(0, I_d), y = <w, x>, as sequences (x_i; y_i), query (x; 0) last."""
    return embed(LinearRegression(torch.eye(d, dtype=LIKE.dtype)).sample(stream(seed, name), lead, N)).mT


def subset_sizes(shares: tuple[float, ...], N: int) -> list[int]:
    """Return the sizes |Y| = ceil(share N), each once, with the empty set and all of C always among them."""
    return sorted({0, N} | {math.ceil(round(share * N, 9)) for share in shares})  # in floating point 0.07 * 100 is above 7


def orders(seed: int, name: str, lead: tuple[int, ...], N: int) -> Int[Tensor, "... N"]:
    """Draw for each prompt an order of the places of its context; Y of size k are the first k of it."""
    return torch.rand(*lead, N, generator=stream(seed, name), dtype=LIKE.dtype).argsort(-1)


def leave_out(tokens: Float[Tensor, "... T n"], Y: Int[Tensor, "... K"]) -> Float[Tensor, "... L n"]:
    """Return the prompts (C without Y, x), each with a Y of its own; what is left keeps its order."""
    gone = torch.zeros(tokens.shape[:-1], dtype=torch.bool).scatter(-1, Y, True)
    kept = gone.to(torch.uint8).argsort(dim=-1, stable=True)[..., : tokens.shape[-2] - Y.shape[-1]]
    return tokens.take_along_dim(kept[..., None], -2)


def state(a: Float[Tensor, "... k"], outputs: int) -> State:
    """Return the state of one token in a block without skips: z = a, v = 0."""
    return State(a[..., None, :], a.new_zeros(*a.shape[:-1], 1, outputs))
