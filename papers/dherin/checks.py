"""Checks and controls that several claims share."""

from collections.abc import Callable

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


def put(**names: str):
    """Return a control that puts one variable in the place of another."""
    return lambda dataset: dataset.assign({name: dataset[other] for name, other in names.items()})


def exchanged(dim: str, one: str, other: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Exchange two rows: what was computed for the other stands in place of the one that a claim is about."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        names = {one: other, other: one}
        return dataset.assign_coords({dim: [names.get(name, name) for name in dataset[dim].values]})

    return control
