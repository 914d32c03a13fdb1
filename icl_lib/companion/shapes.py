"""The shapes of all diagrams: tokens are boxes, matrices are grids, what counts is filled, what is 0 or unread is empty."""

from collections.abc import Sequence
from copy import copy

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch, Rectangle

from icl_lib.typed import refuse, unknown

THIN = 0.8
"""Width of a frame or an arrow, in points."""
TINTS = {
    "empty": ("none", 0, ""),
    "absent": ("none", 0, ""),
    "plain": ("C5", 0.12, ""),
    "query": ("C1", 0.22, ""),
    "output": ("C2", 0.26, ""),
    "live": ("C0", 0.40, ""),
    "still": ("C0", 0.10, "////"),
    "first": ("C0", 0.24, "///"),
    "second": ("C1", 0.24, "---"),
    "third": ("C2", 0.24, "\\\\\\"),
    "change": ("C1", 0.24, "xxx"),
}
"""What a fill says: colour, its opacity, and hatching, so that each differs from the others by more than its colour."""


def canvas(figure: Figure, left: float = 0) -> Axes:
    """Return axes over the whole figure whose unit is an inch; its lower left corner is (``left``, 0)."""
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(left, left + figure.get_figwidth()), ylim=(0, figure.get_figheight()))
    axes.axis("off")
    return axes


def label(axes: Axes, x: float, y: float, text: str, **style) -> None:
    """Write a text centred on a point; symbols in it are set like those of the pages."""
    centred = {"ha": "center", "va": "center", "fontsize": 11, "math_fontfamily": "cm", "linespacing": 1.25}
    axes.text(x, y, text, **centred | style)


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str = "", *, tint: str = "empty", **style) -> None:
    """Draw a box by its lower left corner, with a text in its middle."""
    _filled(axes, Rectangle((x, y), width, height), tint)
    if text:
        label(axes, x + width / 2, y + height / 2, text, **style)


def stage(axes: Axes, x: float, y: float, width: float, height: float, text: str, *, tint: str = "empty", **style) -> None:
    """Draw what computes, a box with round corners, by its lower left corner."""
    _filled(axes, FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.09"), tint)
    label(axes, x + width / 2, y + height / 2, text, **style)


def grid(axes: Axes, x: float, y: float, tints: Sequence[Sequence[str]], cell: float | tuple[float, float]) -> None:
    """Draw a matrix by its lower left corner, a cell for each entry: ``tints`` by rows, the first one on top.

    cell   its side, or its width and height, in inches

    Only the live cell has a ground, and it lies on top, since it is the first row:

    >>> from matplotlib.figure import Figure
    >>> from icl_lib.companion.shapes import canvas, grid
    >>> axes = canvas(Figure((1, 2)))
    >>> grid(axes, 0, 0, [["live"], ["empty"]], cell=1)
    >>> [patch.get_xy() for patch in axes.patches if patch.get_alpha()]
    [(0, 1)]
    """
    width, height = cell if isinstance(cell, tuple) else (cell, cell)
    for r, row in enumerate(reversed(tints)):
        for c, tint in enumerate(row):
            box(axes, x + c * width, y + r * height, width, height, tint=tint)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], width: float = THIN, **style) -> None:
    """Draw an arrow; ``width`` is that of its line, in points."""
    drawn = {"arrowstyle": "-|>,head_length=4,head_width=2", "color": rcParams["text.color"], "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, linewidth=width, **drawn | style))


def line(axes: Axes, x: Sequence[float], y: Sequence[float], **style) -> None:
    """Draw a thin line through points."""
    axes.plot(x, y, **{"color": rcParams["text.color"], "linewidth": THIN, "solid_capstyle": "butt"} | style)


def _filled(axes: Axes, frame: Patch, tint: str) -> None:
    """Draw ground, hatching and frame one above the other, since an opacity holds for all that one patch draws."""
    refuse(tint not in TINTS, unknown("tint", tint, TINTS))
    colour, opacity, hatch = TINTS[tint]
    ground, lines = copy(frame), copy(frame)
    ground.set(facecolor=colour, alpha=opacity, linewidth=0)
    lines.set(facecolor="none", edgecolor=colour, hatch=hatch, linewidth=0, alpha=0.5)
    dashes = (0, (2, 2)) if tint == "absent" else "-"
    frame.set(facecolor="none", edgecolor=rcParams["text.color"], linewidth=THIN, linestyle=dashes)
    for patch in (*((ground,) if opacity else ()), *((lines,) if hatch else ()), frame):
        axes.add_patch(patch)
