"""How what is drawn looks, and what a legend says of such a look: colour, marker, dashes, filling, width."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle

from icl_lib.companion import LINES

NOTHING = ("None", "none", "", " ")


def entries_of(axes: Axes, figure: Figure) -> list[tuple[str, tuple]]:
    """Return the entries of the legends that speak for a panel, each with its look."""
    return [entry for legend in _legends(axes, figure) for entry in _entries(legend)]


def _legends(axes: Axes, figure: Figure) -> list[Legend]:
    """Return the legends that speak for a panel: its own, else the figure's, else the first of a panel beside it."""
    own = axes.get_legend()
    shared = list(figure.legends) + [each.get_legend() for each in figure.axes if each.get_legend() and each is not axes]
    return [own] if own else list(figure.legends) or shared[:1]


def _entries(legend: Legend) -> list[tuple[str, tuple]]:
    entries = (entry.get_children() for column in legend._legend_handle_box.get_children() for entry in column.get_children())
    return [(text.get_text(), _of_all(handle.get_children())) for handle, text in entries]


def in_words(look: tuple) -> str:
    """Return the marks of a look: markers, open or filled, and dashes, thin or not; areas and bars have none."""
    _, marker, dashes, filled, width = look
    words = [("" if filled else "open ") + MARKS.get(marker, str(marker))] if marker else []
    words += [("thin " if width <= 1 else "") + DASHES.get(dashes, "dashes of its own")] if dashes not in (None, "area") else []
    return " on ".join(words)


def _of_all(parts: list) -> tuple:
    """Return the look of a legend's handle, which may be a line, a marker and the bars of an interval."""
    lines = [look_of(each) for each in parts if isinstance(each, Line2D)]
    if not lines:
        return look_of(parts[0])
    marked, dashed = [look for look in lines if look[1]], [look for look in lines if look[2]]
    (colour, *_), marker = lines[0], marked[0] if marked else (None, None, None, False, 0.0)
    return colour, marker[1], dashed[0][2] if dashed else None, marker[3], lines[0][4]


def look_of(artist) -> tuple:
    """Return (colour, marker, dashes, filled) of a line, a bar or a collection."""
    if isinstance(artist, Line2D):
        marker = artist.get_marker() if artist.get_marker() not in NOTHING else None
        dashes = _pattern(artist._unscaled_dash_pattern) if artist.get_linestyle() not in NOTHING else None
        colour = artist.get_color() if dashes or not marker else artist.get_markeredgecolor()
        hollow = marker and (artist.get_fillstyle() == "none" or str(artist.get_markerfacecolor()) in NOTHING)
        return to_hex(colour), marker, dashes, bool(marker) and not hollow, artist.get_linewidth()
    if isinstance(artist, Collection):
        colours = artist.get_facecolor() if len(artist.get_facecolor()) else artist.get_edgecolor()
        dashes = _pattern(artist._us_linestyles[0]) if isinstance(artist, LineCollection) else "area"
        return (to_hex(colours[0]) if len(colours) else "", None, dashes, True, 0.0)
    return to_hex(artist.get_facecolor()), None, "area", True, 0.0


def _pattern(dashes: tuple) -> str:
    """Return dashes in units of the width of their line, one text for each pattern."""
    offset, lengths = dashes
    return str((offset, tuple(lengths) if lengths else None))


MARKS = {
    "o": "circles",
    "s": "squares",
    "D": "diamonds",
    "^": "triangles",
    "v": "triangles down",
    "P": "filled pluses",
    "X": "filled crosses",
    "x": "crosses",
    "+": "pluses",
    "|": "upright strokes",
    "_": "level strokes",
    ".": "dots",
    "*": "stars",
    "1": "crosses of three arms down",
    "2": "crosses of three arms up",
}
DASHES = dict(
    zip(
        (_pattern(Line2D([], [], linestyle=line)._unscaled_dash_pattern) for line in LINES),
        ("full line", "dashed", "dash-dotted", "dotted", "dash and two dots", "sparse dots", "long dashes"),
        strict=True,
    )
)
"""What captions call the marks and the lines of the house's style."""


def marker_of(each: Collection) -> str:
    """Return which marker the points of a scatter are drawn with."""
    styles = {marker: MarkerStyle(marker) for marker in MARKS}
    shapes = {marker: style.get_path().transformed(style.get_transform()).vertices for marker, style in styles.items()}
    drawn = each.get_paths()[0].vertices
    return next(
        (marker for marker, shape in shapes.items() if shape.shape == drawn.shape and np.allclose(shape, drawn)), "other"
    )


def labels_of(entries: list[tuple[str, tuple]], look: tuple) -> list[str]:
    """Return what a legend says of the style of an artist: of just this style, or else of its colour with one of its marks."""
    own = [label for label, entry in entries if _same(entry, look)]
    return own or [label for label, entry in entries if _alike(entry, look)]


def _same(entry: tuple, look: tuple) -> bool:
    """Say whether a legend's entry has the colour of an artist and its marker, or the dashes of a bare line."""
    (colour, marker, dashes, filled, _), (own_colour, own_marker, own_dashes, own_filled, _) = entry, look
    lined = None in (dashes, own_dashes) or dashes == own_dashes
    return own_marker is not None and (colour, marker, filled) == (own_colour, own_marker, own_filled) and lined


def _alike(entry: tuple, look: tuple) -> bool:
    """Say whether a legend's entry has the colour of an artist and one of its marks."""
    same_colour, marker, dashes = entry[0] == look[0], entry[1] == look[1], entry[2] == look[2]
    marked = entry[1] is not None and marker
    lined = entry[2] is not None and dashes and look[1] is None
    thick = entry[1] is not None or entry[4] == look[4]
    return same_colour and bool(marked or (lined and thick))
