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
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from icl_lib.companion.figure import Drawing, style

NOTHING = ("None", "none", "", " ")


@dataclass
class Series:
    """Points that were drawn: places, half-lengths of their intervals, and the legend entries of their style."""

    kind: str
    x: np.ndarray
    y: np.ndarray
    labels: list[str] = field(default_factory=list)
    below: np.ndarray | None = None
    above: np.ndarray | None = None
    sideways: bool = False
    look: tuple = ()


@dataclass
class Panel:
    """One pair of axes: what is written at it and drawn in it."""

    title: str
    axes: dict[str, str]
    scales: dict[str, str]
    ticks: dict[str, dict[float, str]]
    series: list[Series]
    levels: list[tuple[str, float, list[str]]]


def drawn(drawing: Drawing, dataset: xr.Dataset, kind: type[Figure] = Figure) -> list[Panel]:
    """Draw a figure and read every panel of it back."""
    size = drawing.size(dataset) if callable(drawing.size) else drawing.size
    with mpl.rc_context(style()):
        figure = kind(figsize=size)
        FigureCanvasAgg(figure)
        drawing.draw(figure, dataset)
        return [_panel(axes, figure) for axes in figure.axes if axes.get_label() != "<colorbar>"]


def _panel(axes: Axes, figure: Figure) -> Panel:
    sides = {"x": axes.xaxis, "y": axes.yaxis}
    entries = [entry for legend in _legends(axes, figure) for entry in _entries(legend)]
    series, levels = [], []
    for each in _series(axes):
        each.labels = [label for label, look in entries if _alike(look, each.look)]
        series.append(each)
    for side, value, look in _levels(axes):
        levels.append((side, value, [label for label, entry in entries if _alike(entry, look)]))
    return Panel(
        axes.get_title(),
        {"x": _label(axes, "x", figure), "y": _label(axes, "y", figure)},
        {name: axis.get_scale() for name, axis in sides.items()},
        {name: _ticks(axis) for name, axis in sides.items()},
        series,
        levels,
    )


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
        dashes = artist._unscaled_dash_pattern if artist.get_linestyle() not in NOTHING else None
        colour = artist.get_color() if dashes or not marker else artist.get_markeredgecolor()
        hollow = marker and (artist.get_fillstyle() == "none" or str(artist.get_markerfacecolor()) in NOTHING)
        return to_hex(colour), marker, str(dashes) if dashes else None, bool(marker) and not hollow, artist.get_linewidth()
    if isinstance(artist, Collection):
        colours = artist.get_facecolor() if len(artist.get_facecolor()) else artist.get_edgecolor()
        dashes = str(artist.get_linestyles()[0]) if isinstance(artist, LineCollection) else "area"
        return (to_hex(colours[0]) if len(colours) else "", None, dashes, True, 0.0)
    return to_hex(artist.get_facecolor()), None, "area", True, 0.0


def _alike(entry: tuple, look: tuple) -> bool:
    """Say whether a legend's entry is of the style of an artist: its colour, and one of its marks."""
    same_colour, marker, dashes = entry[0] == look[0], entry[1] == look[1], entry[2] == look[2]
    marked = entry[1] is not None and marker and (entry[3] == look[3] or entry[2] is not None)
    lined = entry[2] is not None and dashes and (look[1] is None or entry[1] is not None or entry[1] == look[1])
    thick = entry[1] is not None or entry[4] == look[4] or look[1] is not None
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
    return found


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
    if isinstance(each, ContourSet):
        return [Series("contour", np.array([]), np.asarray(each.levels, float), look=("", None, None, True, 0.0))]
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
    return [Series("points", places[:, 0], places[:, 1], look=(to_hex(each.get_edgecolor()[0]), "o", None, True, 0.0))]


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
