"""Blocks whose weights are all trained: attention to the context with a skip, then an MLP; several networks at once."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.train.optimizers import Parameters
from papers.lenses.blocks import unlabelled


class Shape(NamedTuple):
    """Sizes of the weights."""

    networks: int
    heads: int
    neurons: int
    d: int


def initial(draws: torch.Generator, shape: Shape, biases: bool) -> Parameters:
    """Draw weights: values near the tokens themselves, keys near 0, an MLP with the fan-in's scale, biases of 0 if any.

    Values near the tokens keep most descents from ending where values do not read the label.
    """
    R, H, m, D = *shape[:3], shape.d + 1

    def normal(*sizes: int) -> Tensor:
        return torch.randn(R, *sizes, generator=draws)

    return {
        "K": 0.1 * normal(H, D, D),
        "V": 0.1 * normal(H, D, D) + torch.eye(D),
        "W": normal(m, D) / D**0.5,
        "u": normal(m) / m**0.5,
    } | ({"b": torch.zeros(R, m)} if biases else {})


@dataclass(frozen=True)
class Block:
    """u^T f(W A + b), A = z + sum_h V_h sum_i s_i z_i over the context, s linear or softmax in <z_i, K_h z>.

    A linear MLP has no biases: its own weights are the row W^T u.
    """

    attention: str
    feed: str

    def __call__(
        self, weights: Parameters, tokens: Float[Tensor, "R B N D"], queries: Float[Tensor, "B Q d"]
    ) -> Float[Tensor, "R B Q"]:
        """Return the outputs at queries with the context."""
        z = unlabelled(queries).expand(len(tokens), -1, -1, -1)
        keys = torch.einsum("rhde,rbqe->rhbqd", weights["K"], z)
        scores = torch.einsum("rbnd,rhbqd->rhbqn", tokens, keys)
        scores = scores.softmax(-1) if self.attention == "softmax" else scores / tokens.shape[-2]
        read = torch.einsum("rhbqn,rbnd->rhbqd", scores, tokens)
        return self._fed(weights, z + torch.einsum("rhed,rhbqd->rbqe", weights["V"], read))

    def alone(self, weights: Parameters, queries: Float[Tensor, "Q d"]) -> Float[Tensor, "R 1 Q"]:
        """Return the outputs at queries without a context."""
        return self._fed(weights, unlabelled(queries).expand(len(weights["u"]), 1, -1, -1))

    def _fed(self, weights: Parameters, a: Float[Tensor, "R B Q D"]) -> Float[Tensor, "R B Q"]:
        hidden = torch.einsum("rmd,rbqd->rbqm", weights["W"], a)
        if self.feed == "ReLU":
            hidden = (hidden + weights["b"][:, None, None]).relu()
        return torch.einsum("rm,rbqm->rbq", weights["u"], hidden)
