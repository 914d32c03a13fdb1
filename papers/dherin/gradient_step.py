"""Linear attention to the context alone with a residual: the layer behind one step of gradient descent."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.weights import Weights, linear


@dataclass(frozen=True)
class ResidualContextAttention:
    """A(C, x) = x + sum_{t in C} (W_V t) <W_K t, W_Q x>: the query itself is no token of the sum."""

    width: int
    inputs: int

    @property
    def outputs(self) -> int:
        """As many as inputs, for the residual."""
        return self.inputs

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        return dict.fromkeys(("W_Q", "W_K"), (self.width, self.inputs)) | {"W_V": (self.inputs, self.inputs)}

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... n"]:
        """Return A at the last token, O(T)."""
        context, x = tokens[..., :-1, :], tokens[..., -1:, :]
        scores = torch.einsum("...tc,...qc->...t", linear(weights, "W_K", context), linear(weights, "W_Q", x))
        return x[..., 0, :] + torch.einsum("...t,...tk->...k", scores, linear(weights, "W_V", context))

    def everywhere(
        self, weights: Weights, tokens: Float[Tensor, "... T n"], positions: Int[Tensor, "T"]
    ) -> Float[Tensor, "... T n"]:
        """Return A at every token; each attends to those before it."""
        return self._from(weights, tokens, tokens)

    def prefixes(
        self, weights: Weights, context: Float[Tensor, "... N n"], queries: Float[Tensor, "... N+1 n"]
    ) -> Float[Tensor, "... N+1 n"]:
        """Return A(c_1 .. c_i, x_i) for i = 0 .. N."""
        return self._from(weights, context, queries)

    def _from(self, weights: Weights, context: Tensor, queries: Tensor) -> Tensor:
        scores = torch.einsum("...sc,...tc->...st", linear(weights, "W_Q", queries), linear(weights, "W_K", context)).tril(-1)
        return queries + torch.einsum("...st,...tk->...sk", scores, linear(weights, "W_V", context))


def descent_weights(d: int, eta: float, like: Tensor) -> Weights:
    """Return weights for tokens (x; y) with x in R^d: W_Q reads x, W_K reads -eta x, W_V is the identity."""
    reads = torch.eye(d, d + 1, dtype=like.dtype, device=like.device)
    return {"W_Q": reads, "W_K": -eta * reads, "W_V": torch.eye(d + 1, dtype=like.dtype, device=like.device)}
