"""Tables on pages."""

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table shown as HTML, or as plain text where HTML is not."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        lines = (
            " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (self.head, *self.rows)
        )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.head)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        return f'<div class="icl-table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
