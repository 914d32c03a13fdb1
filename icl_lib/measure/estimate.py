"""A mean and its standard error."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor


class Estimate(NamedTuple):
    """A Monte Carlo mean and its standard error; both float, or both arrays of one shape."""

    value: float | np.ndarray
    standard_error: float | np.ndarray


def mean(samples: Float[Tensor, "... B"]) -> Estimate:
    """Return the mean over the last dimension with its standard error, sample standard deviation / sqrt(B)."""
    B = samples.shape[-1]
    if B < 2:
        raise ValueError(f"a standard error needs at least 2 samples, not {B}")
    error = samples.std(dim=-1) / B**0.5
    return Estimate(samples.mean(dim=-1).cpu().numpy()[()], error.cpu().numpy()[()])
