"""What a stored file holds, and one digest of it in the file itself: what is changed afterwards no longer answers for it.

The digest is of the content, not of the bytes: a file that was written anew by another version of a library keeps it.
"""

import json
from collections.abc import Mapping

import h5py
import numpy as np
import xarray as xr

from icl_lib.companion import digests

NAME = "content"
"""The attribute that holds the digest; it is the only one that the digest does not cover."""
OF_FORMAT = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties")
"""Attributes with which NetCDF tells the dimensions of what HDF5 holds."""
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


def of_netcdf(root: h5py.File) -> xr.Dataset:
    """Return the dataset in a file that was looked at: ``xarray.open_dataset`` takes five times as long for small ones."""
    names = [name for name, each in root.items() if not each.attrs.get("NAME", b"").startswith(NO_VARIABLE)]
    variables = {name: (_dims(root, name), _values(root[name]), _attributes(root[name])) for name in names}
    return xr.decode_cf(xr.Dataset(variables, attrs=_attributes(root))).load().drop_encoding()  # which each copy would copy


def _dims(root: h5py.File, name: str) -> list[str]:
    """Return the names of dimensions; a coordinate is its own."""
    told = root[name].attrs.get("DIMENSION_LIST")
    return [name][: root[name].ndim] if told is None else [root[scale].name[1:] for (scale,) in told]


def _values(each: h5py.Dataset) -> np.ndarray:
    text = h5py.check_string_dtype(each.dtype)
    return np.asarray(each.asstr()[()]).astype(str) if text else np.asarray(each[()])


def _attributes(each: h5py.Dataset | h5py.File) -> dict[str, object]:
    values = {name: value for name, value in each.attrs.items() if name not in OF_FORMAT}
    return {name: value[0] if np.shape(value) == (1,) else value for name, value in values.items()}


def of_dataset(dataset: xr.Dataset, without: tuple[str, ...] = ()) -> str:
    """Return the digest of variables, coordinates, their attributes and those of the dataset, less ``without``.

    A file does not change it: numbers count as little-endian, strings as text, every not-a-number as the same one.

    Neither the order of bytes nor the attribute for the digest counts; other attributes and numbers do:

    >>> import xarray as xr
    >>> from icl_lib.companion.content import of_dataset
    >>> data = xr.Dataset({"risk": ("length", [1.0, 0.5])})
    >>> others = data.astype(">f8"), data.assign_attrs(content="a digest"), data.assign_attrs(seed="1"), 2 * data
    >>> [of_dataset(other) == of_dataset(data) for other in others]
    [True, True, False, False]
    """
    pieces = [json.dumps(_plain(dataset.attrs, (NAME, *without))).encode()]
    for name in sorted(dataset.variables):
        variable = dataset.variables[name]
        role = ["coordinate" if name in dataset.coords else "variable", list(variable.dims), _plain(variable.attrs)]
        pieces += _pieces(name, role, np.asarray(variable.values))
    return digests.of_bytes(*pieces)


def of_tensors(tensors: Mapping[str, np.ndarray], origin: Mapping[str, str]) -> str:
    """Return the digest of named arrays and of where they come from."""
    arrays = (piece for name in sorted(tensors) for piece in _pieces(name, [], tensors[name]))
    return digests.of_bytes(json.dumps(_plain(origin, (NAME,))).encode(), *arrays)


def _pieces(name: str, role: list, values: np.ndarray) -> tuple[bytes, bytes]:
    """Return of an array what it is, then its entries in the order of its dimensions."""
    numbers = values.dtype.kind in "biuf"
    kind = values.dtype.newbyteorder("<") if numbers else np.dtype(object)
    what = json.dumps([name, role, list(values.shape), kind.str]).encode() + b"\n"
    if not numbers:
        return what, json.dumps(values.astype(str).tolist()).encode()
    plain = values.astype(kind)
    if kind.kind == "f":
        plain[np.isnan(plain)] = np.nan
    return what, plain.tobytes("C")


def _plain(attributes: Mapping, without: tuple[str, ...] = ()) -> list:
    return sorted([name, np.atleast_1d(value).tolist()] for name, value in attributes.items() if name not in without)
