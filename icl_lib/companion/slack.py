"""How much worse what a claim measures could be before the verdict turns: for claims that have no resolution."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import xarray as xr

from icl_lib.companion.table import rounded
from icl_lib.companion.verdict import Agreement, Discrepancy

Check = Callable[[xr.Dataset], Discrepancy | Agreement]
Change = Callable[[float], tuple[str, np.ndarray | np.number]]
"""A variable, and the values that it has after a change by a factor."""
MOST = 1000.0
"""Beyond this factor nothing is looked for."""
FACTORS = (1.1, 1.6, 3.0, 10.0, 100.0, MOST)
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

    A fitted exponent is moved by a power in the place of a factor. Where no whole variable turns the verdict, since the check
    compares its rows, one row is moved. ``measured`` names the variables, parted by spaces, where not all that are read are
    what the claim measures. What is no number any more, such as the arc of a cosine above 1, turns no verdict.

    An error of 1/4 could be four times as large before it exceeds a margin of 1:

    >>> import xarray as xr
    >>> from icl_lib.companion import Discrepancy
    >>> from icl_lib.companion.slack import in_words, slack
    >>> in_words(slack(lambda data: Discrepancy(data.error), xr.Dataset({"error": 0.25}), margin=1.0))
    '4'
    """
    dataset = dataset.copy()  # whose variables take other values in turn
    with np.errstate(all="ignore"):
        before = check(dataset)
        verdict, value = before.verdict(margin), _value(before)
        names = measured.split() or [each for each in dataset if not each.endswith(BESIDE)]
        read = [each for each in names if dataset[each].dtype.kind in "fiu" and _reads(check, dataset, each, value)]

        def turned(change: Change, factor: float) -> bool:
            with _put(dataset, *change(factor)):
                found = _found(check, dataset)
                return found is not None and found.verdict(margin) != verdict

        least = _least([each for name in read for each in _changes(dataset, name, kind)], turned)
        rows = (each for name in read for each in _row_changes(dataset, name)) if least == MOST else ()
        return min(least, _least([each for each in rows if turned(each, 3.0) or turned(each, MOST)], turned))


def in_words(factor: float) -> str:
    """Return a factor to two digits, or that it is beyond what is looked for."""
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
    return np.asarray(found.cells()[0] if isinstance(found, Agreement) else found.value, float)


def _least(changes: Sequence[Change], turned: Callable[[Change, float], bool]) -> float:
    """Return the least factor at which one of the changes turns the verdict, or ``MOST``.

    One search for all: a change that does not turn it where another does is looked at no more.
    """
    below = 1.0
    for factor in FACTORS:
        if found := [each for each in changes if turned(each, factor)]:
            return _between(found, below, factor, turned)
        below = factor
    return MOST


def _between(changes: Sequence[Change], below: float, above: float, turned: Callable[[Change, float], bool]) -> float:
    for _ in range(HALVINGS):
        middle = (below * above) ** 0.5
        if found := [each for each in changes if turned(each, middle)]:
            changes, above = found, middle
        else:
            below = middle
    return above
