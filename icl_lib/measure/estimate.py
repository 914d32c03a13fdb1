"""A mean and its standard error."""

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
