"""The angle between two vectors."""

from jaxtyping import Float
from torch import Tensor


def cosine(u: Float[Tensor, "... n"], v: Float[Tensor, "... n"]) -> Float[Tensor, "..."]:
    """Return <u, v> / (|u| |v|) along the last dimension; NaN where a vector is 0.

    >>> import torch
    >>> from icl_lib.measure.cosine import cosine
    >>> cosine(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 0.0]))
    tensor(0.6000)
    >>> cosine(torch.eye(2), torch.tensor([[3.0, 4.0], [4.0, 3.0]]))
    tensor([0.6000, 0.6000])
    """
    return (u * v).sum(-1) / (u.norm(dim=-1) * v.norm(dim=-1))
