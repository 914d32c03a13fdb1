"""Blocks: a contextual layer, then a feed-forward part, joined in one of several ways."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.feed_forward import FeedForward
from icl_lib.models.contextual.layers import ContextualLayer
from icl_lib.models.contextual.norms import Norm
from icl_lib.models.contextual.weights import Weights, start
from icl_lib.typed import refuse


class State(NamedTuple):
    """What the feed-forward part meets at a token: z, which it reads, and v, which is added to its output.

    The context of a token enters a block through its state alone.
    """

    z: Float[Tensor, "... T k"]
    v: Float[Tensor, "... T D"]

    def at(self, places: int | list[int] | slice) -> "State":
        """Return the state at some tokens; one place keeps its dimension."""
        places = [places] if isinstance(places, int) else places
        return State(self.z[..., places, :], self.v[..., places, :])


@runtime_checkable
class Joint(Protocol):
    """How a block makes the state of every token out of its input tokens."""

    layer: ContextualLayer

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights, by name."""
        ...

    def __call__(self, weights: Weights, tokens: Tensor, positions: Tensor) -> State:
        """Return the state of every token, of tokens (..., T, D) at positions (T,)."""
        ...


@dataclass(frozen=True)
class Block:
    """T(C, x) = v + feed_forward(z) with (z, v) made by the joint: the block protocol of ``icl_lib.patches``.

    A pretrained model takes part with ``mix``, ``feed`` and ``feed_forward`` (its ``reads``, ``hidden`` and call).

    With all weights 1 and no norms, v = x + A(C, x) is 1 + 1 at the token 1 and 2 + 10 at the token 2, and the MLP adds z + 2:

    >>> import torch
    >>> from icl_lib.models.contextual import blocks, feed_forward, layers, norms
    >>> joint = blocks.PreNorm(layers.LinearAttention(1, 1, 1), norms.NoNorm())
    >>> block, tokens = blocks.Block(joint, feed_forward.MLP(1, (1,), 1, "relu")), torch.tensor([[1.0], [2.0]])
    >>> weights = {name: torch.ones(shape) for name, shape in block.shapes.items()}
    >>> block.mix(weights, tokens).v.tolist(), block(weights, tokens).tolist()
    ([[2.0], [12.0]], [[6.0], [26.0]])
    """

    joint: Joint
    feed_forward: FeedForward

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights; raises ValueError where the joint and the feed-forward part have a name in common."""
        refuse(
            not self.joint.shapes.keys().isdisjoint(self.feed_forward.shapes),
            f"both parts have weights {sorted(self.joint.shapes.keys() & self.feed_forward.shapes)}: rename one",
        )
        return {**self.joint.shapes, **self.feed_forward.shapes}

    def start(self, generator: torch.Generator, lead: tuple[int, ...], like: Tensor) -> Weights:
        """Draw weights in the dtype of ``like``, on the generator's device; ``lead`` comes before each shape."""
        return start(self.shapes, generator, lead, like)

    def mix(self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"] | None = None) -> State:
        """Return the state of every token; positions are 0, 1, ... unless given."""
        if positions is None:
            positions = torch.arange(tokens.shape[-2], device=tokens.device)
        return self.joint(weights, tokens, positions)

    def feed(self, weights: Weights, state: State) -> Float[Tensor, "... T D"]:
        """Return the block's output at every token of a state."""
        refuse(
            (given := getattr(self.feed_forward, "outputs", None)) not in (None, state.v.shape[-1]) and state.v.shape[-1] > 1,
            f"the MLP gives {given} entries for tokens of {state.v.shape[-1]}: give as many",
        )
        return state.v + self.feed_forward(weights, state.z)

    def __call__(
        self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"] | None = None
    ) -> Float[Tensor, "... T D"]:
        """Return the block's output at every token."""
        return self.feed(weights, self.mix(weights, tokens, positions))


@dataclass(frozen=True)
class NoSkip:
    """z = A(C, x), v = 0: the contextual block of Dherin et al., section 2."""

    layer: ContextualLayer

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        return self.layer.shapes

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"]) -> State:
        """Return the state of every token."""
        return State(self.layer.everywhere(weights, tokens, positions), torch.zeros_like(tokens))


@dataclass(frozen=True)
class OuterSkip:
    """z = A(C, x), v = x + A(C, x): the block with skips of Dherin et al., v1, appendix A; the MLP does not read x."""

    layer: ContextualLayer

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        return self.layer.shapes

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"]) -> State:
        """Return the state of every token."""
        a = self.layer.everywhere(weights, tokens, positions)
        return State(a, tokens + a)


@dataclass(frozen=True)
class PreNorm:
    """v = x + A(norm_1(C, x)), z = norm_2(v): the usual pre-norm block; without norms z = v = x + A(C, x)."""

    layer: ContextualLayer
    norm: Norm

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        D = self.layer.inputs
        return {**self.layer.shapes, **self.norm.shapes("mix", D), **self.norm.shapes("feed", D)}

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"]) -> State:
        """Return the state of every token."""
        v = tokens + self.layer.everywhere(weights, self.norm(weights, "mix", tokens), positions)
        return State(self.norm(weights, "feed", v), v)
