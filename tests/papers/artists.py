"""What a figure shows, read back from its artists: series with their places, intervals, legend entries and axes."""

from dataclasses import dataclass, field
from functools import partial

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection, LineCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter

from icl_lib.companion.figure import LINES, Drawing, style
from tests.papers import layout

NOTHING = ("None", "none", "", " ")


@dataclass
class Series:
    """Points that were drawn: places, half-lengths of intervals, legend entries of their style, how many lie unseen."""

    kind: str
    x: np.ndarray
    y: np.ndarray
    labels: list[str] = field(default_factory=list)
    below: np.ndarray | None = None
    above: np.ndarray | None = None
    sideways: bool = False
    look: tuple = ()
    outside: int = 0


@dataclass
class Panel:
    """One pair of axes: what is written at it and drawn in it."""

    title: str
    axes: dict[str, str]
    scales: dict[str, str]
    ticks: dict[str, dict[float, str]]
    series: list[Series]
    levels: list[tuple[str, float, list[str], tuple]]
    texts: list[str]


def drawn(drawing: Drawing, dataset: xr.Dataset, kind: type[Figure] = Figure) -> tuple[list[Panel], list[str], list[str]]:
    """Draw a figure and read every panel of it back, what is written beside them, and how all of it looks."""
    size = drawing.size(dataset) if callable(drawing.size) else drawing.size
    with mpl.rc_context(style()):
        figure = kind(figsize=size)
        FigureCanvasAgg(figure)
        drawing.draw(figure, dataset)
        panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
        return [_panel(axes, figure) for axes in panels], _beside(figure), list(layout.lines(figure))


def _beside(figure: Figure) -> list[str]:
    """Return what is written outside of the panels: titles of a figure, of its legends and of its scales of colour."""
    parts = [part for sub in (figure, *figure.subfigs) for part in (*sub.texts, *_of_all_panels(sub))]
    found = [" ".join(part.get_text().split()) for part in parts if part.get_text()]
    scales = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    ends = [(axes.get_ylabel() or axes.get_xlabel(), *axes._colorbar.mappable.get_clim()) for axes in scales]
    return found + [f"colour: {label} from {low:.3g} to {high:.3g}" for label, low, high in ends]


def _of_all_panels(figure: Figure) -> list:
    titles = [getattr(figure, name) for name in ("_suptitle", "_supxlabel", "_supylabel")]
    legends = [*figure.legends, *(each.get_legend() for each in figure.axes)]
    known = [each for each in titles if each is not None and each not in figure.texts]
    return known + [legend.get_title() for legend in legends if legend]


def _panel(axes: Axes, figure: Figure) -> Panel:
    axes.get_xlim()  # limits, and what rests on them, are brought up to date only when they are asked for
    sides = {"x": axes.xaxis, "y": axes.yaxis}
    entries = [entry for legend in _legends(axes, figure) for entry in _entries(legend)]
    series, levels = [], []
    for each in _series(axes):
        each.labels = _labels(entries, each.look)
        each.outside = _outside(each, axes)
        series.append(each)
    for side, value, look in _levels(axes):
        levels.append((side, value, _labels(entries, look), look))
    return Panel(
        axes.get_title(),
        {"x": _label(axes, "x", figure), "y": _label(axes, "y", figure)},
        {name: axis.get_scale() for name, axis in sides.items()},
        {name: _ticks(axis) for name, axis in sides.items()},
        series,
        levels,
        [f"{' '.join(each.get_text().split())!r} at {_place(each)}" for each in axes.texts]
        + [f"{name} falls" for name, axis in sides.items() if axis.get_inverted()],
    )


def _place(text: Text) -> str:
    """Return where a text stands, an annotation at what it points at, in the units of the data or as shares of the panel."""
    x, y = text.xy if isinstance(text, Annotation) else text.get_position()
    within = "" if isinstance(text, Annotation) or text.get_transform() == text.axes.transData else " of the panel"
    return f"{x:.3g}, {y:.3g}{within}"


def _outside(each: Series, axes: Axes) -> int:
    """Return how many of its points the limits of the axes, or a logarithm, keep from being seen."""
    if each.kind in ("image", "contour"):
        return 0
    there = np.isfinite(each.x) & np.isfinite(each.y)
    seen = there.copy()
    for values, limits in ((each.x, axes.get_xlim()), (each.y, axes.get_ylim())):
        low, high = sorted(limits)
        seen &= (values >= low - 1e-9 * abs(low)) & (values <= high + 1e-9 * abs(high))
    return int((there & ~seen).sum())


def _label(axes: Axes, side: str, figure: Figure) -> str:
    """Return what is written at an axis, or at one that it shares."""
    shared = getattr(axes, f"get_shared_{side}_axes")().get_siblings(axes)
    texts = (getattr(each, f"get_{side}label")() for each in [axes, *(one for one in figure.axes if one in shared)])
    return next((text for text in texts if text), "")


def _legends(axes: Axes, figure: Figure) -> list[Legend]:
    """Return the legends that speak for a panel: its own, else the figure's, else the first of a panel beside it."""
    own = axes.get_legend()
    shared = list(figure.legends) + [each.get_legend() for each in figure.axes if each.get_legend() and each is not axes]
    return [own] if own else list(figure.legends) or shared[:1]


def _entries(legend: Legend) -> list[tuple[str, tuple]]:
    entries = (entry.get_children() for column in legend._legend_handle_box.get_children() for entry in column.get_children())
    return [(text.get_text(), _look_of_all(handle.get_children())) for handle, text in entries]


def in_words(look: tuple) -> str:
    """Return the marks of a look: markers, open or filled, and dashes, thin or not; areas and bars have none."""
    _, marker, dashes, filled, width = look
    words = [("" if filled else "open ") + MARKS.get(marker, str(marker))] if marker else []
    words += [("thin " if width <= 1 else "") + DASHES.get(dashes, "dashes of its own")] if dashes not in (None, "area") else []
    return " on ".join(words)


def _look_of_all(parts: list) -> tuple:
    """Return the look of a legend's handle, which may be a line, a marker and the bars of an interval."""
    lines = [_look(each) for each in parts if isinstance(each, Line2D)]
    if not lines:
        return _look(parts[0])
    marked, dashed = [look for look in lines if look[1]], [look for look in lines if look[2]]
    (colour, *_), marker = lines[0], marked[0] if marked else (None, None, None, False, 0.0)
    return colour, marker[1], dashed[0][2] if dashed else None, marker[3], lines[0][4]


def _look(artist) -> tuple:
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
    "o": "circles", "s": "squares", "D": "diamonds", "^": "triangles", "v": "triangles down", "P": "filled pluses",
    "X": "filled crosses", "x": "crosses", "+": "pluses", "|": "upright strokes", "_": "level strokes", ".": "dots",
    "*": "stars", "1": "crosses of three arms down", "2": "crosses of three arms up",
}  # fmt: skip
DASHES = dict(zip(
    (_pattern(Line2D([], [], linestyle=line)._unscaled_dash_pattern) for line in LINES),
    ("full line", "dashed", "dash-dotted", "dotted", "dash and two dots", "sparse dots", "long dashes"), strict=True,
))  # fmt: skip
"""What captions call the marks and the lines of the house's style."""


def _marker(each: Collection) -> str:
    """Return which marker the points of a scatter are drawn with."""
    styles = {marker: MarkerStyle(marker) for marker in MARKS}
    shapes = {marker: style.get_path().transformed(style.get_transform()).vertices for marker, style in styles.items()}
    drawn = each.get_paths()[0].vertices
    return next(
        (marker for marker, shape in shapes.items() if shape.shape == drawn.shape and np.allclose(shape, drawn)), "other"
    )


def _labels(entries: list[tuple[str, tuple]], look: tuple) -> list[str]:
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


def _series(axes: Axes) -> list[Series]:
    found, used = [], set()
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            line, _, bars = container
            used |= {id(line), *map(id, bars), *map(id, container[1])}
            found.append(_with_bars(line, container))
        elif isinstance(container, BarContainer):
            used |= {id(each) for each in container}
            found.append(_bars(container))
    for line in axes.lines:
        if id(line) not in used and line.get_transform() == axes.transData and np.size(line.get_xdata()):
            x, y = (np.asarray(each, float) for each in (line.get_xdata(), line.get_ydata()))
            found.append(Series("line" if _look(line)[2] else "points", x, y, look=_look(line)))
    for each in axes.collections:
        if id(each) not in used:
            found.extend(_collection(each))
    for image in axes.images:
        values = np.ma.filled(image.get_array().astype(float), np.nan)
        found.append(Series("image", np.arange(values.shape[1]), values, look=("", None, None, True, 0.0)))
    return [each for each in found if each.kind in ("image", "contour") or np.isfinite(each.x + each.y).any()]


def _with_bars(line: Line2D, container: ErrorbarContainer) -> Series:
    x, y = (np.asarray(each, float) for each in (line.get_xdata(), line.get_ydata()))
    found = Series("points", x, y, look=_look(line))
    for bars in container[2]:
        ends = np.array([part if len(part) else np.full((2, 2), np.nan) for part in bars.get_segments()], float)
        found.sideways = container.has_xerr
        side = 0 if container.has_xerr else 1
        middle = x if container.has_xerr else y
        if len(ends) == len(middle):
            found.below, found.above = middle - ends[:, 0, side], ends[:, 1, side] - middle
    return found


def _bars(container: BarContainer) -> Series:
    boxes = [each.get_bbox() for each in container]
    if container.orientation == "horizontal":
        x, y = [each.x1 if each.x0 == 0 else each.width for each in boxes], [each.y0 + each.height / 2 for each in boxes]
    else:
        x, y = [each.x0 + each.width / 2 for each in boxes], [each.y1 if each.y0 == 0 else each.y0 for each in boxes]
    return Series("bars", np.array(x, float), np.array(y, float), look=_look(container[0]))


def _collection(each: Collection) -> list[Series]:
    if isinstance(each, QuadMesh):
        values = np.ma.filled(each.get_array().astype(float), np.nan)
        return [Series("image", np.arange(values.shape[-1]), values, look=("", None, None, True, 0.0))]
    if isinstance(each, LineCollection):
        ends = np.array([part for part in each.get_segments() if len(part)], float)
        return [Series("strokes", ends[:, 0, 0], ends[:, 0, 1], look=_look(each))] if ends.ndim == 3 else []
    if type(each).__name__ in ("PolyCollection", "FillBetweenPolyCollection"):
        points = each.get_paths()[0].vertices
        count = (len(points) - 3) // 2
        low, high = points[1 : count + 1], points[count + 2 : 2 * count + 2][::-1]
        return [Series(f"{side} end of the band", part[:, 0], part[:, 1], look=_look(each))
                for side, part in (("lower", low), ("upper", high))]  # fmt: skip
    places = np.asarray(each.get_offsets(), float)
    return [
        Series("points", places[:, 0], places[:, 1], look=(to_hex(each.get_edgecolor()[0]), _marker(each), None, True, 0.0))
    ]


def _levels(axes: Axes) -> list[tuple[str, float, tuple]]:
    found = []
    for line in axes.lines:
        if line.get_transform() != axes.transData and np.size(line.get_xdata()) == 2:
            across = line.get_transform() == axes.get_yaxis_transform(which="grid")
            values = line.get_ydata() if across else line.get_xdata()
            found.append(("y" if across else "x", float(values[0]), _look(line)))
    return found


def _ticks(axis) -> dict[float, str]:
    """Return the names at the places of an axis, when somebody wrote them there."""
    written = axis.get_major_formatter()
    if isinstance(written, FuncFormatter) and isinstance(written.func, partial):  # so ``set_ticks`` keeps names
        return {float(place): " ".join(name.split()) for place, name in written.func.args[0].items()}
    return {}
