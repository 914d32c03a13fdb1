"""Errors over networks as figures show them: on a logarithmic axis, from the smallest to the largest."""

import numpy as np
import xarray as xr


def spread(dataset: xr.Dataset, name: str, floor: float) -> xr.Dataset:
    """Return the geometric mean of a variable over networks, with the smallest and the largest as its interval.

    What is below ``floor`` is drawn there: a logarithmic axis has no zero.
    """
    values = dataset[name].astype(float).clip(floor)
    mean = np.exp(np.log(values).mean("seed"))
    low, high = np.minimum(values.min("seed"), mean), np.maximum(values.max("seed"), mean)
    return xr.Dataset({name: mean, f"{name}_low": low, f"{name}_high": high})
