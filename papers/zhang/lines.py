"""What figures of several sections draw alike."""

import xarray as xr
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter


def with_range(dataset: xr.Dataset, name: str, dim: str) -> xr.Dataset:
    """Return a result with a variable's mean over a dimension in its place, its interval from the least to the largest."""
    values = dataset[name]
    ends = {name: values.mean(dim), f"{name}_low": values.min(dim), f"{name}_high": values.max(dim)}
    return dataset.assign(ends)


def plain_logarithms(axis: Axis) -> None:
    """Label a logarithmic axis 0.03, 0.1, 0.3, 1, ..."""
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
