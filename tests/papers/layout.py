"""How a figure looks beside what it shows: limits, ticks, grids, widths, sizes, places of legends and texts, in lines."""

from collections.abc import Iterator

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection, LineCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator


def lines(figure: Figure) -> Iterator[str]:
    """Yield a line for everything that is drawn; which values are drawn is not in it."""
    yield f"figure {_numbers(figure.get_size_inches())} {[_legend(each) for each in figure.legends]}"
    for sub in figure.subfigs:
        yield f"part {_ratios(sub)} {[_legend(each) for each in sub.legends]}"
    for axes in figure.axes:
        yield f"panel {axes.get_label()} {_ratios(axes)} {axes.get_aspect()} {axes.get_frame_on()} {axes.axison}"
        for name in ("x", "y"):
            yield f"{name} {_axis(axes, name)}"
        yield from (f"  {type(each).__name__} {_look(each)}" for each in axes.get_children() if not _is_frame(axes, each))


def _is_frame(axes: Axes, each: Artist) -> bool:
    return each is axes.patch or each in axes.spines.values() or isinstance(each, Axis)


def _numbers(values) -> str:
    """Return numbers to three digits; 0.5625 up to rounding is 0.562 on every machine."""
    return " ".join(f"{float(f'{value:.9g}'):.3g}" for value in np.ravel(np.asarray(values, float)))


def _ratios(part) -> str:
    spec = part.get_subplotspec() if hasattr(part, "get_subplotspec") else getattr(part, "_subplotspec", None)
    if spec is None:
        return "free"
    grid = spec.get_gridspec()
    return f"{spec.num1}-{spec.num2} of {_numbers(grid.get_width_ratios())} by {_numbers(grid.get_height_ratios())}"


def _axis(axes: Axes, name: str) -> str:
    axis: Axis = getattr(axes, f"{name}axis")
    limits = "" if getattr(axes, f"get_autoscale{name}_on")() else _numbers(getattr(axes, f"get_{name}lim")())
    places = axis.get_major_locator()
    rule = f"{type(places).__name__} {getattr(places, '_subs', '')} {getattr(places, '_integer', '')}"
    ticks = _numbers(places.locs) if isinstance(places, FixedLocator) else rule
    minor, written = type(axis.get_minor_locator()).__name__, type(axis.get_major_formatter()).__name__
    scale = _numbers([getattr(axis.get_transform(), each, 0) for each in ("base", "linthresh", "linscale")])
    ticked = axis.get_tick_params()
    shown = {key: ticked.get(key) for key in ("gridOn", "labelleft", "labelbottom", "left", "bottom", "labelsize", "length")}
    shared = len(getattr(axes, f"get_shared_{name}_axes")().get_siblings(axes))
    return f"{limits} / {ticks} {minor} {written} {scale} {shown} {shared} {axis.label.get_text()} {_text(axis.label)}"


def _look(each: Artist) -> str:
    common = f"{each.get_alpha()} {each.get_zorder():.3g} {each.get_visible()} {each.get_clip_on()}"
    if isinstance(each, Line2D):
        sizes = _numbers([each.get_linewidth(), each.get_markersize(), each.get_markeredgewidth()])
        marks = f"{each.get_marker()} {each.get_markevery()} {each.get_fillstyle()} {each.get_markerfacecolor()}"
        ends = _numbers(each.get_xydata()) if each.get_xydata().shape == (2, 2) else ""  # of a diagonal
        return f"{common} {sizes} {each.get_color()} {each.get_linestyle()} {each.get_drawstyle()} {marks} {ends}"
    if isinstance(each, Collection):
        sizes = each.get_sizes() if hasattr(each, "get_sizes") and not isinstance(each, LineCollection) else ()
        return f"{common} {_numbers(each.get_linewidths())} {_numbers(sizes)} {each.get_linestyles()} {_scale(each)}"
    if isinstance(each, AxesImage):
        return f"{common} {_scale(each)} {_numbers(each.get_extent())} {each.get_interpolation()}"
    if isinstance(each, Legend):
        return _legend(each)
    if isinstance(each, Text):
        return f"{common} {_text(each)}"
    if isinstance(each, Patch):
        return f"{common} {each.get_linewidth():.3g} {each.get_facecolor()} {each.get_edgecolor()} {each.get_hatch()}"
    return common


def _scale(each) -> str:
    """Return the colours of what has a scale of them; else nothing."""
    return f"{each.get_cmap().name} {type(each.norm).__name__}" if each.get_array() is not None else ""


def _text(text: Text) -> str:
    place = getattr(text, "xyann", None)
    beside = "" if place is None else _numbers(place)
    return (
        f"{text.get_fontsize():.3g} {text.get_ha()} {text.get_va()} {text.get_rotation():.3g} {text.get_fontweight()} {beside}"
    )


def _legend(legend: Legend) -> str:
    names = [each.get_text() for each in legend.get_texts()]
    place = legend._loc_real if isinstance(legend._loc_real, int) else -1
    sizes = _numbers([place, legend._ncols, legend._fontsize, legend.columnspacing, legend.handlelength, legend.borderaxespad])
    return f"legend {names} {sizes} {legend.get_title().get_text()} {getattr(legend, '_outside_loc', None)}"
