"""Networks of one block as queries without labels see them, and finetuning of their matrix W one example at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.layers import ContextualLayer
from icl_lib.models.contextual.weights import Weights
from icl_lib.tasks.prompts import Prompts, normal
from icl_lib.tasks.regression import linear_labels
from papers.dherin.along import states_along
from papers.dherin.network import Network
from papers.dherin.trained import Training, tokens

LIKE = torch.zeros((), dtype=torch.float64)


@runtime_checkable
class Finetunable(Protocol):
    """What can be finetuned one example at a time."""

    def finetune(self, x: Tensor, y: Tensor, pace: float) -> Iterator[Tensor]: ...


@dataclass(frozen=True, eq=False)
class Plain:
    """p(x) = <u, relu(W G x + b)> + c: softmax attention over one token is linear, A(x) = G x for the token (x, 0).

    Finetuning on such queries changes W by S = D G^T: d columns D, whatever the width.
    """

    layer: ContextualLayer
    weights: Weights
    G: Float[Tensor, "k d"]

    @classmethod
    def of(cls, network: Network, weights: Weights) -> "Plain":
        """Return one network, without leading dimensions, in this form."""
        block = network.blocks(weights)[0]
        G = torch.einsum("ki,in->kn", block["W_O"], block["W_V"])[:, :-1]
        return cls(network.block.joint.layer, block, G)

    @property
    def K(self) -> Float[Tensor, "d d"]:
        """G^T G: inner products of A(x) in terms of x."""
        return torch.einsum("kd,ke->de", self.G, self.G)

    @property
    def u(self) -> Float[Tensor, "H"]:
        """The row of W_out that makes the prediction."""
        return self.weights["W_out"][-1]

    def rescaled(self, s: float) -> "Plain":
        """Return the same function with (s W, s b, W_out/s)."""
        scale = {"W": s, "b": s, "W_out": 1 / s}
        return Plain(self.layer, {name: scale.get(name, 1.0) * weight for name, weight in self.weights.items()}, self.G)

    def output(self, hidden: Float[Tensor, "... H"]) -> Float[Tensor, "..."]:
        """Return the prediction from W a + b."""
        return torch.einsum("...h,h->...", hidden.relu(), self.u) + self.weights["b_out"][-1]

    def hidden(self, x: Float[Tensor, "... d"], D: Tensor | None = None) -> Float[Tensor, "... H"]:
        """Return (W + D G^T) G x + b."""
        before = torch.einsum("hk,kd,...d->...h", self.weights["W"], self.G, x) + self.weights["b"]
        return before if D is None else before + self.moved(D, x)

    def moved(self, D: Float[Tensor, "... H d"], x: Float[Tensor, "... d"]) -> Float[Tensor, "... H"]:
        """Return S G x = D K x."""
        return torch.einsum("...hd,...d->...h", D, x @ self.K)

    def size(self, D: Float[Tensor, "... H d"]) -> Float[Tensor, "..."]:
        """Return the Frobenius norm of S = D G^T."""
        return torch.einsum("...hd,...hd->...", D @ self.K, D).sqrt()

    def finetune(
        self, x: Float[Tensor, "... N d"], y: Float[Tensor, "... N"], pace: float | Tensor
    ) -> Iterator[Float[Tensor, "... H d"]]:
        """Yield D after 0, 1, ..., N examples; one step of size pace on (p - y)^2 for each, in order."""
        lead = (x[..., 0, 0] + y[..., 0] + pace).shape
        D = self.G.new_zeros(*lead, len(self.u), self.G.shape[-1])
        yield D
        rows = (each.unbind(-2) for each in (self.hidden(x), x @ self.K, x, y[..., None]))
        for before, seen, x_i, y_i in zip(*rows, strict=True):
            hidden = before + torch.einsum("...hd,...d->...h", D, seen)
            step = -2 * pace * (self.output(hidden) - y_i[..., 0])
            D = torch.addcmul(D, (step[..., None] * (hidden > 0) * self.u)[..., None], x_i[..., None, :])
            yield D

    def after(self, prompts: Prompts, lengths: list[int]) -> Float[Tensor, "... I k"]:
        """Return A(C_i, x) for the query of every prompt and its first i examples, i from ``lengths``."""
        return states_along(self.layer, self.weights, tokens(prompts))[..., lengths, :]

    def shift(self, a: Float[Tensor, "... I k"], prompts: Prompts) -> Float[Tensor, "... I H"]:
        """Return W (A(C_i, x) - A(x)), which the token patch adds at the query."""
        alone = prompts.x_query @ self.G.mT
        return torch.einsum("hk,...ik->...ih", self.weights["W"], a - alone[..., None, :])


def draw_tasks(generator: torch.Generator, shape: tuple[int, ...], N: int, d: int) -> tuple[Prompts, Float[Tensor, "... d"]]:
    """Draw prompts of N examples with their tasks w; x and w from N(0, I_d), y = <w, x>."""
    w, x, x_query = (normal(generator, (*shape, *rest, d), LIKE) for rest in ((), (N,), ()))
    return Prompts(x, linear_labels(x, w), x_query, (x_query * w).sum(-1)), w


def require_readable(training: Training) -> None:
    """Raise ValueError when A(x) is not linear in x."""
    if getattr(training.model, "layer", "none") != "softmax attention":
        raise ValueError("the layer must be softmax attention in one block, for which A(x) = G x: set training.model.layer")
