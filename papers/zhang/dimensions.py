"""One measurement at several dimensions: where there is one d alone, d + 5 may as well be 2d + 2."""

from collections.abc import Callable

import xarray as xr


def along_d(dimensions: tuple[int, ...], cell: Callable[[int], xr.Dataset]) -> xr.Dataset:
    """Return what a function of d returns at each of some dimensions, along ``d``."""
    parts = [cell(d) for d in dimensions]
    return xr.concat(parts, xr.IndexVariable("d", list(dimensions)), data_vars="all", coords="minimal", join="exact")


def at_d(dataset: xr.Dataset, d: int) -> xr.Dataset:
    """Return a dataset at one of its dimensions."""
    return dataset.sel(d=d, drop=True)
