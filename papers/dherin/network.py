"""Networks: an end that reads tokens in and out, and blocks of one shape between."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.blocks import Block, State
from icl_lib.models.contextual.norms import Norm
from icl_lib.models.contextual.weights import Weights, linear, start

_BLOCKS, _ENDS = "blocks.", "ends."


@runtime_checkable
class Ends(Protocol):
    """How inputs become tokens and tokens become outputs."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]: ...

    def embed(self, weights: Weights, inputs: Tensor) -> Tensor: ...

    def read(self, weights: Weights, tokens: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class LastEntry:
    """Inputs are tokens already; the output at a token is its last entry, the label's place."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """There are no weights."""
        return {}

    def embed(self, weights: Weights, inputs: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return the inputs."""
        return inputs

    def read(self, weights: Weights, tokens: Float[Tensor, "... T D"]) -> Float[Tensor, "... T"]:
        """Return the last entries."""
        return tokens[..., -1]


@dataclass(frozen=True)
class Regression:
    """Tokens W_in (x; y) of ``width`` numbers; the output is w . norm(token), one number."""

    inputs: int
    width: int
    norm: Norm

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        return {"W_in": (self.width, self.inputs), "W_read": (1, self.width), **self.norm.shapes("last", self.width)}

    def embed(self, weights: Weights, inputs: Float[Tensor, "... T n"]) -> Float[Tensor, "... T D"]:
        """Return W_in times every input."""
        return linear(weights, "W_in", inputs)

    def read(self, weights: Weights, tokens: Float[Tensor, "... T D"]) -> Float[Tensor, "... T"]:
        """Return the prediction at every token."""
        return linear(weights, "W_read", self.norm(weights, "last", tokens))[..., 0]


@dataclass(frozen=True)
class Vocabulary:
    """Inputs are whole numbers below ``size``, tokens their rows of E; outputs are logits W_read norm(token)."""

    size: int
    width: int
    norm: Norm

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        V, D = self.size, self.width
        return {"E": (V, D), "W_read": (V, D), **self.norm.shapes("last", D)}

    def embed(self, weights: Weights, inputs: Int[Tensor, "... T"]) -> Float[Tensor, "... T D"]:
        """Return the rows of E, of one network (weights without leading dimensions)."""
        return weights["E"][inputs]

    def read(self, weights: Weights, tokens: Float[Tensor, "... T D"]) -> Float[Tensor, "... T V"]:
        """Return the logits at every token."""
        return linear(weights, "W_read", self.norm(weights, "last", tokens))


@dataclass(frozen=True)
class Network:
    """``depth`` blocks of one shape between two ends. All weights lie in one dictionary, those of blocks (..., depth, ...)."""

    block: Block
    depth: int
    ends: Ends

    def start(self, generator: torch.Generator, lead: tuple[int, ...], like: Tensor) -> Weights:
        """Draw weights; ``lead`` (replicates) comes first."""
        inner = self.block.start(generator, (*lead, self.depth), like)
        outer = start(self.ends.shapes, generator, lead, like)
        return {_BLOCKS + name: w for name, w in inner.items()} | {_ENDS + name: w for name, w in outer.items()}

    def blocks(self, weights: Weights) -> list[Weights]:
        """Return the weights of every block, of one network (without leading dimensions)."""
        inner = {name.removeprefix(_BLOCKS): w for name, w in weights.items() if name.startswith(_BLOCKS)}
        return [{name: w[l] for name, w in inner.items()} for l in range(self.depth)]

    def outer(self, weights: Weights) -> Weights:
        """Return the weights of the ends."""
        return {name.removeprefix(_ENDS): w for name, w in weights.items() if name.startswith(_ENDS)}

    def embed(self, weights: Weights, inputs: Tensor) -> Float[Tensor, "... T D"]:
        """Return the tokens that enter the first block."""
        return self.ends.embed(self.outer(weights), inputs)

    def read(self, weights: Weights, tokens: Float[Tensor, "... T D"]) -> Tensor:
        """Return the outputs of tokens that leave the last block."""
        return self.ends.read(self.outer(weights), tokens)

    def states(
        self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"] | None = None
    ) -> tuple[list[State], Float[Tensor, "... T D"]]:
        """Return every token's state in every block, and the tokens that leave the last block."""
        states = []
        for block in self.blocks(weights):
            states.append(self.block.mix(block, tokens, positions))
            tokens = self.block.feed(block, states[-1])
        return states, tokens

    def __call__(self, weights: Weights, inputs: Tensor, positions: Int[Tensor, "T"] | None = None) -> Tensor:
        """Return the output at every token."""
        return self.read(weights, self.states(weights, self.embed(weights, inputs), positions)[1])
