"""Contextual layers: a map A that takes the query alone, A(x), or after a context, A(C, x) (Dherin et al., section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.weights import Weights, linear, unmet
from icl_lib.typed import refuse


@runtime_checkable
class ContextualLayer(Protocol):
    """A layer whose output at a token depends on the tokens before it. Its weights are an argument.

    A prompt is a sequence of tokens (..., T, n) with the query last; A(x) is the layer on the query alone, T = 1.
    """

    inputs: int
    outputs: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights, by name."""
        ...

    def __call__(self, weights: Weights, tokens: Tensor) -> Tensor:
        """Return A at the last token, (..., k)."""
        ...

    def everywhere(self, weights: Weights, tokens: Tensor, positions: Tensor) -> Tensor:
        """Return A at every token, (..., T, k): of the tokens up to it, or of all where the layer is not causal."""
        ...

    def prefixes(self, weights: Weights, context: Tensor, queries: Tensor) -> Tensor:
        """Return A(c_1 .. c_i, x_i) for i = 0 .. N, (..., N + 1, k), of context (..., N, n) and queries (..., N + 1, n)."""
        ...


def without(tokens: Float[Tensor, "... T n"], Y: Sequence[int]) -> Float[Tensor, "... K n"]:
    """Return the prompt (C without Y, x): context tokens at the places Y left out, the query last as before.

    Raises ValueError when a place is not one of the T - 1 places 0 .. T - 2 of the context, or is named twice.
    """
    refuse(
        any(isinstance(each, bool | np.bool_ | Tensor) for each in Y),
        "Y names places of the context: give whole numbers, no mask",
    )
    N = tokens.shape[-2] - 1
    if len(set(Y)) != len(Y) or not set(Y) <= set(range(N)):
        raise ValueError(f"Y must name different places of the context, 0 to {N - 1}, not {sorted(Y)}")
    return tokens[..., sorted(set(range(N + 1)) - set(Y)), :]


def _unasked(context: Tensor, queries: Tensor) -> tuple[bool, str]:
    told = f"{queries.shape[-2]} queries for {context.shape[-2]} contexts: give one more, for the empty prompt"
    return queries.shape[-2] != context.shape[-2] + 1, told


@dataclass(frozen=True)
class SoftmaxAttention:
    """Multi-head attention: A(C, x) = W_O concat_h sum_t softmax_t(<W_K t, W_Q x>_h / sqrt(c)) (W_V t)_h, c = head_width.

    The sum runs over the context and the query itself. With ``causal``, the default, no token attends to later ones. No biases,
    no positions. Rows of W_Q, W_K, W_V are heads times channels.

    After the context 0 the query 1 has the scores 0 and ln 3, so that 1/4 of its attention is on 0, and 3/4 on itself:

    >>> import torch
    >>> from icl_lib.models.contextual.layers import SoftmaxAttention
    >>> layer, one = SoftmaxAttention(heads=1, head_width=1, inputs=1, outputs=1), torch.ones(1, 1)
    >>> weights = {"W_Q": torch.log(3 * one), "W_K": one, "W_V": one, "W_O": one}
    >>> round(float(layer(weights, torch.tensor([[0.0], [1.0]]))), 3)
    0.75
    """

    heads: int
    head_width: int
    inputs: int
    outputs: int
    causal: bool = True

    def __post_init__(self):
        if min(self.heads, self.head_width, self.inputs, self.outputs) < 1:
            raise ValueError(f"heads, head_width, inputs and outputs must be 1 or more, not {self}")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        rows = self.heads * self.head_width
        return {**dict.fromkeys(("W_Q", "W_K", "W_V"), (rows, self.inputs)), "W_O": (self.outputs, rows)}

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... k"]:
        """Return A at the last token from its row of the attention matrix alone.

        Keys and values of the T tokens are never formed: O(T h n) in place of O(T h c n).
        """
        refuse(*unmet(weights, "W_Q", tokens))
        W_Q, W_K, W_V = (weights[name].unflatten(-2, (self.heads, self.head_width)) for name in ("W_Q", "W_K", "W_V"))
        key = torch.einsum("...hcn,...hc->...hn", W_K, torch.einsum("...hcn,...n->...hc", W_Q, tokens[..., -1, :]))
        attention = (torch.einsum("...hn,...tn->...ht", key, tokens) / self.head_width**0.5).softmax(-1)
        average = torch.einsum("...ht,...tn->...hn", attention, tokens)
        values = torch.einsum("...hcn,...hn->...hc", W_V, average).flatten(-2)
        return torch.einsum("...ki,...i->...k", weights["W_O"], values)

    def everywhere(
        self, weights: Weights, tokens: Float[Tensor, "... T n"], positions: Int[Tensor, "T"]
    ) -> Float[Tensor, "... T k"]:
        """Return A at every token."""
        query, key = (self._placed(self._heads(weights, name, tokens), positions) for name in ("W_Q", "W_K"))
        scores = self._scores(query, key)
        if self.causal:
            T = tokens.shape[-2]
            scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool, device=tokens.device).triu(1), -torch.inf)
        return self._gather(weights, scores.softmax(-1), tokens)

    def prefixes(
        self, weights: Weights, context: Float[Tensor, "... N n"], queries: Float[Tensor, "... N+1 n"]
    ) -> Float[Tensor, "... N+1 k"]:
        """Return A(c_1 .. c_i, x_i) for i = 0 .. N; O(N^2) scores for all prefixes together."""
        refuse(*_unasked(context, queries))
        query, own = (self._heads(weights, name, queries) for name in ("W_Q", "W_K"))
        N = context.shape[-2]
        later = torch.ones(N + 1, N, dtype=torch.bool, device=context.device).triu()
        scores = self._scores(query, self._heads(weights, "W_K", context)).masked_fill(later, -torch.inf)
        itself = torch.einsum("...thc,...thc->...ht", query, own)[..., None] / self.head_width**0.5
        attention = torch.cat([scores, itself], -1).softmax(-1)
        values = torch.einsum("...hst,...thc->...shc", attention[..., :-1], self._heads(weights, "W_V", context))
        values = values + attention[..., -1].mT[..., None] * self._heads(weights, "W_V", queries)
        return linear(weights, "W_O", values.flatten(-2))

    def _heads(self, weights: Weights, name: str, tokens: Tensor) -> Float[Tensor, "... T h c"]:
        return linear(weights, name, tokens).unflatten(-1, (self.heads, self.head_width))

    def _placed(self, rows: Float[Tensor, "... T h c"], positions: Int[Tensor, "T"]) -> Float[Tensor, "... T h c"]:
        return rows

    def _scores(self, query: Float[Tensor, "... S h c"], key: Float[Tensor, "... T h c"]) -> Float[Tensor, "... h S T"]:
        return torch.einsum("...shc,...thc->...hst", query, key) / self.head_width**0.5

    def _gather(self, weights: Weights, attention: Float[Tensor, "... h S T"], tokens: Tensor) -> Float[Tensor, "... S k"]:
        values = torch.einsum("...hst,...thc->...shc", attention, self._heads(weights, "W_V", tokens))
        return linear(weights, "W_O", values.flatten(-2))


def heads(
    layer: SoftmaxAttention, weights: Weights
) -> tuple[Float[Tensor, "... h c n"], Float[Tensor, "... h c n"], Float[Tensor, "... h c n"], Float[Tensor, "... k h c"]]:
    """Return W_Q, W_K, W_V and W_O of each head.

    >>> import torch
    >>> from icl_lib.models.contextual.layers import SoftmaxAttention, heads
    >>> layer = SoftmaxAttention(heads=2, head_width=3, inputs=4, outputs=5)
    >>> [tuple(W.shape) for W in heads(layer, {name: torch.zeros(shape) for name, shape in layer.shapes.items()})]
    [(2, 3, 4), (2, 3, 4), (2, 3, 4), (5, 2, 3)]
    """
    split = (layer.heads, layer.head_width)
    return *(weights[name].unflatten(-2, split) for name in ("W_Q", "W_K", "W_V")), weights["W_O"].unflatten(-1, split)


@dataclass(frozen=True)
class LinearAttention:
    """A(C, x) = sum_t (W_V t) <W_K t, W_Q x> over the context and the query itself; causal, no softmax, no positions."""

    width: int
    inputs: int
    outputs: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        refuse(min(self.width, self.inputs, self.outputs) < 1, f"width, inputs and outputs must be 1 or more, not {self}")
        return {**dict.fromkeys(("W_Q", "W_K"), (self.width, self.inputs)), "W_V": (self.outputs, self.inputs)}

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T n"]) -> Float[Tensor, "... k"]:
        """Return A at the last token, O(T)."""
        query = linear(weights, "W_Q", tokens[..., -1:, :])[..., 0, :]
        scores = torch.einsum("...tc,...c->...t", linear(weights, "W_K", tokens), query)
        return torch.einsum("...t,...tk->...k", scores, linear(weights, "W_V", tokens))

    def everywhere(
        self, weights: Weights, tokens: Float[Tensor, "... T n"], positions: Int[Tensor, "T"]
    ) -> Float[Tensor, "... T k"]:
        """Return A at every token."""
        query, key = (linear(weights, name, tokens) for name in ("W_Q", "W_K"))
        scores = torch.einsum("...sc,...tc->...st", query, key).tril()
        return torch.einsum("...st,...tk->...sk", scores, linear(weights, "W_V", tokens))

    def prefixes(
        self, weights: Weights, context: Float[Tensor, "... N n"], queries: Float[Tensor, "... N+1 n"]
    ) -> Float[Tensor, "... N+1 k"]:
        """Return A(c_1 .. c_i, x_i) for i = 0 .. N."""
        refuse(*_unasked(context, queries))
        query = linear(weights, "W_Q", queries)
        scores = torch.einsum("...sc,...tc->...st", query, linear(weights, "W_K", context)).tril(-1)
        own = torch.einsum("...sc,...sc->...s", query, linear(weights, "W_K", queries))
        past = torch.einsum("...st,...tk->...sk", scores, linear(weights, "W_V", context))
        return past + own[..., None] * linear(weights, "W_V", queries)
