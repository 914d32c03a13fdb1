"""The picture in cards for shared links: every claim of the ledger as one mark, by paper."""

import io
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from book.builder.verdicts import Row
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from papers import registry

NAME = "card.png"
WIDTH, HEIGHT = 1200, 630
"""Pixels: what those who show cards ask for."""
ALT = "Every claim of the book as one mark, in a row for each paper, with the numbers of those that hold and those that do not."
INK, QUIET = "#1b1f24", "#505962"
MARKS = {
    HOLDS: ("o", 15, "#14632f"),
    FAILS: ("X", 15, "#a3161f"),
    NOT_REPRODUCED: (r"$\neq$", 15, "#7a4d00"),
    UNDECIDED: ("s", 12, "#7a4d00"),
}
"""Shape, size and colour of a verdict, as in the landscape: the paper's own sentence large and filled, ours hollow."""
OURS = 0.6
PITCH, LEFT, TOP = 27, 70, 240
FIRST, LAST = 340, 1140
"""Where the marks of a line begin, and beyond which none stands."""


def picture(title: str, rows: Sequence[Row]) -> bytes:
    """The PNG of a card for the rows of the ledger."""
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    axes.text(LEFT, 90, title, size=38, weight="bold", color=INK, va="center")
    counts = {verdict: sum(row.shown.verdict == verdict for row in rows) for verdict in MARKS}
    told = " · ".join(f"{verdict} {count}" for verdict, count in counts.items() if count)
    axes.text(LEFT, 155, f"{len(rows)} claims, recomputed and judged: {told}", size=19, color=QUIET, va="center")
    height = TOP
    for paper, wing in registry.WINGS.items():
        if own := sorted((row for row in rows if row.claim.paper == paper), key=_order):
            axes.text(LEFT, height, wing.authors, size=18, color=INK, va="center")
            height = _draw(axes, own, height)
    file = io.BytesIO()
    canvas.print_png(file, metadata={"Software": None})
    return file.getvalue()


def _order(row: Row) -> tuple[bool, int]:
    """The paper's own first, and of these what holds."""
    return row.tier != "paper", [*MARKS, row.shown.verdict].index(row.shown.verdict)


def _draw(axes: Axes, rows: Sequence[Row], height: float) -> float:
    """Draw the marks of one paper, line below line; the height for the next."""
    here = FIRST
    for row in rows:
        if here > LAST:
            here, height = FIRST, height + PITCH
        shape, size, colour = MARKS.get(row.shown.verdict, ("o", 15, QUIET))
        filled = row.tier == "paper"
        ground, size = (colour, size) if filled else ("none", OURS * size)
        shape = shape if filled else shape.replace("X", "x")  # a thin cross has nothing to be hollow
        look = {"color": colour, "markerfacecolor": ground, "markersize": size, "markeredgewidth": 1.8}
        axes.plot([here], [height], marker=shape, **look)  # a shape in TeX is no format string
        here += PITCH
    return height + 1.6 * PITCH
