"""What the tests that were claims ask of values over seeds: they stay within a margin, or leave it by a number."""

import xarray as xr

from icl_lib.companion import HOLDS, Discrepancy, distance_over_seeds, over_seeds


def judged(values: xr.DataArray, target: float | xr.DataArray | None = None) -> Discrepancy:
    """The mean over seeds, or how far it is from a target."""
    return over_seeds(values) if target is None else distance_over_seeds(values, target)


def within(margin: float, values: xr.DataArray, target: float | xr.DataArray | None = None) -> bool:
    """Say whether every entry stays within the margin."""
    return judged(values, target).verdict(margin) == HOLDS


def beyond(margin: float, values: xr.DataArray, target: float | xr.DataArray | None = None) -> bool:
    """Say whether some entry leaves the margin by a number."""
    found = judged(values, target)
    return bool((found.value - found.two_se > margin).any())
