"""Controls that many claims share: each breaks a dataset in one way."""

from collections.abc import Callable

import xarray as xr

Control = Callable[[xr.Dataset], xr.Dataset]


def put(**names: str) -> Control:
    """Return the control that puts one variable in the place of another."""
    return lambda dataset: dataset.assign({name: dataset[other] for name, other in names.items()})


def at(**places) -> Control:
    """Return the control that takes other places along dimensions than the claim is about, as ``isel`` does."""
    return lambda dataset: dataset.isel(places)


def exchanged(dim: str, one: str, other: str) -> Control:
    """Return the control that exchanges two rows: what was computed for the other stands in place of the one."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        names = {one: other, other: one}
        return dataset.assign_coords({dim: [names.get(name, name) for name in dataset[dim].values]})

    return control
