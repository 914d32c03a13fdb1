"""Checks that several claims share."""

import xarray as xr

from icl_lib.companion.claim import Discrepancy

POSITION_FREE = ["softmax attention", "linear attention", "trained softmax attention", "second block, not causal"]
PATHS = POSITION_FREE[:3]
"""Networks of the path experiments whose end does not depend on the order of the context, and those of one block."""


def of_nets(dataset: xr.Dataset, nets: list[str]) -> xr.Dataset:
    """Return the cases of some networks."""
    return dataset.isel(case=dataset.net.isin(nets).values)


def worst(name: str):
    """Return the check of a variable's largest entry."""
    return lambda dataset: Discrepancy(dataset[name].max())


def at_least(name: str, least: float):
    """Return the check of how far the median over all cases stays below ``least``."""
    return lambda dataset: Discrepancy(least - dataset[name].median())
