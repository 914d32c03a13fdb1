"""Blocks with linear attention to a context: draws of prompts and weights, and how what they make is compared."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.weights import Weights
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import gaussian, normal
from papers.dherin.gradient_step import ResidualContextAttention
from papers.lenses.theory import one_block
from papers.zhang.theory.optimum import Gamma


class Contexts(NamedTuple):
    """Contexts of one task each, and queries that are in none of them."""

    x: Float[Tensor, "S M d"]
    y: Float[Tensor, "S M"]
    queries: Float[Tensor, "S Q d"]
    w: Float[Tensor, "S d"]


def contexts(seed: int, role: str, shape: tuple[int, int, int], Lambda: Float[Tensor, "d d"]) -> Contexts:
    """Draw w ~ N(0, I), x_i and queries ~ N(0, Lambda), y = <w, x>; ``shape`` counts contexts, examples and queries."""
    S, M, Q = shape
    w = normal(stream(seed, f"{role}/w"), (S, len(Lambda)), Lambda)
    x = gaussian(stream(seed, f"{role}/x"), (S, M), Lambda)
    return Contexts(x, torch.einsum("smd,sd->sm", x, w), gaussian(stream(seed, f"{role}/queries"), (S, Q), Lambda), w)


def key_value(V: Float[Tensor, "... D D"], K: Float[Tensor, "... D D"], rho: float) -> Weights:
    """Return weights of attention with values V z_i and scores <z_i, K z_q>/rho."""
    eye = torch.eye(K.shape[-1], dtype=K.dtype).expand_as(K)
    return {"W_Q": eye, "W_K": K.mT / rho, "W_V": V}


def limit_attention(Lambda: Float[np.ndarray, "d d"], N: int, rho: float) -> Weights:
    """Return the weights of attention in the limit of training on prompts of N examples."""
    return key_value(*map(torch.tensor, one_block.limit_weights(Gamma(Lambda, N))), rho)


@dataclass(frozen=True)
class Blocks:
    """T(C, x) = f(W A(C, z_q)), A(C, z) = z + sum_i V z_i <z_i, K z>/rho, f one hidden layer of ReLU behind W.

    ``attention`` are the weights of A, of all contexts or (S, 1, D, D); W, b, W_out, b_out are those of the MLP.
    """

    attention: Weights
    weights: Weights

    def mixed(self, x: Float[Tensor, "S M d"], y: Float[Tensor, "S M"], z: Float[Tensor, "S Q D"]) -> Float[Tensor, "S Q D"]:
        """Return A(C, z) for every query of its context."""
        D = z.shape[-1]
        tokens = torch.cat([x, y[..., None]], -1)[:, None].expand(-1, z.shape[1], -1, -1)
        layer = ResidualContextAttention(D, D)
        return layer(self.attention, torch.cat([tokens, z[..., None, :]], -2))

    def uncut(self, x: Float[Tensor, "S M d"], y: Float[Tensor, "S M"]) -> Float[Tensor, "S m D"]:
        """Return each context's change of W that is linear in the query, read off at the unit vectors."""
        D = self.weights["W"].shape[-1]
        units = torch.eye(D, dtype=x.dtype).expand(len(x), D, D)
        return torch.einsum("mn,skn->smk", self.weights["W"], self.mixed(x, y, units) - units)

    def feed(self, a: Float[Tensor, "... Q D"], W: Float[Tensor, "... m D"] | None = None) -> Float[Tensor, "... Q 1"]:
        """Return f(W a) with the block's own W or with one for each context."""
        weights = self.weights if W is None else self.weights | {"W": W}
        m, D = self.weights["W"].shape[-2:]
        return MLP(D, (m,), 1, "relu")(weights, a)


def first_layer(seed: int, role: str, m: int, D: int, bias: float) -> Weights:
    """Draw an MLP with one hidden layer of m neurons; biases from N(0, bias^2)."""
    like = torch.zeros((), dtype=torch.float64)
    shapes = {"W": (m, D), "W_out": (1, m), "b": (m,), "b_out": (1,)}
    drawn = {name: normal(stream(seed, f"{role}/{name}"), shape, like) for name, shape in shapes.items()}
    return {name: each * (bias if name[0] == "b" else each.shape[-1] ** -0.5) for name, each in drawn.items()}


def unlabelled(x: Float[Tensor, "... d"]) -> Float[Tensor, "... d+1"]:
    """Return (x; 0)."""
    return torch.cat([x, torch.zeros_like(x[..., :1])], -1)
