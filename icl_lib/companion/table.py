"""Tables on pages."""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
import xarray as xr

from icl_lib.companion.html import template
from icl_lib.companion.marks import marked_html
from icl_lib.typed import refuse, unknown


@dataclass(frozen=True)
class Table:
    """A table shown as HTML, or as plain text where HTML is not; the first ``names`` cells of a row name it.

    >>> from icl_lib.companion import Table, rounded
    >>> Table(("N", "risk"), tuple((rounded(N), rounded(1 / N)) for N in (8, 1200)))
    N    | risk
    8    | 0.12
    1200 | 0.00083
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 0

    @classmethod
    def by(
        cls,
        rows: Mapping[str, str],
        columns: Mapping[Hashable, xr.DataArray],
        form: str | Callable[[float], str] | Mapping[Hashable, str] = ".2f",
    ) -> "Table":
        """Return numbers or texts side by side: one row for each entry of the dimensions ``rows``, which have titles there.

        ``form`` is how numbers are written, a format or a function, for all or by title; a number that is not there is a dash.

        >>> import xarray as xr
        >>> from icl_lib.companion import Table
        >>> risk = xr.DataArray([[0.5, 0.25], [0.125, float("nan")]], {"N": [8, 16], "kappa": [1.0, 2.5]})
        >>> Table.by({"N": "N", "kappa": "κ"}, {"risk": risk, "its root": risk**0.5}, ".3f")
        N  | κ   | risk  | its root
        8  | 1   | 0.500 | 0.707
        8  | 2.5 | 0.250 | 0.500
        16 | 1   | 0.125 | 0.354
        16 | 2.5 | –     | –
        """
        refuse(not columns, "a table has no columns: give one or more")
        bare = [str(title) for title, column in columns.items() if not isinstance(column, xr.DataArray)]
        refuse(bool(bare), f"a column is an xarray.DataArray with the dimensions of the rows: {', '.join(bare)} is none")
        forms = form if isinstance(form, Mapping) else dict.fromkeys(columns, form)
        missing = [str(each) for each in columns if each not in forms]
        refuse(bool(missing), f"form= has no format for {', '.join(missing)}: give every column one")
        arrays = xr.broadcast(*xr.align(*(column.reset_coords(drop=True) for column in columns.values()), join="exact"))
        known = {*arrays[0].dims, *arrays[0].coords}
        if wrong := [each for each in rows if each not in known]:
            raise ValueError(unknown("row", wrong[0], sorted(map(str, known))))
        if set(rows) <= {*arrays[0].dims}:  # else each array has one dimension, whose entries have these names
            arrays = tuple(array.stack({"row of the table": [*rows]}) for array in arrays)
        if arrays[0].ndim > 1:
            raise ValueError(
                f"the rows are {', '.join(rows)}, and the numbers vary along {', '.join(arrays[0].dims[:-1])}, too"
            )
        sides = ([_side(name) for name in arrays[0][dim].values] for dim in rows)
        cells = ([_cell(one, forms[title]) for one in array.values] for title, array in zip(columns, arrays, strict=True))
        return cls((*rows.values(), *map(str, columns)), tuple(zip(*sides, *cells, strict=True)), len(rows))

    def marked(self) -> "Table":
        """Return the table with marks around each number, for HTML: a machine may change digits, but no title."""
        rows = ((*row[: self.names], *map(marked_html, row[self.names :])) for row in self.rows)
        return replace(self, rows=tuple(rows))

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = (
            " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (self.head, *self.rows)
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return TABLE.render(table=self)


def rounded(value, digits: int = 2) -> str:
    """Return a number to some digits, 6 at most; 0 for what is below 1e-9.

    There is no exponent from 0.0001 up to what is less than a million once it is rounded.
    """
    return "0" if abs(float(value)) < 1e-9 else f"{float(f'{float(value):.{digits}g}'):g}"


def at_most(value, form: str = ".2g") -> str:
    """Return a number rounded up, so that it is at most what is written; its digits after the twelfth are rounding.

    >>> from icl_lib.companion import at_least, at_most
    >>> at_most(0.0182), at_most(0.1 + 0.2), at_most(0.0701, ".0%"), at_least(0.0996), at_least(7.9, ".0f")
    ('0.019', '0.3', '8%', '0.099', '7')
    """
    return _outward(float(value), form, ROUND_CEILING)


def at_least(value, form: str = ".2g") -> str:
    """Return a number rounded down, so that it is at least what is written; see ``at_most``."""
    return _outward(float(value), form, ROUND_FLOOR)


def _outward(value: float, form: str, rounding: str) -> str:
    refuse(not re.fullmatch(r"\.\d+[efg%]", form), f"the format is {form!r}: take one such as .2g, .1f or .0%")
    if np.isfinite(value):
        digits, kind, exact = int(form[1:-1]), form[-1], Decimal(f"{value:.12g}")
        if kind in "eg":
            exact = Context(max(digits + (kind == "e"), 1), rounding).plus(exact)
        else:
            exact = exact.quantize(Decimal(1).scaleb(-digits - 2 * (kind == "%")), rounding, Context(400))
        value = float(exact) or 0.0  # without the sign of what is rounded to 0
    return f"{value:{form}}"


def span(values: xr.DataArray, form: str = ".2g") -> str:
    """Return the least and the greatest of some numbers in words, ``0.1 to 0.5``; one where both are written alike.

    Entries that are no number are left out.

    >>> import xarray as xr
    >>> from icl_lib.companion.table import span
    >>> span(xr.DataArray([0.5, 0.123, 0.25]), ".1f")
    '0.1 to 0.5'
    >>> span(xr.DataArray([1.01, 1.02]))
    '1'
    """
    return " to ".join(dict.fromkeys(f"{float(each):{form}}" for each in (values.min(), values.max())))


def across(array: xr.DataArray, dim: str, title: str = "{}") -> dict[str, xr.DataArray]:
    """Return an array as columns, one for each entry of a dimension, which stands in the title.

    >>> import xarray as xr
    >>> from icl_lib.companion import Table, across
    >>> Table.by({"N": "N"}, across(xr.DataArray([[1.0, 2.0]], {"N": [8], "M": [20, 40]}), "M", "M = {:,}"))
    N | M = 20 | M = 40
    8 | 1.00   | 2.00
    """
    values = array[dim].values
    titles = [title.format(value) for value in values]
    refuse(len({*titles}) < len(titles), f"two columns along {dim} have one title, {titles}: give title= more digits or words")
    return {each: array.sel({dim: value}) for each, value in zip(titles, values, strict=True)}


def _side(label) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _cell(value, form: str | Callable[[float], str]) -> str:
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return "–"
    if callable(form):
        return form(value)
    try:
        text = format(float(value), form)
    except ValueError as error:
        raise ValueError(f"the format {form!r} does not fit a number with a point, as all are: take one such as .2f") from error
    return text if text.strip(" -+0.,%e") else format(0.0, form)  # no minus before a zero


TABLE = template(
    """
<div class="icl-table"><table><thead><tr>{% for cell in table.head %}<th>{{ cell }}</th>{% endfor %}</tr></thead><tbody>
{% for row in table.rows %}
<tr>{% for name in row[:table.names] %}<th>{{ name }}</th>{% endfor %}
{% for cell in row[table.names:] %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>"""
)
