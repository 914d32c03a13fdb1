"""Tables are found again in the data by another route: a test names the number of every row and every title."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from icl_lib.companion import Table, rounded
from tests.bounds import near


class Checked(NamedTuple):
    """A table of a page, the result that it shows, and what stands in it: ``number(dataset, title, *names of the row)``."""

    table: Callable[..., Table]
    slug: str
    number: Callable[..., object]


CHECKED: dict[str, Checked] = {}


def shows(table: Callable[..., Table], slug: str) -> Callable:
    """Declare what a table shows of a stored result; the function takes the names of a row as the table has them."""

    def declare(number: Callable[..., object]) -> Callable[..., object]:
        CHECKED[f"{table.__module__}.{table.__name__}"] = Checked(table, slug, number)
        return number

    return declare


def wrong(checked: Checked, dataset) -> Iterator[str]:
    """Say of every cell that is not what it should be what it shows and what it should show."""
    table = checked.table(dataset)
    names = checked.number.__code__.co_argcount - 2
    if len({row[:names] for row in table.rows}) < len(table.rows):
        yield "two rows have one name"
    for row in table.rows:
        for title, cell in zip(table.head[names:], row[names:], strict=True):
            number = checked.number(dataset, title, *row[:names])
            number = number if isinstance(number, str) else float(number)
            one_digit = isinstance(number, float) and len(cell) == 1 and cell != "–"  # 0 is not 0.4
            if not agrees(cell, number) or one_digit and cell != rounded(number):
                yield f"{', '.join(row[:names])}, {title}: {cell}, not {number}"


def agrees(cell: str, number, side: int = 0) -> bool:
    """Whether a cell shows a number to the digits that it has, or a text; a number that is not there is a dash.

    One that bounds it, `side` as `bounds.way` gives it, is on that side of it.

    >>> [agrees(*each) for each in (("0.12", 0.1249), ("0.12", 0.126), ("1200", 1234), ("12%", 0.118), ("–", float("nan")))]
    [True, False, True, True, True]
    """
    if isinstance(number, str):
        return cell == number
    number = float(number)
    if np.isnan(number) or cell == "–":
        return cell == "–" and bool(np.isnan(number))
    text, number = (cell[:-1], 100 * number) if cell.endswith("%") else (cell.replace(",", ""), number)
    if not re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text):
        return False
    digits, _, exponent = text.partition("e")
    whole, _, behind = digits.lstrip("-").partition(".")
    noughts = len(re.search("0*$", whole[2:])[0]) if not behind else 0  # of a number to two digits, as 1200
    unit = 10.0 ** (int(exponent or 0) + noughts - len(behind))
    return near(float(text), number, unit, side)
