"""Ratios of two means that were measured on the same units."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.measure.estimate import Estimate


def ratio_of_means(top: Float[Tensor, "... U"], bottom: Float[Tensor, "... U"]) -> Estimate:
    """Return R = mean(top)/mean(bottom) over the last dimension and its standard error to first order.

    It is sd(top - R bottom) / (sqrt(U) |mean(bottom)|): what the two have in common cancels.
    Raises ValueError for fewer than 2 units.
    """
    U = top.shape[-1]
    if U < 2:
        raise ValueError(f"a standard error needs at least 2 units, not {U}: take more")
    ratio = top.mean(-1) / bottom.mean(-1)
    spread = torch.std(top - ratio[..., None] * bottom, dim=-1)
    return Estimate(ratio.numpy()[()], (spread / (U**0.5 * bottom.mean(-1).abs())).numpy()[()])
