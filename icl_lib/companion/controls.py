"""Controls that many claims share: each breaks a dataset in one way.

>>> import xarray as xr
>>> from icl_lib.companion import everywhere, exchanged
>>> data = xr.Dataset({"risk": ("model", [1.0, 3.0])}, {"model": ["ridge", "zero"]})
>>> float(exchanged("model", "ridge", "zero")(data).risk.sel(model="ridge"))
3.0
>>> everywhere("risk", model="zero")(data).risk.values.tolist()
[3.0, 3.0]
"""

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import xarray as xr

from icl_lib.typed import refuse, unknown

Control = Callable[[xr.Dataset], xr.Dataset]


def put(**names: str) -> Control:
    """Return the control that puts, for each NAME=OTHER, the variable OTHER in the place of NAME.

    >>> import xarray as xr
    >>> from icl_lib.companion import put
    >>> float(put(risk="near")(xr.Dataset({"risk": 1.0, "near": 2.0})).risk)
    2.0
    """

    def control(dataset: xr.Dataset) -> xr.Dataset:
        _require("variable", [*dataset.data_vars], *names, *names.values())
        return dataset.assign({name: dataset[other] for name, other in names.items()})

    return control


def near_miss(name: str, mistake: str) -> Control:
    """Return the control that puts a near miss, told by its label, in the place of the theory of a variable."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        _require("variable", [*dataset.data_vars], f"{name}_near")
        near = dataset[f"{name}_near"].dropna("mistake", how="all")  # labels of other variables stand there without numbers
        _require("mistake", near.mistake.values.tolist(), mistake)
        return dataset.assign({f"{name}_theory": near.sel(mistake=mistake, drop=True)})

    return control


def _require(what: str, known: list, *asked: object) -> None:
    if missing := [each for each in asked if each not in known]:
        raise ValueError(unknown(what, str(missing[0]), map(str, known)))


def near_misses(dims: str, misses: Mapping[str, object], units: str = "1") -> xr.DataArray:
    """Return the wrong theories of a quantity along the dimension ``mistake``, by which ``near_miss`` finds them.

    >>> from icl_lib.companion import near_misses
    >>> near = near_misses("N", {"N - 1 for N": [1, 2], "a 2 forgotten": [1, 1.5]})
    >>> near.dims, near.sel(mistake="a 2 forgotten").values.tolist()
    (('mistake', 'N'), [1.0, 1.5])
    """
    along, attrs = dims.split(), {"long_name": "the formula with one mistake", "units": units}
    found = [each.transpose(*along) if isinstance(each, xr.DataArray) else np.asarray(each) for each in misses.values()]
    shapes = {each.shape for each in found}
    fit = len(shapes) == 1 and {*map(len, shapes)} == {len(along)}
    refuse(not fit, f"near misses have the shapes {sorted(shapes)}: give one or more, all along {along}")
    labels = [each.indexes for each in misses.values() if isinstance(each, xr.DataArray)]
    apart = any(not one[dim].equals(other[dim]) for one, other in pairwise(labels) for dim in one if dim in other)
    refuse(apart, "near misses have different labels, or the same in another order: give all alike")
    places = {dim: index for each in labels for dim, index in each.items()}
    return xr.DataArray(np.stack(found), {"mistake": list(misses)} | places, ["mistake", *along], attrs=attrs)


def at(**places) -> Control:
    """Return the control that takes other places along dimensions than the claim is about, as ``isel`` does."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        _require("dimension", [*dataset.dims], *places)
        try:
            return dataset.isel(places)
        except IndexError as error:
            raise ValueError(
                f"the places {places} are not all in a dataset of sizes {dict(dataset.sizes)}: take others"
            ) from error

    return control


def exchanged(dim: str, one: str, other: str) -> Control:
    """Return the control that exchanges the labels of two rows: what was computed for the other has the label of the one."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        _require("dimension", [*dataset.dims], dim)
        _require(dim, dataset[dim].values.tolist(), one, other)
        names = {one: other, other: one}
        return dataset.assign_coords({dim: [names.get(name, name) for name in dataset[dim].values]})

    return control


def everywhere(name: str, **place) -> Control:
    """Return the control that puts what a variable is at one place, told by labels, in all its places."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        _require("variable", [*dataset.data_vars], name)
        _require("dimension", [*dataset[name].dims], *place)
        for dim, label in place.items():
            _require(dim, dataset[dim].values.tolist(), label)
        return dataset.assign({name: dataset[name].where(False, dataset[name].sel(place, drop=True))})

    return control


def replaced(dim: str, by: object, *rows: object) -> Control:
    """Return the control that puts one row, told by its label, in the place of some others, or of all of them."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        _require("dimension", [*dataset.dims], dim)
        _require(dim, dataset[dim].values.tolist(), by, *rows)
        labels = dataset[dim].values
        return dataset.sel({dim: [by if label in rows or not rows else label for label in labels]}).assign_coords({dim: labels})

    return control
