"""The part of a block that does not mix tokens: MLPs and gated MLPs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, relu, silu

from icl_lib.models.contextual.weights import Weights, linear
from icl_lib.typed import refuse

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": gelu, "relu": relu, "silu": silu, "tanh": torch.tanh}


@runtime_checkable
class FeedForward(Protocol):
    """A map of each token: z -> last matrix times hidden(z), and what follows.

    reads    names of the matrices that are applied to z itself; z enters in no other way
    """

    reads: tuple[str, ...]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights, by name."""
        ...

    def hidden(self, weights: Weights, z: Tensor) -> Tensor:
        """Return h, what the last matrix is applied to, (..., T, H)."""
        ...

    def __call__(self, weights: Weights, z: Tensor) -> Tensor:
        """Return the output, (..., T, D)."""
        ...


@dataclass(frozen=True)
class MLP:
    """W_out g(... g(W_2 g(W z + b) + b_2) ...) + b_out with hidden layers of the given widths.

    An absolute value is the sum of two ReLUs:

    >>> import torch
    >>> from icl_lib.models.contextual.feed_forward import MLP
    >>> weights = {"W": torch.tensor([[1.0], [-1.0]]), "b": torch.zeros(2), "W_out": torch.ones(1, 2), "b_out": torch.zeros(1)}
    >>> MLP(inputs=1, widths=(2,), outputs=1, activation="relu")(weights, torch.tensor([[-3.0], [2.0]])).tolist()
    [[3.0], [2.0]]
    """

    inputs: int
    widths: tuple[int, ...]
    outputs: int
    activation: str
    reads = ("W",)

    def __post_init__(self):
        refuse(
            not (isinstance(self.widths, tuple) and self.widths and min(self.inputs, *self.widths, self.outputs) >= 1),
            f"inputs, outputs and a tuple of one width or more, such as (32,), must be 1 or more, not {self}",
        )
        _require_activation(self.activation)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        found, columns = {}, self.inputs
        for place, rows in zip(self._places(), self.widths, strict=True):
            found |= {f"W{place}": (rows, columns), f"b{place}": (rows,)}
            columns = rows
        return found | {"W_out": (self.outputs, self.widths[-1]), "b_out": (self.outputs,)}

    def hidden(self, weights: Weights, z: Float[Tensor, "... T n"]) -> Float[Tensor, "... T H"]:
        """Return the last hidden layer after its activation."""
        for place in self._places():
            z = ACTIVATIONS[self.activation](linear(weights, f"W{place}", z, f"b{place}"))
        return z

    def __call__(self, weights: Weights, z: Float[Tensor, "... T n"]) -> Float[Tensor, "... T D"]:
        """Return the output."""
        return linear(weights, "W_out", self.hidden(weights, z), "b_out")

    def _places(self) -> list[str]:
        return ["", *(f"_{k}" for k in range(2, len(self.widths) + 1))]


@dataclass(frozen=True)
class GatedMLP:
    """W_down h with h = g(W_gate z) * (W_up z), without biases; SwiGLU with g = silu (Llama), GeGLU with g = gelu.

    Gemma takes the tanh form of gelu.
    """

    width: int
    hidden_width: int
    activation: str
    reads = ("W_gate", "W_up")

    def __post_init__(self):
        refuse(min(self.width, self.hidden_width) < 1, f"width and hidden_width must be 1 or more, not {self}")
        _require_activation(self.activation)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        D, H = self.width, self.hidden_width
        return {"W_gate": (H, D), "W_up": (H, D), "W_down": (D, H)}

    def hidden(self, weights: Weights, z: Float[Tensor, "... T D"]) -> Float[Tensor, "... T H"]:
        """Return h."""
        return ACTIVATIONS[self.activation](linear(weights, "W_gate", z)) * linear(weights, "W_up", z)

    def __call__(self, weights: Weights, z: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return the output."""
        return linear(weights, "W_down", self.hidden(weights, z))


def _require_activation(name: str) -> None:
    if name not in ACTIVATIONS:
        raise ValueError(f"unknown activation {name!r}: take one of {', '.join(ACTIVATIONS)}")
