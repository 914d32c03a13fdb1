"""Quantities of a dataset and their parts: what numbers that were drawn are compared with."""

from collections.abc import Callable, Iterator

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


def slices(quantity: xr.DataArray, table: np.ndarray, values: np.ndarray) -> Iterator[tuple[dict, np.ndarray]]:
    """Yield the parts of a quantity, at fixed coordinates of its other dimensions, that are these values."""
    first = values[np.isfinite(values)][:1]
    if first.size:
        for where, part in cuts(table, values.size, lambda each: contains(each, first[0])):
            if equal(part.ravel(), values.ravel()):
                yield place(quantity, where), part


def cuts(
    table: np.ndarray, size: int, worth: Callable[[np.ndarray], bool] = lambda part: True, most: float = np.inf
) -> Iterator[tuple[dict[int, int], np.ndarray]]:
    """Yield the parts of a table that have so many entries, with the axes that are fixed and where.

    What is not ``worth`` looking at is passed over with all of its parts, and so are axes that are longer than ``most``.
    """
    yield from _cuts(table, [*range(table.ndim)], size, worth, most, 0)


def _cuts(
    table: np.ndarray, axes: list[int], size: int, worth: Callable, most: float, kept: int
) -> Iterator[tuple[dict, np.ndarray]]:
    """The first ``kept`` axes are not fixed any more: what is left of each choice of axes is looked at once."""
    if table.size < size or table.size % size or not worth(table):
        return
    if table.size == size:
        yield {}, table
        return
    for k in range(kept, table.ndim):
        for index in range(table.shape[k] if table.shape[k] <= most else 0):
            part = table[(slice(None),) * k + (index,)]
            for where, found in _cuts(part, axes[:k] + axes[k + 1 :], size, worth, most, k):
                yield {axes[k]: index, **where}, found


def contains(table: np.ndarray, value: float) -> bool:
    return bool((abs(table - value) <= 1e-300 + RTOL * abs(value)).any())


def place(quantity: xr.DataArray, where: dict[int, int]) -> dict[str, object]:
    """Return the coordinates of a part of a quantity of which some axes are fixed."""
    fixed = {quantity.dims[axis]: index for axis, index in where.items()}
    alone = {n: c.item() for n, c in quantity.isel(fixed).coords.items() if c.ndim == 0}
    return {dim: coordinate(quantity, dim, index) for dim, index in fixed.items()} | alone


def pick(quantity: xr.DataArray, at: dict) -> xr.DataArray:
    for dim, value in at.items():
        if dim in quantity.dims:
            quantity = quantity.sel({dim: value}) if dim in quantity.coords else quantity.isel({dim: value})
    return quantity
