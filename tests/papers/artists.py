"""What a figure shows, read back from its artists: series with their places, intervals, legend entries and axes."""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter

from icl_lib.companion.canvas import Canvas, kept
from icl_lib.companion.figure import Drawing, style
from icl_lib.companion.fit import fit
from tests.papers import layout, words
from tests.papers.looks import entries_of, labels_of, look_of, marker_of


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


class Read(NamedTuple):
    """What was read back of a figure: its panels, what stands beside them, how all of it looks, what is wrong with words."""

    panels: list[Panel]
    beside: list[str]
    looks: list[str]
    wrong: list[str]
    width: float


def drawn(drawing: Drawing, dataset: xr.Dataset, kind: type[Figure] = Figure) -> Read:
    """Draw a figure and read it back; its words are read where they stand in a file."""
    *_, size = drawing.told(dataset)
    with mpl.rc_context(style()):
        figure = kind(figsize=size)
        Canvas(figure)
        drawing.draw(figure, dataset)
        panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
        told = [_panel(axes, figure) for axes in panels], _beside(figure), list(layout.lines(figure))
        with kept(figure):
            fit(figure)
            figure.draw_without_rendering()
        return Read(*told, list(words.faults(figure)), figure.get_figwidth())


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
    entries = entries_of(axes, figure)
    series, levels = [], []
    for each in _series(axes):
        each.labels = labels_of(entries, each.look)
        each.outside = _outside(each, axes)
        series.append(each)
    for side, value, look in _levels(axes):
        levels.append((side, value, labels_of(entries, look), look))
    return Panel(
        axes.get_title(),
        {"x": _label(axes, "x", figure), "y": _label(axes, "y", figure)},
        {name: axis.get_scale() for name, axis in sides.items()},
        {name: _ticks(axis) for name, axis in sides.items()},
        series,
        levels,
        [f"{' '.join(each.get_text().split())!r} at {_place(each)}" for each in axes.texts]
        + [f"{name} falls" for name, axis in sides.items() if axis.get_inverted()]
        + [
            f"shaded from x = {each.get_x():g} to {each.get_x() + each.get_width():g}"
            for each in axes.patches
            if _tall(each, axes)
        ],
    )


def _tall(patch: Patch, axes: Axes) -> bool:
    """Whether a patch has its place along x alone, and takes the whole height of the panel."""
    return patch.get_transform().contains_branch_seperately(axes.transData) == (True, False)


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
            x, y = line.get_xydata().T
            found.append(Series("line" if look_of(line)[2] else "points", x, y, look=look_of(line)))
    for each in axes.collections:
        if id(each) not in used:
            found.extend(_collection(each))
    for image in axes.images:
        values = np.ma.filled(image.get_array().astype(float), np.nan)
        found.append(Series("image", np.arange(values.shape[1]), values, look=("", None, None, True, 0.0)))
    return [each for each in found if each.kind in ("image", "contour") or np.isfinite(each.x + each.y).any()]


def _with_bars(line: Line2D, container: ErrorbarContainer) -> Series:
    x, y = line.get_xydata().T
    found = Series("points", x, y, look=look_of(line))
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
        x, y = [each.x0 + each.width / 2 for each in boxes], [each.y0 if each.y1 == 0 else each.y1 for each in boxes]
    return Series("bars", np.array(x, float), np.array(y, float), look=look_of(container[0]))


def _collection(each: Collection) -> list[Series]:
    if isinstance(each, QuadMesh):
        values = np.ma.filled(each.get_array().astype(float), np.nan)
        return [Series("image", np.arange(values.shape[-1]), values, look=("", None, None, True, 0.0))]
    if isinstance(each, LineCollection):
        ends = np.array([part for part in each.get_segments() if len(part)], float)
        return [Series("strokes", ends[:, 0, 0], ends[:, 0, 1], look=look_of(each))] if ends.ndim == 3 else []
    if type(each).__name__ in ("PolyCollection", "FillBetweenPolyCollection"):
        points = each.get_paths()[0].vertices
        count = (len(points) - 3) // 2
        low, high = points[1 : count + 1], points[count + 2 : 2 * count + 2][::-1]
        return [
            Series(f"{side} end of the band", part[:, 0], part[:, 1], look=look_of(each))
            for side, part in (("lower", low), ("upper", high))
        ]
    places = np.asarray(each.get_offsets(), float)
    return [
        Series("points", places[:, 0], places[:, 1], look=(to_hex(each.get_edgecolor()[0]), marker_of(each), None, True, 0.0))
    ]


def _levels(axes: Axes) -> list[tuple[str, float, tuple]]:
    found = []
    for line in axes.lines:
        if line.get_transform() != axes.transData and np.size(line.get_xdata()) == 2:
            across = line.get_transform() == axes.get_yaxis_transform(which="grid")
            values = line.get_ydata() if across else line.get_xdata()
            found.append(("y" if across else "x", float(values[0]), look_of(line)))
    return found


def _ticks(axis) -> dict[float, str]:
    """Return the names at the places of an axis, when somebody wrote them there."""
    written = axis.get_major_formatter()
    if isinstance(written, FuncFormatter) and isinstance(written.func, partial):  # so ``set_ticks`` keeps names
        return {float(place): " ".join(name.split()) for place, name in written.func.args[0].items()}
    return {}
