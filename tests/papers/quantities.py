"""Quantities of a dataset and their parts: what numbers that were drawn are compared with."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

RTOL = 2e-6


def reduced(name: str, values: xr.DataArray) -> Iterator[tuple[str, xr.DataArray]]:
    tools = {"mean": "mean", "largest": "max", "least": "min", "median": "median"}
    for dim in values.dims:
        for word, tool in tools.items():
            if values.sizes[dim] > 1 and values.dtype.kind in "fiub":
                reduced = getattr(values.astype(float), tool)(dim)
                yield f"{word} over {dim} of {name}", reduced
                if word in ("largest", "least", "mean"):
                    for other in reduced.dims:
                        yield f"{word} over {dim}, {other} of {name}", getattr(reduced, tool)(other)
        if values.dtype.kind == "f" and values.sizes[dim] > 1 and (values.values >= 0).all():
            with np.errstate(divide="ignore"):
                yield f"geometric mean over {dim} of {name}", np.exp(np.log(values.clip(1e-17)).mean(dim))


def coordinate(quantity: xr.DataArray, dim: str, index: int):
    value = quantity[dim].values[index] if dim in quantity.coords else index
    return value.item() if hasattr(value, "item") else value


def parts(count: int, shown: int) -> Iterator[tuple[int, int]]:
    """Yield first entry and step of the regular parts of a dimension with so many entries."""
    if shown == count:
        yield 0, 1
        yield count - 1, -1
    elif 1 < shown < count:
        yield from ((start, 1) for start in range(count - shown + 1))
    elif shown == 1 and count > 1:
        yield from ((start, 1) for start in range(count))


def same(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Say for every column whether it is what was drawn, where the smallest that was drawn may stand for all below it."""
    with np.errstate(invalid="ignore"):
        exact = np.isclose(table, values[:, None], rtol=RTOL, atol=1e-300)
        floor = values.min()
        floored = (values[:, None] == floor) & (table <= floor) & (floor > 0)
    return (exact | floored).all(0) & (exact.any(0) | (len(values) == 1))


def near(found: np.ndarray, wanted: np.ndarray) -> bool:
    wanted = np.broadcast_to(wanted, found.shape)
    return bool(np.isclose(found, wanted, rtol=1e-4, atol=1e-12 + 1e-9 * np.nanmax(np.abs(found), initial=0)).all())


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    one, other = (np.asarray(each, float) for each in (one, other))
    return one.shape == other.shape and np.allclose(one, other, rtol=RTOL, atol=1e-300, equal_nan=True)


def slices(quantity: xr.DataArray, values: np.ndarray, kept: int = 0) -> Iterator[tuple[dict, xr.DataArray]]:
    """Yield the parts of a quantity, at fixed coordinates of its other dimensions, that are these values.

    The first ``kept`` dimensions are not fixed any more: what is left of each choice of dimensions is looked at once.
    """
    first = next(iter(values[np.isfinite(values)]), None)
    if quantity.size < values.size or first is None:
        return
    if not np.isclose(quantity.values.astype(float), first, rtol=RTOL, atol=1e-300).any():
        return
    if quantity.size == values.size:
        if equal(quantity.values.ravel(), values.ravel()):
            yield {n: c.item() for n, c in quantity.coords.items() if c.ndim == 0}, quantity
        return
    for place, dim in enumerate(quantity.dims if quantity.size % values.size == 0 else ()):
        rest = quantity.size // quantity.sizes[dim]
        for index in range(quantity.sizes[dim] if place >= kept and rest % values.size == 0 else 0):
            part = quantity.isel({dim: index})
            for at, entries in slices(part, values, place):
                yield {dim: coordinate(quantity, dim, index), **at}, entries


def tables(quantity: xr.DataArray, size: int) -> Iterator[tuple[dict, xr.DataArray]]:
    """Yield the parts of a quantity that have so many entries."""
    if quantity.size == size:
        yield {n: c.item() for n, c in quantity.coords.items() if c.ndim == 0}, quantity
    elif quantity.size > size and quantity.size % size == 0:
        for dim in quantity.dims:
            for index in range(quantity.sizes[dim] if quantity.sizes[dim] <= 32 else 0):
                for at, entries in tables(quantity.isel({dim: index}), size):
                    yield {dim: coordinate(quantity, dim, index), **at}, entries


def pick(quantity: xr.DataArray, at: dict) -> xr.DataArray:
    for dim, value in at.items():
        if dim in quantity.dims:
            quantity = quantity.sel({dim: value}) if dim in quantity.coords else quantity.isel({dim: value})
    return quantity
