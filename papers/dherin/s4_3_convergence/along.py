"""How far the update moves with each token of a context."""

import torch
from jaxtyping import Float
from torch import Tensor


def marginal_norms(W: Float[Tensor, "m k"], a: Float[Tensor, "B T k"]) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B 1"]]:
    """Return |DeltaW_n - DeltaW_{n-1}| = |W(A_n - A_{n-1})|/|A_0| for n = 1 .. N, and |DeltaW_N|."""
    seen, length = torch.einsum("mk,bik->bim", W, a), a[:, :1].norm(dim=-1)
    if not length.all():
        raise ValueError("A(x) = 0 for a query: there is no update of W that could carry its context")
    return seen.diff(dim=1).norm(dim=-1) / length, (seen[:, -1:] - seen[:, :1]).norm(dim=-1) / length
