"""Numbers as tables on the pages of this part."""

import pandas as pd

from icl_lib.companion import Measured, Table


def number_table(frame: pd.DataFrame, corner: str, digits: int = 2) -> Table:
    """Return a frame as a table of numbers with as many digits; ``corner`` stands over the names of its rows."""
    rows = (
        (_name(index), *(f"{number:.{digits}f}" for number in row))
        for index, row in zip(frame.index, frame.values, strict=True)
    )
    return Table((corner, *map(_name, frame.columns)), tuple(rows))


def measured_table(frame: pd.DataFrame, corner: str, digits: int = 2) -> Measured:
    """Return a table of measured numbers, as ``number_table`` makes it."""
    return Measured(number_table(frame, corner, digits))


def _name(label) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)
