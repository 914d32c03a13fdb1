"""Recurrent networks as contextual layers: what the context does to the query passes through one state."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.weights import Weights, linear


class _Recurrent:
    """What the recurrent layers share: A is the state after the last token, from the state 0 before the first."""

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... k"]:
        """Return A at the last token."""
        return self._states(weights, tokens)[..., -1, :]

    def everywhere(
        self, weights: Weights, tokens: Float[Tensor, "... T n"], positions: Int[Tensor, "T"]
    ) -> Float[Tensor, "... T k"]:
        """Return A at every token."""
        return self._states(weights, tokens)[..., 1:, :]

    def prefixes(
        self, weights: Weights, context: Float[Tensor, "... N n"], queries: Float[Tensor, "... N+1 n"]
    ) -> Float[Tensor, "... N+1 k"]:
        """Return A(c_1 .. c_i, x_i) for i = 0 .. N: N steps along the context, then one from each of its states."""
        return self._step(weights, self._states(weights, context), self._read(weights, queries))

    def _states(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... T+1 k"]:
        read = self._read(weights, tokens)
        states = [read.new_zeros(*read.shape[:-2], 1, self.outputs)]
        for row in read.unbind(-2):
            states.append(self._step(weights, states[-1], row[..., None, :]))
        return torch.cat(states, -2)


@dataclass(frozen=True)
class TanhRNN(_Recurrent):
    """Elman network: s_t = tanh(W_x t + W_s s_{t-1} + b_x), A = s at the last token."""

    inputs: int
    outputs: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        k = self.outputs
        return {"W_x": (k, self.inputs), "W_s": (k, k), "b_x": (k,)}

    def _read(self, weights: Weights, tokens: Tensor) -> Tensor:
        return linear(weights, "W_x", tokens, "b_x")

    def _step(self, weights: Weights, state: Tensor, read: Tensor) -> Tensor:
        return (read + linear(weights, "W_s", state)).tanh()


@dataclass(frozen=True)
class GRU(_Recurrent):
    """Gated recurrent unit: s_t = (1 - u) n + u s_{t-1}, gates r, u = sigmoid(.).

    The candidate is n = tanh(W_x^n t + b_x^n + r (W_s^n s_{t-1} + b_s)). Rows of W_x and W_s are the reset gate r, the update
    gate u and the candidate n, in PyTorch's order; b_s acts on the candidate alone.
    """

    inputs: int
    outputs: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        k = self.outputs
        return {"W_x": (3 * k, self.inputs), "W_s": (3 * k, k), "b_x": (3 * k,), "b_s": (k,)}

    def _read(self, weights: Weights, tokens: Tensor) -> Tensor:
        return linear(weights, "W_x", tokens, "b_x")

    def _step(self, weights: Weights, state: Tensor, read: Tensor) -> Tensor:
        inner = linear(weights, "W_s", state)
        (r, u, n), (r_s, u_s, n_s) = read.chunk(3, -1), inner.chunk(3, -1)
        reset, update = (r + r_s).sigmoid(), (u + u_s).sigmoid()
        candidate = (n + reset * (n_s + weights["b_s"][..., None, :])).tanh()
        return (1 - update) * candidate + update * state
