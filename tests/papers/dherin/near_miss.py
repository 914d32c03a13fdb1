"""What tests of stored results assert: all that was measured within the margin, the near miss beyond it."""

import xarray as xr

from icl_lib.companion import over


def parted(values, near, margin: float) -> None:
    """All that was measured lies within the margin, and some of the near miss, a number, beyond it."""
    assert values.size and (values <= margin).all()
    assert (near > margin).any()


def mean(values: xr.DataArray, dim: str = "seed") -> tuple[xr.DataArray, xr.DataArray]:
    """The mean over independent entries, and twice its standard error."""
    found = over(values, dim)
    return found.value, found.two_se


def parted_in_mean(values: xr.DataArray, near: xr.DataArray, margin: float, dim: str = "seed") -> None:
    """The same of means over independent entries, two standard errors away from the margin on either side."""
    (value, error), (wrong, wrong_error) = mean(values, dim), mean(near, dim)
    parted(value + error, wrong - wrong_error, margin)
