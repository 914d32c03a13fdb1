"""The picture in cards for shared links: every claim of the ledger as one mark, by paper."""

import io
import math
from collections.abc import Iterable, Sequence

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
    HOLDS: ("o", 1.0, "#14632f", "hold"),
    FAILS: ("X", 1.0, "#a3161f", "fail"),
    NOT_REPRODUCED: (r"$\neq$", 1.0, "#7a4d00", NOT_REPRODUCED),
    UNDECIDED: ("s", 0.8, "#7a4d00", UNDECIDED),
}
"""Shape, size and colour of a verdict, as in the landscape, and what claims do; a paper's own filled, ours small and hollow."""
OURS, MARK = 0.6, 0.55
"""The size of a mark of ours, and of all marks, over the distance from one to the next."""
WIDEST = 27
LEFT, TOP, BOTTOM = 70, 255, 600
FIRST, LAST = 395, 1130
"""Where the marks of a line begin, and beyond which none stands."""
APART = 0.6
"""What lies between two papers, in lines."""


def picture(title: str, rows: Sequence[Row]) -> bytes:
    """The PNG of a card for the rows of the ledger."""
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    axes.text(LEFT, 90, title, size=38, weight="bold", color=INK, va="center")
    counts = {verdict: sum(row.shown.verdict == verdict for row in rows) for verdict in MARKS}
    told = ", ".join(f"{count} {MARKS[verdict][3]}" for verdict, count in counts.items() if count)
    axes.text(LEFT, 150, f"{len(rows)} claims, recomputed and judged:", size=19, color=QUIET, va="center")
    axes.text(LEFT, 190, told, size=19, color=QUIET, va="center")
    own = {wing.authors: [row for row in rows if row.claim.paper == paper] for paper, wing in registry.WINGS.items()}
    own = {authors: sorted(some, key=_order) for authors, some in own.items() if some}
    pitch, height = widest(map(len, own.values())), TOP
    for authors, some in own.items():
        axes.text(LEFT, height, authors, size=18, color=INK, va="center")
        height = _draw(axes, some, height, pitch)
    file = io.BytesIO()
    canvas.print_png(file, metadata={"Software": None})
    return file.getvalue()


def widest(numbers: Iterable[int]) -> int:
    """The largest distance of marks at which so many of each paper have room."""
    numbers = list(numbers)

    def lines(pitch: int) -> float:
        return sum(math.ceil(number / in_line(pitch)) + APART for number in numbers) - APART

    return next(pitch for pitch in range(WIDEST, 0, -1) if (lines(pitch) - 1) * pitch <= BOTTOM - TOP or pitch == 1)


def in_line(pitch: int) -> int:
    """The marks of one line."""
    return (LAST - FIRST) // pitch + 1


def _order(row: Row) -> tuple[bool, int]:
    """The paper's own first, and of these what holds."""
    return row.tier != "paper", [*MARKS, row.shown.verdict].index(row.shown.verdict)


def _draw(axes: Axes, rows: Sequence[Row], height: float, pitch: int) -> float:
    """Draw the marks of one paper, line below line; the height for the next."""
    for place, row in enumerate(rows):
        line, column = divmod(place, in_line(pitch))
        shape, size, colour, _ = MARKS.get(row.shown.verdict, ("o", 1.0, QUIET, ""))
        filled, size = row.tier == "paper", size * MARK * pitch
        ground, size = (colour, size) if filled else ("none", OURS * size)
        shape = shape if filled else shape.replace("X", "x")  # a thin cross has nothing to be hollow
        look = {
            "color": colour,
            "markerfacecolor": ground,
            "markersize": size,
            "markeredgewidth": 0 if filled else 0.07 * pitch,
        }
        axes.plot([FIRST + column * pitch], [height + line * pitch], marker=shape, **look)  # TeX is no format string
    return height + (math.ceil(len(rows) / in_line(pitch)) + APART) * pitch
