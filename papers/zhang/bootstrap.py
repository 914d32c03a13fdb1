"""Bootstrap intervals of means, by the percentiles of means over resampled units."""

import torch
from jaxtyping import Float
from torch import Tensor


def percentile_interval(
    units: Float[Tensor, "... U"], resamples: int, level: float, generator: torch.Generator
) -> Float[Tensor, "2 ..."]:
    """Return the lower and upper ends of the interval of ``level`` for the mean over the last dimension.

    Each resample draws U units with replacement, the same units for all leading dimensions; the ends are the (1 - level)/2
    and (1 + level)/2 quantiles of the resampled means. Units are what is drawn independently: when prompts share
    something, such as a covariance, a unit is the mean over the prompts that share it.
    Raises ValueError for fewer than 2 units, fewer than 1 resample or a level outside (0, 1).
    """
    U = units.shape[-1]
    if U < 2:
        raise ValueError(f"a bootstrap interval needs at least 2 units, not {U}: take more")
    if resamples < 1 or not 0 < level < 1:
        raise ValueError(f"{resamples} resamples and level {level:g}: take at least 1, and a level between 0 and 1")
    drawn = torch.randint(U, (resamples, U), generator=generator, device=generator.device).to(units.device)
    counts = torch.zeros((resamples, U), dtype=units.dtype, device=units.device)
    counts.scatter_add_(1, drawn, torch.ones_like(counts))
    means = units @ counts.mT / U
    ends = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=units.dtype, device=units.device)
    return torch.quantile(means, ends, dim=-1)
