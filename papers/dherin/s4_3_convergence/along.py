"""How far the update moves with each token of a context, and how fast that falls."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor


def marginal_norms(W: Float[Tensor, "m k"], a: Float[Tensor, "B T k"]) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B 1"]]:
    """Return |DeltaW_n - DeltaW_{n-1}| = |W(A_n - A_{n-1})|/|A_0| for n = 1 .. N, and |DeltaW_N|."""
    seen, length = torch.einsum("mk,bik->bim", W, a), a[:, :1].norm(dim=-1)
    if not length.all():
        raise ValueError("A(x) = 0 for a query: there is no update of W that could carry its context")
    return seen.diff(dim=1).norm(dim=-1) / length, (seen[:, -1:] - seen[:, :1]).norm(dim=-1) / length


def log_slope(i: Int[np.ndarray, "N"], values: Float[np.ndarray, "*b N"], first: int) -> float | Float[np.ndarray, "*b"]:
    """Return the least-squares slope of log(values) on log(i) over i >= first."""
    kept = i >= first
    if first < 1 or kept.sum() < 3:
        raise ValueError(f"a slope in log i needs i >= 1 and three points or more; i >= {first} leaves {kept.sum()}")
    x = np.log(i[kept])
    x = x - x.mean()
    return (np.log(values[..., kept]) * x).sum(-1) / np.square(x).sum()
