"""Tables on pages."""

from dataclasses import dataclass

import pandas as pd

from icl_lib.companion.html import template


@dataclass(frozen=True)
class Table:
    """A table shown as HTML, or as plain text where HTML is not.

    >>> from icl_lib.companion import Table, rounded
    >>> Table(("N", "risk"), tuple((rounded(N), rounded(1 / N)) for N in (8, 1200)))
    N    | risk
    8    | 0.12
    1200 | 0.00083
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, frame: pd.DataFrame, *head: str, digits: int = 2) -> "Table":
        """Return a data frame as a table under other titles, its index first, its numbers to so many digits."""
        cells = frame.reset_index().itertuples(index=False)
        rows = [[f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell) for cell in row] for row in cells]
        return cls(head, tuple(map(tuple, rows)))

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = (
            " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (self.head, *self.rows)
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return TABLE.render(head=self.head, rows=self.rows)


def rounded(value, digits: int = 2) -> str:
    """Return a number to the digits that count, below a million without an exponent; 0 for what is rounding."""
    return "0" if abs(float(value)) < 1e-9 else f"{float(f'{float(value):.{digits}g}'):g}"


TABLE = template(
    """
<div class="icl-table"><table><thead><tr>{% for cell in head %}<th>{{ cell }}</th>{% endfor %}</tr></thead><tbody>
{% for row in rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>"""
)
