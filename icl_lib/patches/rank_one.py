"""The smallest change of a matrix that sends one vector where it should go (Dherin et al., theorems 2.2 and 2.3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.typed import refuse


def rank_one(change: Float[Tensor, "... m"], a: Float[Tensor, "... n"]) -> Float[Tensor, "... m n"]:
    """Return D = change a^T / |a|^2, the matrix of least Frobenius norm with D a = change.

    No epsilon is added: at a = 0 there is no such matrix unless change = 0. Raises ValueError naming how many a are 0, and
    where |a|^2 is beyond the range of the dtype: in float16, 6e-5 to 65,504.
    """
    zero = (a == 0).all(-1)
    if zero.any():
        raise ValueError(
            f"{int(zero.sum())} of {zero.numel()} vectors that the patched matrix reads are 0, so no change of the matrix "
            "can act on them (the theorem needs A(C without Y, x) != 0): patch a bias in its place"
        )
    refuse(
        _beyond(a.square().sum(-1)),
        f"|a|^2 is beyond what {a.dtype} holds with all its digits: give change and a in a wider type",
    )
    return torch.einsum("...m,...n->...mn", change, a / a.square().sum(-1, keepdim=True))


def _beyond(square: Float[Tensor, "..."]) -> bool:
    """Say whether a number is infinite, or so small that it has lost digits."""
    return bool(((square < torch.finfo(square.dtype).tiny) | square.isinf()).any())


def redirection(
    W: Float[Tensor, "... m n"], a: Float[Tensor, "... n"], a_full: Float[Tensor, "... n"]
) -> Float[Tensor, "... m n"]:
    """Return DeltaW = (W DeltaA) a^T / |a|^2 with DeltaA = a_full - a, so that (W + DeltaW) a = W a_full.

    a        what the matrix reads without Y, A(C without Y, x)
    a_full   what it reads with the whole context, A(C, x)

    >>> import torch
    >>> from icl_lib.patches.rank_one import redirection
    >>> W, a, a_full = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]), torch.tensor([3.0, 1.0])
    >>> W_patched = W + redirection(W, a, a_full)
    >>> W_patched.tolist(), (W_patched @ a).tolist(), (W @ a_full).tolist()
    ([[2.0, 3.0], [6.0, 7.0]], [5.0, 13.0], [5.0, 13.0])
    """
    refuse(
        not W.shape[-1] == a.shape[-1] == a_full.shape[-1],
        f"W has {W.shape[-1]} columns, a has {a.shape[-1]} entries and a_full {a_full.shape[-1]}: give as many",
    )
    return rank_one(torch.einsum("...mn,...n->...m", W, a_full - a), a)
