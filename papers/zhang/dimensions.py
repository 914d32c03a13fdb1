"""One measurement at several dimensions: where there is one d alone, d + 5 may as well be 2d + 2."""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr


def along_d(dimensions: tuple[int, ...], cell: Callable[[int], xr.Dataset]) -> xr.Dataset:
    """Return what a function of d returns at each of some dimensions, along ``d``."""
    parts = [cell(d) for d in dimensions]
    return xr.concat(parts, xr.IndexVariable("d", list(dimensions)), data_vars="all", coords="minimal", join="exact")


def at_d(dataset: xr.Dataset, d: int) -> xr.Dataset:
    """Return a dataset at one of its dimensions."""
    return dataset.sel(d=d, drop=True)


def draws(dimensions: tuple[int, ...], d: int, most: int) -> int:
    """Return how many contexts of dimension d are as good as ``most`` of the largest: the mean over few directions scatters."""
    return most * (max(dimensions) // d) ** 2


def sizes(dimensions: tuple[int, ...], *others: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Return the other sizes that belong to each d; raises ValueError where one has none."""
    if {len(each) for each in others} != {len(dimensions)}:
        raise ValueError(f"d is {dimensions}, the other sizes are {others}: take as many of each as there are dimensions")
    return dict(zip(dimensions, zip(*others, strict=True), strict=True))


def entries(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Return the entries of (..., d, d) tables, one d after the other along one axis."""
    return np.concatenate([np.reshape(table, (*np.shape(table)[:-2], -1)) for table in tables], -1)


def sides(dimensions: tuple[int, ...]) -> tuple[str, np.ndarray]:
    """Return the d of each of those entries, a coordinate along ``entry``."""
    return "entry", np.repeat(dimensions, np.square(dimensions))
