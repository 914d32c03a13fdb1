"""Layers of linear attention that write into the label slot, token by token and as a matrix of the context's covariance."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal

EXAMPLES = 400_000
"""Examples drawn at a time."""


def answers(
    A: Float[Tensor, "L d d"], x: Float[Tensor, "B N d"], y: Float[Tensor, "B N T"], queries: Float[Tensor, "B Q d"]
) -> Float[Tensor, "B Q T"]:
    """Return what L layers answer, for T tasks of one context: each token attends to the N examples, never to a query.

    A layer adds -(1/N) sum_j <x_i, A x_j> y_j to the label slot of token i, and the slot of a query begins at 0; what is left
    of an example's label is what the layers below did not explain. The answer is the slot with its sign turned.
    """
    slots = torch.zeros(*queries.shape[:2], y.shape[-1], dtype=y.dtype)
    for layer in A:
        read = torch.einsum("de,bne,bnt->bdt", layer, x, y) / x.shape[1]
        slots = slots - torch.einsum("bqd,bdt->bqt", queries, read)
        y = y - torch.einsum("bnd,bdt->bnt", x, read)
    return -slots


def answers_of_free_features(
    p: Float[Tensor, "L"],
    a: Float[Tensor, "L"],
    x: Float[Tensor, "B N d"],
    y: Float[Tensor, "B N"],
    query: Float[Tensor, "B d"],
) -> Float[Tensor, "B"]:
    """Return what layers answer that also add p S_l x to the features x of every token, S_l the covariance of the context's."""
    slot = torch.zeros(len(y), dtype=y.dtype)
    for change, step in zip(p, a, strict=True):
        S, read = covariance(x), torch.einsum("bnd,bn->bd", x, y) / x.shape[1]
        slot, y = slot - step * (query * read).sum(-1), y - step * torch.einsum("bnd,bd->bn", x, read)
        x, query = x + change * torch.einsum("bnd,bde->bne", x, S), query + change * torch.einsum("bd,bde->be", query, S)
    return -slot


def left(A: Float[Tensor, "*r L d d"], S: Float[Tensor, "*b d d"]) -> Float[Tensor, "*c d d"]:
    """Return prod_l (I - A_l S), which takes a task w to what L layers leave of it; replicates and contexts broadcast."""
    found = torch.eye(S.shape[-1], dtype=S.dtype)
    for layer in A.unbind(-3):
        found = found - layer @ (S @ found)
    return found


def steps(a, d: int) -> Float[Tensor, "L d d"]:
    """Return the layers a_l I of some step sizes, in float64."""
    return torch.as_tensor(a, dtype=torch.float64)[:, None, None] * torch.eye(d, dtype=torch.float64)


def examples(seed: int, role: str, B: int, N: int, d: int) -> Iterator[Float[Tensor, "b N d"]]:
    """Return inputs of B contexts of N examples x ~ N(0, I), in parts, each drawn when it is asked for."""
    generator, like = stream(seed, role), torch.zeros((), dtype=torch.float64)
    most = max(1, EXAMPLES // N)
    return (normal(generator, (min(most, B - done), N, d), like) for done in range(0, B, most))


def of_size_1(x: Float[Tensor, "B N d"]) -> Float[Tensor, "B N d"]:
    """Return contexts with sum_i |x_i|^2 = 1: for normal inputs the shape is independent of the size, a chi square of N d."""
    return x / x.flatten(1).norm(dim=1)[:, None, None]


def sizes(a: float, n: int) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Return nodes and weights of the mean over a size of the distribution Gamma(a), exact up to the power 2n - 1.

    Gauss's rule by Golub and Welsch, with the recurrence of Laguerre's polynomials; a chi square of k is twice a Gamma(k/2).
    """
    k = np.arange(1, n)
    side = np.sqrt(k * (k + a - 1))
    nodes, vectors = np.linalg.eigh(np.diag(2.0 * np.arange(n) + a) + np.diag(side, 1) + np.diag(side, -1))
    return nodes, vectors[0] ** 2


def covariance(x: Float[Tensor, "*b N d"]) -> Float[Tensor, "*b d d"]:
    """Return S = (1/N) sum_i x_i x_i^T."""
    return torch.einsum("...nd,...ne->...de", x, x) / x.shape[-2]
