"""Contexts with many queries each, and the vectors that a context may stand for."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from icl_lib.tasks.regression import linear_labels

LIKE = torch.zeros((), dtype=torch.float64)


class Contexts(NamedTuple):
    """B contexts with their tasks and Q queries of each, which know neither."""

    w: Float[Tensor, "B d"]
    x: Float[Tensor, "B M d"]
    y: Float[Tensor, "B M"]
    queries: Float[Tensor, "B Q d"]

    def first(self, k: int) -> tuple[Float[Tensor, "B k d"], Float[Tensor, "B k"]]:
        """Return the first k examples."""
        return self.x[:, :k], self.y[:, :k]


def isotropic(seed: int, role: str, shape: tuple[int, int, int], d: int) -> Contexts:
    """Draw B contexts of M examples and Q queries, shape (B, M, Q): x, w and queries from N(0, I), no noise."""
    B, M, Q = shape
    sizes = {"tasks": (B, d), "inputs": (B, M, d), "queries": (B, Q, d)}
    w, x, queries = (normal(stream(seed, f"{role}/{name}"), size, LIKE) for name, size in sizes.items())
    return Contexts(w, x, linear_labels(x, w), queries)


def least_norm(x: Float[Tensor, "B k d"], y: Float[Tensor, "B k"]) -> Float[Tensor, "B d"]:
    """Return X^+ y, which without noise is the posterior mean of w ~ N(0, I)."""
    return torch.einsum("bdk,bk->bd", torch.linalg.pinv(x), y)


def ridge(x: Float[Tensor, "B k d"], y: Float[Tensor, "B k"], penalty: float) -> Float[Tensor, "B d"]:
    """Return (X^T X + penalty I)^-1 X^T y, with the noise's variance the posterior mean of w ~ N(0, I)."""
    gram = torch.einsum("bki,bkj->bij", x, x) + penalty * torch.eye(x.shape[-1], dtype=x.dtype)
    return torch.linalg.solve(gram, torch.einsum("bkd,bk->bd", x, y)[..., None])[..., 0]


def among(
    x: Float[Tensor, "B k d"], y: Float[Tensor, "B k"], tasks: Float[Tensor, "K d"], noise: float
) -> Float[Tensor, "B d"]:
    """Return the posterior mean of a task that is one of K, each as likely: sum_i softmax_i(-|y - X w_i|^2/(2 s^2)) w_i."""
    left = (y[..., None] - torch.einsum("bkd,jd->bkj", x, tasks)).square().sum(1)
    return (-left / (2 * noise**2)).softmax(-1) @ tasks
