"""What blocks of language models have besides: rotary positions, experts, norms behind a part, parts side by side."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.feed_forward import ACTIVATIONS, GatedMLP
from icl_lib.models.contextual.layers import ContextualLayer, SoftmaxAttention
from icl_lib.models.contextual.norms import Norm
from icl_lib.models.contextual.weights import Weights, linear


@dataclass(frozen=True)
class RotarySoftmaxAttention(SoftmaxAttention):
    """Softmax attention whose queries and keys are turned by their position (rotary embedding, base 10000).

    Channels j and j + c/2 of a head turn together by position * base^(-2j/c). Only ``everywhere`` knows positions; the
    query alone attends to itself whatever its position.
    """

    def __post_init__(self):
        super().__post_init__()
        if self.head_width % 2:
            raise ValueError(f"rotary positions turn pairs of channels: head_width must be even, not {self.head_width}")

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... k"]:
        """Return A at the last token of a sequence at positions 0, 1, ..."""
        return self.everywhere(weights, tokens, torch.arange(tokens.shape[-2], device=tokens.device))[..., -1, :]

    def prefixes(self, weights: Weights, context: Tensor, queries: Tensor) -> Tensor:
        """Raise NotImplementedError: prefixes are asked of layers without positions only."""
        raise NotImplementedError("prefixes of rotary attention: call everywhere, whose row i is the prefix up to token i")

    def _placed(self, rows: Float[Tensor, "... T h c"], positions: Int[Tensor, "T"]) -> Float[Tensor, "... T h c"]:
        half = self.head_width // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=rows.dtype, device=rows.device) / half)
        angle = (positions[:, None] * rates)[:, None, :]
        first, second = rows[..., :half], rows[..., half:]
        return torch.cat([first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()], -1)


@dataclass(frozen=True)
class PostNormGatedMLP(GatedMLP):
    """m_post * n, n = u / sqrt(mean(u^2) + epsilon), u = W_down h: a gated MLP with an RMS norm behind it (Gemma).

    Gemma stores the gain as 1 + weight; here m_post is the gain itself.
    """

    epsilon: float

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        return {**super().shapes, "m_post": (self.width,)}

    def normalised(self, weights: Weights, z: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return n, the output before the gain."""
        u = linear(weights, "W_down", self.hidden(weights, z))
        return u / (u.square().mean(-1, keepdim=True) + self.epsilon).sqrt()

    def __call__(self, weights: Weights, z: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return the output."""
        return weights["m_post"][..., None, :] * self.normalised(weights, z)


@dataclass(frozen=True)
class MixtureOfExperts:
    """sum_e p_e W_down^e h_e over the ``active`` experts with the largest W_router z; p is the softmax of those scores.

    Experts are gated MLPs. W_gate and W_up carry the experts' rows one under the other, W_down their columns side by
    side, so that the sum is one matrix times h = concat_e p_e h_e, with p_e = 0 for the others.
    """

    width: int
    hidden_width: int
    experts: int
    active: int
    activation: str
    reads = ("W_router", "W_gate", "W_up")

    def __post_init__(self):
        GatedMLP(self.width, self.hidden_width, self.activation)  # an expert; raises for an unknown activation
        if not 1 <= self.active <= self.experts:
            raise ValueError(f"{self.active} active experts of {self.experts}: take from 1 to all of them")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        D, H, E = self.width, self.hidden_width, self.experts
        return {"W_router": (E, D), "W_gate": (E * H, D), "W_up": (E * H, D), "W_down": (D, E * H)}

    def shares(self, weights: Weights, z: Float[Tensor, "... T D"]) -> Float[Tensor, "... T E"]:
        """Return p, which sums to one; experts whose scores tie with the least of those that are on are on as well."""
        scores = linear(weights, "W_router", z)
        least = scores.topk(self.active, -1).values[..., -1:]
        return scores.masked_fill(scores < least, -torch.inf).softmax(-1)

    def hidden(self, weights: Weights, z: Float[Tensor, "... T D"]) -> Float[Tensor, "... T EH"]:
        """Return h."""
        h = ACTIVATIONS[self.activation](linear(weights, "W_gate", z)) * linear(weights, "W_up", z)
        return (self.shares(weights, z)[..., None] * h.unflatten(-1, (self.experts, self.hidden_width))).flatten(-2)

    def __call__(self, weights: Weights, z: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return the output."""
        return linear(weights, "W_down", self.hidden(weights, z))


@dataclass(frozen=True)
class SandwichNorm:
    """v = x + norm_3(A(norm_1(C, x))), z = norm_2(v): pre-norm block with a norm behind the attention (Gemma)."""

    layer: ContextualLayer
    norm: Norm

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        norms = (self.norm.shapes(place, self.layer.inputs) for place in ("mix", "mixed", "feed"))
        return {**self.layer.shapes, **{name: shape for shapes in norms for name, shape in shapes.items()}}

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"]) -> State:
        """Return the state of every token."""
        a = self.layer.everywhere(weights, self.norm(weights, "mix", tokens), positions)
        v = tokens + self.norm(weights, "mixed", a)
        return State(self.norm(weights, "feed", v), v)


@dataclass(frozen=True)
class Parallel:
    """z = norm(x), v = x + A(norm(C, x)): attention and MLP side by side (GPT-J, Falcon); z does not see the context."""

    layer: ContextualLayer
    norm: Norm

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        return {**self.layer.shapes, **self.norm.shapes("mix", self.layer.inputs)}

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"]) -> State:
        """Return the state of every token."""
        z = self.norm(weights, "mix", tokens)
        return State(z, tokens + self.layer.everywhere(weights, z, positions))
