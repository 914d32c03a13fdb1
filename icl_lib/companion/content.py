"""What a stored file holds, as one digest that stands in the file itself: what is changed afterwards no longer answers for it.

The digest is of the content, not of the bytes: a file that was written anew by another version of a library keeps it.
"""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from icl_lib.companion import digests

NAME = "content"
"""The attribute that holds the digest; it is the only one that the digest does not cover."""


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
