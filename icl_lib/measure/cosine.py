"""The angle between two vectors."""

from jaxtyping import Float
from torch import Tensor

from icl_lib.typed import refuse


def cosine(u: Float[Tensor, "... n"], v: Float[Tensor, "... n"]) -> Float[Tensor, "..."]:
    """Return <u, v> / (|u| |v|) along the last dimension; NaN where u or v is 0.

    It has no meaning where a square is beyond the range of the dtype: in float32 for vectors longer than 1e19 or shorter
    than 1e-19.

    >>> import torch
    >>> from icl_lib.measure.cosine import cosine
    >>> cosine(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 0.0]))
    tensor(0.6000)
    >>> cosine(torch.eye(2), torch.tensor([[3.0, 4.0], [4.0, 3.0]]))
    tensor([0.6000, 0.6000])
    """
    refuse(
        not all(isinstance(each, Tensor) and each.is_floating_point() and each.ndim for each in (u, v)),
        f"vectors are {type(u).__name__} and {type(v).__name__}: give tensors of floats, (..., n)",
    )
    refuse(u.shape[-1] != v.shape[-1], f"vectors of {u.shape[-1]} and of {v.shape[-1]} entries: give as many")
    return (u * v).sum(-1) / (u.norm(dim=-1) * v.norm(dim=-1))
