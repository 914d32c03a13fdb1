"""Norms of a token; ``place`` is the end of the weights' names.

The token (1, 7) has root mean square 5, mean 4 and deviation 3:

>>> import torch
>>> from icl_lib.models.contextual.norms import LayerNorm, RMSNorm
>>> x, weights = torch.tensor([[1.0, 7.0]]), {"m_feed": torch.tensor([5.0, 10.0]), "b_feed": torch.tensor([0.0, 1.0])}
>>> RMSNorm(epsilon=0.0)(weights, "feed", x).tolist(), LayerNorm(epsilon=0.0)(weights, "feed", x).tolist()
([[1.0, 14.0]], [[-5.0, 11.0]])
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.weights import Weights
from icl_lib.typed import refuse


@runtime_checkable
class Norm(Protocol):
    """A map of each token with weights named after ``place``."""

    def shapes(self, place: str, width: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights, by name."""
        ...

    def __call__(self, weights: Weights, place: str, x: Tensor) -> Tensor:
        """Return the normalised tokens, of x (..., T, width)."""
        ...


@dataclass(frozen=True)
class NoNorm:
    """x itself."""

    def shapes(self, place: str, width: int) -> dict[str, tuple[int, ...]]:
        """Return no shapes: there are no weights."""
        return {}

    def __call__(self, weights: Weights, place: str, x: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return x."""
        return x


@dataclass(frozen=True)
class LayerNorm:
    """m (x - mean(x)) / sqrt(var(x) + epsilon) + b."""

    epsilon: float

    def shapes(self, place: str, width: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of gain and bias."""
        return {f"m_{place}": (width,), f"b_{place}": (width,)}

    def __call__(self, weights: Weights, place: str, x: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return the normalised tokens."""
        refuse(self.epsilon < 0, f"epsilon is {self.epsilon}: give a number of at least 0")
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.square().mean(-1, keepdim=True) + self.epsilon).sqrt()
        return weights[f"m_{place}"][..., None, :] * x + weights[f"b_{place}"][..., None, :]


@dataclass(frozen=True)
class RMSNorm:
    """m x / sqrt(mean(x^2) + epsilon)."""

    epsilon: float

    def shapes(self, place: str, width: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of the gain."""
        return {f"m_{place}": (width,)}

    def __call__(self, weights: Weights, place: str, x: Float[Tensor, "... T D"]) -> Float[Tensor, "... T D"]:
        """Return the normalised tokens."""
        refuse(self.epsilon < 0, f"epsilon is {self.epsilon}: give a number of at least 0")
        return weights[f"m_{place}"][..., None, :] * x / (x.square().mean(-1, keepdim=True) + self.epsilon).sqrt()
