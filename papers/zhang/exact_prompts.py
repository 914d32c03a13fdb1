"""Prompts with weights whose weighted means are the exact population means of a polynomial loss."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.prompts import Prompts

MOST = 10**7
"""Prompts that an exact mean may take."""


def gauss_hermite_prompts(Lambda: Float[ndarray, "d d"], N: int) -> tuple[Prompts, Float[Tensor, "B"]]:
    """Return the product Gauss-Hermite rule for x_i, x_query ~ N(0, Lambda), w ~ N(0, I), and its weights.

    The squared error of linear attention has degree 4 in each context coordinate and in each coordinate of w, and 6 in
    those of the query: 3 and 4 nodes integrate it exactly. There are 3^(dN + d) 4^d prompts; ValueError beyond MOST.
    """
    d = len(Lambda)
    if 3 ** (d * N + d) * 4**d > MOST:
        raise ValueError(f"the exact mean at d = {d}, N = {N} takes more than {MOST:g} prompts: take smaller ones")
    rules = [hermite(3)] * (d * N + d) + [hermite(4)] * d
    nodes = _product([rule[0] for rule in rules])
    weights = _product([rule[1] for rule in rules]).prod(axis=-1)
    root = np.linalg.cholesky(Lambda)
    x = np.einsum("bnk,ik->bni", nodes[:, : d * N].reshape(-1, N, d), root)
    w, x_query = nodes[:, d * N : -d], np.einsum("bk,ik->bi", nodes[:, -d:], root)
    y, y_query = np.einsum("bni,bi->bn", x, w), np.einsum("bi,bi->b", x_query, w)
    return Prompts(*(torch.tensor(part) for part in (x, y, x_query, y_query))), torch.tensor(weights)


def hermite(nodes: int) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Return the nodes and weights that average polynomials of degree below 2n under N(0, 1) exactly."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return points, weights / weights.sum()


def attention(U: Float[Tensor, "D D"]) -> LinearSelfAttention:
    """Return the layer with live parameters U (Lemma 5.1) and zeros elsewhere."""
    W_PV = torch.cat([torch.zeros_like(U[:-1]), U[None, :, -1]])
    W_KQ = torch.cat([U[:, :-1], torch.zeros_like(U[:, :1])], dim=1)
    return LinearSelfAttention(W_PV, W_KQ)


def exact_loss(Lambda: Float[ndarray, "d d"], N: int) -> Callable[[Float[Tensor, "D D"]], Tensor]:
    """Return U -> L(U) = (1/2) E(y_hat - y_query)^2 of the layer, differentiable, with the mean exact."""
    prompts, weights = gauss_hermite_prompts(Lambda, N)

    def loss(U: Tensor) -> Tensor:
        return torch.einsum("b,b->", weights, (attention(U)(prompts) - prompts.y_query) ** 2) / 2

    return loss


def _product(axes: list[ndarray]) -> Float[ndarray, "B k"]:
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
