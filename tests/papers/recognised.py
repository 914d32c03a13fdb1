"""Which variable of its dataset a drawn series shows: found from its numbers alone, not from the code that drew it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.stats import norm
from scipy.stats import t as student

from tests.papers.artists import Series
from tests.papers.quantities import RTOL, contains, coordinate, cuts, equal, near, parts, pick, place, reduced, same, slices

NO_NAME = "an interval that has no name"
LONGEST = 32
"""Of a dimension with more entries than this, none is looked at alone when a part may be any."""
Transform = Callable[[xr.Dataset], xr.DataArray]


@dataclass
class Found:
    """A series by name: its variable, along what, at which coordinates, how much of it, and the rule of its interval."""

    name: str
    along: str
    at: dict[str, object]
    interval: str = ""
    remarks: list[str] = field(default_factory=list)
    along_values: tuple = ()
    whole: xr.DataArray | None = None


class Vocabulary:
    """All that a figure of a dataset may show: its variables, their means and extremes, and what is named here."""

    def __init__(self, dataset: xr.Dataset, derived: dict[str, Transform]):
        self.dataset = dataset
        made = {name: each(dataset).rename(name) for name, each in derived.items()}
        numbers = {n: v for n, v in dataset.data_vars.items() if v.dtype.kind in "fiub"}
        self.plain: dict[str, xr.DataArray] = made | numbers

    @cached_property
    def words(self) -> dict[str, xr.DataArray]:
        """Return every quantity with its name, plain variables first."""
        coords = {n: c for n, c in self.dataset.coords.items() if c.dtype.kind in "fiu" and c.ndim}
        ends = {
            f"{n} {sign} two standard errors": v + float(f"{sign}2") * self.plain[f"{n}_se"]
            for n, v in self.plain.items()
            if f"{n}_se" in self.plain
            for sign in "-+"
        }
        return self.plain | coords | ends | {name: value for n, v in self.plain.items() for name, value in reduced(n, v)}

    @cached_property
    def _tables(self) -> dict[str, np.ndarray]:
        return {name: each.values.astype(float) for name, each in self.words.items()}

    @cached_property
    def _ordered(self) -> dict[str, np.ndarray]:
        return {name: np.sort(each, axis=None) for name, each in self._tables.items()}

    def _with(self, value: float) -> Iterator[tuple[str, xr.DataArray]]:
        """Yield the quantities of which one entry is a value."""
        low, high = sorted((value * (1 - RTOL), value * (1 + RTOL)))
        for name, ordered in self._ordered.items():
            if np.searchsorted(ordered, high, side="right") > np.searchsorted(ordered, low, side="left"):
                yield name, self.words[name]

    def value(self, side: str, value: float) -> str | None:
        """Return the name of a level: a round number, or an entry of a quantity."""
        rounded = float(f"{value:.3g}")
        if np.isclose(value, rounded, rtol=1e-12, atol=0):  # whatever its last digit is on this machine
            return f"{rounded:g}"
        for name, quantity in (self.words | self._wholes).items():
            if np.isclose(quantity.values.astype(float), value, rtol=RTOL, atol=0).any():
                return name
        return None

    @cached_property
    def _wholes(self) -> dict[str, xr.DataArray]:
        tools = {"mean of all": np.nanmean, "most": np.nanmax, "least": np.nanmin}
        coords = {n: c for n, c in self.dataset.coords.items() if c.dtype.kind in "fiu"}
        every = {
            f"{word} {n}": xr.DataArray(tool(v.values.astype(float)))
            for n, v in self.plain.items()
            if v.size
            for word, tool in tools.items()
            if np.isfinite(v.values.astype(float)).any()
        }
        return every | coords

    def find(self, series: Series) -> Found | None:
        """Return what a series shows, or None when it is nothing that has a name here."""
        if series.kind == "image":
            return self._image(series.y)
        if series.y.size == 1 and (found := self._against(series)):
            return found
        for values, places, sideways in ((series.y, series.x, False), (series.x, series.y, True)):
            if sideways and (series.kind == "line" or (len(values) == 2 and np.ptp(values) == 0)):
                continue  # two places are always in rows, and two equal numbers are easily found
            found = sorted(self._along(values, places), key=lambda each: _rank(each, series.labels))
            for best in [*found, *found[:1]]:
                best.interval = self._interval(best, series, sideways)
                if best.interval != NO_NAME:
                    break
            if found:
                best.remarks += ["sideways"] if sideways else []
                return best
        if series.y.size == 2 and equal(series.x, series.y):
            return Found("equality", "", {})
        if series.y.size == 2 and equal(series.x, -series.y):
            return Found("opposite numbers", "", {})
        return self._against(series) or self._in_a_row(series) or self._alone(series)

    def _alone(self, series: Series) -> Found | None:
        """Return the entry of a variable that one point shows; that which the legend names, where there are several."""
        found = []
        for value, remarks in ((series.y, []), (series.x, ["sideways"])) if series.y.size == series.x.size == 1 else ():
            for name, quantity in self._with(value.item()):
                entries = np.isclose(self._tables[name], value, rtol=RTOL, atol=0)
                for index in np.argwhere(entries) if name in self.plain else ():
                    at = {dim: coordinate(quantity, dim, int(k)) for dim, k in zip(quantity.dims, index, strict=True)}
                    found.append(Found(name, "", at, self._cloud_interval(name, at, series), [*remarks]))
        return min(found, key=lambda each: (each.interval == NO_NAME, _rank(each, series.labels)), default=None)

    def _in_a_row(self, series: Series) -> Found | None:
        """Return the entries of a quantity in their order, or sorted, that stand side by side for room."""
        for values, places, sideways in ((series.y, series.x, False), (series.x, series.y, True)):
            steps = np.diff(places)
            if len(places) < 2 or not np.allclose(steps, steps[0]) or steps[0] == 0:
                continue
            for name, quantity in self._with(float(np.nanmax(values))):
                for where, part in cuts(self._tables[name], values.size, most=LONGEST):
                    flat = part.ravel()
                    for order, one in (("in order", flat), ("sorted", np.sort(flat))):
                        if same(one[:, None], values).all():
                            remarks, at = [order] + ["sideways"] * sideways, place(quantity, where)
                            along_values = (at.get("kind", name),) * len(places)
                            return Found(name, "nothing", at, remarks=remarks, along_values=along_values)
        return None

    def _along(self, values: np.ndarray, places: np.ndarray) -> Iterator[Found]:
        drawn = values[np.isfinite(values)]
        for name, quantity in self._with(float(drawn.max())) if drawn.size else ():
            for dim in quantity.dims:
                yield from self._line(name, quantity, dim, values, places)

    def _line(self, name: str, quantity: xr.DataArray, dim: str, values, places) -> Iterator[Found]:
        labels = quantity[dim].values if dim in quantity.coords else np.arange(quantity.sizes[dim])
        for indices, remarks in self._indices(quantity, dim, places):
            table = np.moveaxis(self._tables[name], quantity.dims.index(dim), 0)[indices]
            if not table.size:
                continue
            table = table.reshape(len(indices), -1)
            drawn = np.isfinite(values)
            if drawn.sum() < min(2, len(values)):
                continue
            for column in np.flatnonzero(same(table[drawn], values[drawn])):
                exact = np.allclose(table[drawn, column], values[drawn], rtol=RTOL, atol=1e-300)
                rest = [each for each in quantity.dims if each != dim]
                where = dict(zip(rest, np.unravel_index(column, [quantity.sizes[each] for each in rest]), strict=True))
                at = {each: coordinate(quantity, each, int(index)) for each, index in where.items()}
                at |= {n: c.item() for n, c in quantity.coords.items() if c.ndim == 0}
                left_out = int((np.isfinite(table[:, column]) & ~drawn).sum())
                told = remarks + ([] if exact else ["floored"]) + ([f"without {left_out}"] if left_out else [])
                yield Found(
                    name,
                    dim,
                    at,
                    remarks=told,
                    along_values=tuple(labels[indices].tolist()),
                    whole=quantity.isel(where).isel({dim: indices}),
                )

    def _indices(self, quantity: xr.DataArray, dim: str, places: np.ndarray) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Yield the entries along a dimension at which points may stand, with how that differs from its coordinate."""
        count = quantity.sizes[dim]
        numeric = dim in quantity.coords and quantity[dim].dtype.kind in "fiu"
        if numeric:
            coordinate = quantity[dim].values.astype(float)
            gaps = np.abs(coordinate[None] - places[:, None])
            nearest = gaps.argmin(1)
            gap = places - coordinate[nearest]
            if len(set(nearest)) == len(places) and np.allclose(gap, 0, atol=1e-9 * max(1, abs(coordinate).max())):
                yield nearest, ([] if len(places) == count else ["part"])
                return
            if len(places) == count and count > 1:
                ratio, offset = places / np.where(coordinate == 0, np.nan, coordinate), places - coordinate
                if np.allclose(offset, offset[0], atol=1e-9) or np.allclose(ratio, ratio[0], rtol=1e-9):
                    yield np.arange(count), ["beside its place"]
                    return
        for start, step in parts(count, len(places)) if len(places) > 1 else ():
            order = np.arange(start, start + step * len(places), step)
            steps = np.diff(places)
            if len(places) == 1 or (np.allclose(steps, steps[0]) and not np.isclose(steps[0], 0)):
                part = [] if len(places) == count else ["part"]
                yield order, [*part, "in rows"] if not numeric else [*part, "evenly spaced"]

    def _interval(self, found: Found, series: Series, sideways: bool) -> str:
        if series.below is None:
            return ""
        if series.sideways != sideways:
            return "along the other axis"
        for rule, half in self._rules(found):
            low, high = half if isinstance(half, tuple) else (half, half)
            below, above = series.below, series.above
            known = np.isfinite(below) & np.isfinite(above)
            shorter = known & (below < (1 - RTOL) * low)  # at the lower end, where a logarithmic axis has its floor
            floor = found.whole.values.ravel()[shorter] - below[shorter] if shorter.any() else np.zeros(1)
            full = known & ~shorter
            if known.any() and near(above[known], high[known]) and near(below[full], low[full]) and np.ptp(floor) < RTOL:
                return rule
        short = RTOL * np.nanmax(np.abs(found.whole))
        return NO_NAME if np.nanmax([series.below, series.above], initial=0) > short else "of length 0"

    def _rules(self, found: Found) -> Iterator[tuple[str, np.ndarray]]:
        plain = found.name.removeprefix("mean over seed of ")
        entries = found.whole
        for name in (f"{plain}_se", f"{plain}_error", f"{plain.removesuffix('_mean')}_se"):
            if name in self.plain and set(entries.dims) <= set(self.plain[name].dims):
                error = _like(self.plain[name], found)
                if error.ndim == 1:
                    yield "two standard errors", 2 * np.abs(error.values)
                    yield "ONE standard error", np.abs(error.values)
                elif error.dims and "seed" in error.dims and error.ndim == 2:
                    pooled = np.sqrt((error**2).sum("seed")) / error.sizes["seed"]
                    yield "two standard errors, pooled over seeds", 2 * pooled.values
        if plain in self.plain and "seed" in self.plain[plain].dims:
            values = _like(self.plain[plain], found)
            if set(values.dims) == {"seed", found.along}:
                count = values.sizes["seed"]
                error = values.std("seed", ddof=1).values / count**0.5 if count > 1 else np.zeros(values.sizes[found.along])
                yield "Student over seeds", student.ppf(norm.cdf(2), count - 1) * error if count > 1 else error
                yield "two standard errors over seeds", 2 * error
                yield "ONE standard error over seeds", error
        if found.at.get("part") == "median" and plain in self.plain:
            low, high = (_like(self.plain[plain], found, part=part).values for part in ("low", "high"))
            yield "order statistics", (np.maximum(entries.values - low, 0), np.maximum(high - entries.values, 0))
        if f"{found.name}_low" in self.words:
            low, high = (_like(self.words[f"{found.name}_{name}"], found).values for name in ("low", "high"))
            yield "from low to high", (entries.values - low, high - entries.values)

    def _against(self, series: Series) -> Found | None:
        """Return one quantity over another, point by point; the pair that the legend names, where there are several."""
        x, y, found = series.x, series.y, []
        if not (np.isfinite(x).any() and np.isfinite(y).any()):
            return None
        others = [(n, at) for n, v in self._with(float(np.nanmax(x))) for at, _ in slices(v, self._tables[n], x)]
        for name, quantity in self._with(float(np.nanmax(y))):
            for at, part in slices(quantity, self._tables[name], y):
                for other, where in others:
                    if all(at.get(dim, value) == value for dim, value in where.items() if dim in quantity.coords or dim in at):
                        one = Found(f"{name} over {other}", "", at, along_values=tuple(part.ravel()))
                        one.interval = self._cloud_interval(name, at, series)
                        found.append(one)
        return min(found, key=lambda each: _rank(each, series.labels), default=None)

    def _cloud_interval(self, name: str, at: dict, series: Series) -> str:
        if series.below is None:
            return ""
        error = self.plain.get(f"{name}_se")
        if error is None:
            return NO_NAME
        half = pick(error, at).values.ravel().astype(float)
        rules = {"two standard errors": 2 * half, "ONE standard error": half}
        return next((rule for rule, one in rules.items() if near(series.above, one)), NO_NAME)

    def _image(self, values: np.ndarray) -> Found | None:
        shown = values.ravel()
        lowest, highest = np.nanmin(shown), np.nanmax(shown)
        for name, quantity in self.words.items():
            for change, tool in (("", lambda v: v), ("log10 of ", lambda v: np.log10(np.maximum(v, 1e-300)))):
                table = tool(self._tables[name])
                for where, part in cuts(table, shown.size, lambda each: contains(np.maximum(each, lowest), highest), LONGEST):
                    turns = {"": part, ", transposed": part.T, ", upside down": part[::-1] if part.ndim == 2 else part}
                    for turned, one in turns.items():
                        flat = one.ravel()
                        if part.ndim >= 1 and (equal(flat, shown) or equal(np.maximum(flat, lowest), shown)):
                            dims = " by ".join(str(dim) for axis, dim in enumerate(quantity.dims) if axis not in where)
                            return Found(f"{change}{name}", dims + turned, place(quantity, where))
        return None


def _like(quantity: xr.DataArray, found: Found, **instead) -> xr.DataArray:
    quantity = pick(quantity, found.at | instead)
    entries = found.whole
    if found.along in quantity.coords and found.along in entries.coords:
        return quantity.sel({found.along: entries[found.along].values})
    return quantity


def _rank(found: Found, labels: list[str]) -> tuple:
    """Prefer plain names to means, exact places, and coordinates that the legend names."""
    said = " ".join(labels)
    unsaid = sum(str(value) not in said and f"{value}" not in said for value in found.at.values())
    worse = ("part" in found.remarks) + 2 * ("floored" in found.remarks) + ("evenly spaced" in found.remarks)
    return worse, found.name.count(" of "), unsaid, len(found.at)
