"""How much worse what a claim measures could be before the verdict turns: for claims that have no resolution."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import numpy as np
import xarray as xr

from icl_lib.companion.table import rounded
from icl_lib.companion.verdict import Agreement, Discrepancy
from icl_lib.typed import refuse

Check = Callable[[xr.Dataset], Discrepancy | Agreement]
Change = Callable[[float], tuple[str, np.ndarray | np.number]]
"""A variable, and the values that it has after a change by a factor."""
MOST = 1000.0
"""Beyond this factor nothing is looked for."""
LOOSE = 2.0
"""From this slack on a claim says why, and is tried with single rows."""
SOON, LATE = (1.1, 1.6, 3.0), (10.0, 100.0, MOST)
"""Factors that are tried; the later ones where no change turns the verdict at one of the first.

Where some changes turn the verdict at the last of the first, the others are dropped. Of rows those are taken that turn it
where the whole variable does; where none does, at the last of the first, else at ``MOST``, else at an earlier one.
"""
HALVINGS = 8
"""How often an interval between two of them is halved: the factor is good to 1%."""
ROWS = 8
"""So many rows of a dimension are moved, evenly spaced."""
BESIDE = ("_theory", "_near", "_se", "_scale")
"""How variables end that stand beside what is measured."""
REPEATED = ("seed", "network", "run", "task", "trial", "prompt", "block")
"""Dimensions of entries that are alike, none of which a claim speaks of alone, unless they have names."""


def slack(check: Check, dataset: xr.Dataset, margin: float, kind: str = "", measured: str = "") -> float:
    """Return the least factor on a variable that the check reads, up or down, at which its verdict turns; at most ``MOST``.

    The factors ``SOON`` and ``LATE`` are tried first: a verdict that turns and turns back between two of them is not seen.

    A fitted exponent is moved by a power in the place of a factor. Where no whole variable turns the verdict up to ``LOOSE``,
    one row is moved too, since a check may compare rows. ``measured`` names the variables, parted by spaces, where not all
    that are read are what the claim measures. What is no number any more, such as the arc of a cosine above 1, turns no
    verdict.

    An error of 1/4 could be four times as large before it exceeds a margin of 1:

    >>> import xarray as xr
    >>> from icl_lib.companion import Discrepancy
    >>> from icl_lib.companion.slack import in_words, slack
    >>> in_words(slack(lambda data: Discrepancy(data.error), xr.Dataset({"error": 0.25}), margin=1.0))
    '4'
    """
    unknown = [each for each in measured.split() if each not in dataset]
    refuse(bool(unknown), f"measured= names {', '.join(unknown)}, which the data have not: name their variables")
    with np.errstate(all="ignore"), xr.set_options(arithmetic_join="exact"):
        before = check(dataset)
        verdict, value = before.verdict(margin), _value(before)
        dataset = _asked(check, dataset, before).copy()  # whose variables take other values in turn
        names = measured.split() or [each for each in dataset if not each.endswith(BESIDE)]
        names = [each for each in names if each in dataset and dataset[each].dtype.kind in "fiu"]
        read = [each for each in names if _reads(check, dataset, each, value)]

        @cache
        def turned(change: Change, factor: float) -> bool:
            with _put(dataset, *change(factor)):
                found = _found(check, dataset)
                return found is not None and found.verdict(margin) != verdict

        least = _least([each for name in read for each in _changes(dataset, name, kind)], turned)
        rows = [each for name in read for each in _row_changes(dataset, name)] if least > LOOSE else []
        tried = (SOON[-1], MOST, *SOON[-2::-1]) if least == MOST else (least,)
        moved = next(filter(None, ([each for each in rows if turned(each, x)] for x in tried)), [])
        return min(least, _least(moved, turned))


def in_words(factor: float) -> str:
    """Return a factor to two digits, three below 1.1, or that it is beyond what is looked for."""
    return f"over {MOST:,.0f}" if factor >= 0.999 * MOST else f"{factor:.3g}" if factor < 1.1 else rounded(factor)


def in_percent(share: float) -> str:
    """Return a share as percent, to one digit."""
    return f"{float(f'{100 * share:.1g}'):g}%"


def _changes(dataset: xr.Dataset, name: str, kind: str) -> Iterator[Change]:
    """Yield what makes a variable larger and smaller by a factor, or by a power that moves the exponent fitted to it.

    What has another sign somewhere has no powers: it is an exponent itself.
    """
    values = dataset[name].values
    for sign in (1, -1):
        if kind == "rate" and bool((values > 0).all()):
            yield lambda x, sign=sign: (name, values**x**sign)
        else:
            yield lambda x, sign=sign: (name, _times(values, x**sign))


def _row_changes(dataset: xr.Dataset, name: str) -> Iterator[Change]:
    """Yield what makes one row of a variable larger and smaller by a factor, for some rows of every dimension."""
    variable, values = dataset[name], dataset[name].values
    named = {dim for dim in variable.coords if variable[dim].dtype.kind == "U"}
    for axis, dim in enumerate(variable.dims):
        if dim in REPEATED and dim not in named:
            continue
        size = variable.sizes[dim]
        for row in sorted({*np.linspace(0, size - 1, min(size, ROWS)).round().astype(int)}):
            here = np.expand_dims(np.arange(size) == row, [*range(axis), *range(axis + 1, variable.ndim)])
            for sign in (1, -1):
                yield lambda x, here=here, sign=sign: (name, _times(values, np.where(here, x**sign, 1.0)))


def _times(values: np.ndarray, factor: float | np.ndarray) -> np.ndarray | np.number:
    """Return the product; counts stay whole."""
    product = values * factor
    return product if values.dtype.kind == "f" else product.round().astype(values.dtype)


def _asked(check: Check, dataset: xr.Dataset, before: Discrepancy | Agreement) -> xr.Dataset:
    """Return the dataset with those variables alone that a check asks for, one after another; whole where that is not all."""
    names: list[Hashable] = []
    while True:
        asked = dataset.drop_vars([each for each in dataset if each not in names])
        try:
            same = all(map(np.array_equal, _numbers(check(asked)), _numbers(before)))
            return asked if same else dataset
        except (AttributeError, LookupError) as error:  # which name what is missing
            more = [each for each in dataset if each not in names and repr(each) in str(error.args)]
        except (TypeError, ValueError):  # it asks for a dimension
            more = []
        if not more:
            return dataset
        names += more


def _reads(check: Check, dataset: xr.Dataset, name: str, value: np.ndarray) -> bool:
    """Say whether the number depends on a variable: other entries grow by other factors, so that no ratio stays."""
    values = dataset[name].values
    grown = values * np.linspace(1.5, 3, values.size).reshape(values.shape)
    with _put(dataset, name, grown):
        found = _found(check, dataset)
        return found is None or not np.array_equal(_value(found), value)


@contextmanager
def _put(dataset: xr.Dataset, name: str, values: np.ndarray | np.number) -> Iterator[None]:
    """Give a variable other values for a while."""
    variable = dataset.variables[name]
    kept, variable.values = variable.values, values
    try:
        yield
    finally:
        variable.values = kept


def _found(check: Check, dataset: xr.Dataset) -> Discrepancy | Agreement | None:
    """Return what the check finds; nothing where that is no number."""
    try:
        found = check(dataset)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):  # a root or a fit that does not exist
        return None
    return found if np.isfinite(_value(found)).all() else None


def _value(found: Discrepancy | Agreement) -> np.ndarray:
    return _numbers(found)[0]


def _numbers(found: Discrepancy | Agreement) -> tuple[np.ndarray, np.ndarray]:
    one, other = found.cells if isinstance(found, Agreement) else (found.value, found.two_se)
    return np.asarray(one, float), np.asarray(other, float)


def _least(changes: Sequence[Change], turned: Callable[[Change, float], bool]) -> float:
    """Return the least factor at which one of the changes turns the verdict, or ``MOST``."""
    soon = [each for each in changes if turned(each, SOON[-1])]
    below = 1.0
    for factor in SOON if soon else (*SOON, *LATE):
        if found := [each for each in soon or changes if turned(each, factor)]:
            return _between(found, below, factor, turned)
        below = factor
    return MOST


def _between(changes: Sequence[Change], below: float, above: float, turned: Callable[[Change, float], bool]) -> float:
    """Return where the first of the changes turns the verdict, one after another: of many, only few come before all others."""
    steps = 2**HALVINGS
    places = below * (above / below) ** (np.arange(steps + 1) / steps)
    least = steps
    for change in changes:
        if least == steps or turned(change, places[least - 1]):
            least = bisect_left(range(1, least), True, key=lambda step, change=change: turned(change, places[step])) + 1
    return float(places[least])
