"""Means, ratios of means, and their standard errors."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.typed import refuse


class Estimate(NamedTuple):
    """A Monte Carlo mean and its standard error, in the dtype of the samples; NumPy scalars, or arrays of one shape."""

    value: float | np.ndarray
    standard_error: float | np.ndarray


def mean(samples: Float[Tensor, "... B"]) -> Estimate:
    """Return the mean over the last dimension with its standard error, sample standard deviation / sqrt(B).

    >>> import torch
    >>> from icl_lib.measure.estimate import mean
    >>> value, standard_error = mean(torch.tensor([0.0, 4.0, 4.0, 4.0]))
    >>> float(value), float(standard_error)
    (3.0, 1.0)
    """
    refuse(
        not (isinstance(samples, Tensor) and samples.is_floating_point() and samples.ndim) or samples.dtype == torch.bfloat16,
        f"samples are {type(samples).__name__} {getattr(samples, 'dtype', '')}: give floats that NumPy has, a tensor (..., B)",
    )
    refuse(samples.requires_grad, "samples carry gradients: give samples.detach(), or measure under torch.no_grad()")
    B = samples.shape[-1]
    if B < 2:
        raise ValueError(f"a standard error needs at least 2 samples, not {B}")
    error = samples.std(dim=-1) / B**0.5
    return Estimate(samples.mean(dim=-1).cpu().numpy()[()], error.cpu().numpy()[()])


def ratio_of_means(top: Float[Tensor, "... U"], bottom: Float[Tensor, "... U"]) -> Estimate:
    """Return R = mean(top)/mean(bottom) over the last dimension, of units alike, and its standard error to first order.

    It is sd(top - R bottom) / (sqrt(U) |mean(bottom)|): what the two have in common cancels.
    Raises ValueError for fewer than 2 units.

    >>> import torch
    >>> from icl_lib.measure.estimate import ratio_of_means
    >>> value, standard_error = ratio_of_means(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
    >>> float(value), float(standard_error)
    (2.0, 1.0)
    """
    U = top.shape[-1]
    if U < 2:
        raise ValueError(f"a standard error needs at least 2 units, not {U}: take more")
    ratio = top.mean(-1) / bottom.mean(-1)
    spread = torch.std(top - ratio[..., None] * bottom, dim=-1)
    return Estimate(ratio.numpy()[()], (spread / (U**0.5 * bottom.mean(-1).abs())).numpy()[()])
