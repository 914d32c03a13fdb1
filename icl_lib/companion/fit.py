"""The words of a figure fit: labels of an axis that meet are turned or thinned, and a name that is cut is broken.

Nothing that is measured moves, and a label that stays is the one that stood there.
"""

import math
import re
from itertools import pairwise

from matplotlib import rc_context
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

GAP = 3.0
"""What two labels of an axis keep between them, in points."""
ANGLES = (30, 60, 90)
"""By how much names along an axis are turned: by the least that parts them."""
OUTSIDE = r"(?=[^$]*(?:\$[^$]*\$[^$]*)*$)"
"""What stands outside of formulas."""
NAME, SPACE = (re.compile(each + OUTSIDE) for each in (r"[^\W\d_]", " "))
"""A letter, of which no number has one, and where a name may be broken."""


def fit(figure: Figure) -> None:
    """Place the panels of a figure and change the words that do not fit there.

    Names that meet are turned by the least angle that parts them:

    >>> from matplotlib.figure import Figure
    >>> from icl_lib.companion.fit import fit
    >>> axes = Figure((2, 2), layout="constrained").subplots()
    >>> _ = axes.set_xticks([0, 1, 2], ["least squares", "ridge regression", "averaging"])
    >>> fit(axes.figure)
    >>> [(each.get_text(), each.get_rotation()) for each in axes.get_xticklabels()]
    [('least squares', 30.0), ('ridge regression', 30.0), ('averaging', 30.0)]
    """
    figure.dpi = 72  # what an SVG file is written at; a point is a pixel
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        if _changed(figure):
            engine.execute(figure)
        if spare := _spare(figure):
            engine.set(rect=spare)
            engine.execute(figure)
        with rc_context({"figure.constrained_layout.use": False}):  # else drawing places them once more
            figure.set_layout_engine(None)
        for axes in figure.axes:  # the last bits that the engine finds differ from run to run
            axes.set_position(Bbox(axes.get_position(original=True).get_points().round(5)))


def _changed(figure: Figure) -> bool:
    every = [axis for each in figure.axes if each.axison for axis in (each.xaxis, each.yaxis)]
    return sum(change(axis) for axis in every for change in (_parted, _broken)) > 0  # every one is tried


def _spare(figure: Figure) -> tuple[float, float, float, float] | None:
    """Return left, bottom, width and height, as parts of the figure, of what is left for panels if some words leave it."""
    drawn, size = figure.get_tightbbox().extents, figure.get_size_inches()
    left, bottom = (max(0, -each) / side for each, side in zip(drawn[:2], size, strict=True))
    right, top = (max(0, each - side) / side for each, side in zip(drawn[2:], size, strict=True))
    return (left, bottom, 1 - left - right, 1 - bottom - top) if max(left, bottom, right, top) > 0.002 else None


def _parted(axis: Axis) -> bool:
    """Turn names along an axis that meet each other; leave out numbers that meet the one before."""
    minor, labels = _labels(axis, minor=True), _labels(axis)
    if parted := len(_apart(minor)) < len(minor):
        axis.set_ticklabels([], minor=True)
    kept = _apart(labels)
    named = any(NAME.search(label.get_text()) for label in labels)
    if len(kept) == len(labels) or named and not isinstance(axis, XAxis):
        return parted  # a name is never left out, unless it is a formula: numbers are formulas too
    places, offset = [label.get_position()[_along(axis)] for label in labels], axis.get_major_formatter().get_offset()
    if named:
        ends = [label.get_window_extent() for label in labels]
        step = min(right.x0 + right.x1 - left.x0 - left.x1 for left, right in pairwise(ends)) / 2
        line = max(label.get_fontsize() for label in labels)
        angle = next(each for each in ANGLES if step * math.sin(math.radians(each)) > line or each == ANGLES[-1])
        names = [" ".join(label.get_text().split()) for label in labels]
        axis.set_ticks(places, names, rotation=angle, ha="right", va="center", rotation_mode="anchor")
    else:
        axis.set_ticks(places, [label.get_text() if label in kept else "" for label in labels])
    axis.get_major_formatter().set_offset_string(offset)  # the factor of all numbers, such as 1e7
    return True


def _labels(axis: Axis, *, minor: bool = False) -> list[Text]:
    """Return the labels that are seen along an axis, in the order of their places."""
    (low, high), along = sorted(axis.get_view_interval()), _along(axis)
    every = axis.get_minorticklabels() if minor else axis.get_majorticklabels()
    seen = [each for each in every if each.get_visible() and each.get_text() and low <= each.get_position()[along] <= high]
    return sorted(seen, key=lambda each: each.get_window_extent().min[along])


def _along(axis: Axis) -> int:
    return 0 if isinstance(axis, XAxis) else 1


def _apart(labels: list[Text]) -> list[Text]:
    """Return the labels that keep their distance from the one that was kept before; turned ones do."""
    kept: list[Text] = []
    for label in labels:
        if not kept or label.get_rotation() % 180 or _gap(kept[-1], label) >= GAP:
            kept.append(label)
    return kept


def _gap(one: Text, other: Text) -> float:
    """Return the distance between two boxes, along the side on which there is one."""
    a, b = one.get_window_extent(), other.get_window_extent()
    return max(max(a.x0, b.x0) - min(a.x1, b.x1), max(a.y0, b.y0) - min(a.y1, b.y1))


def _broken(axis: Axis) -> bool:
    """Break the name of an axis that is cut at an end into two lines, outside of formulas."""
    along, text = _along(axis), axis.label.get_text()
    box, sheet = axis.label.get_window_extent(), axis.get_figure(root=True).bbox
    inside = sheet.min[along] <= box.min[along] and box.max[along] <= sheet.max[along]
    spaces = [each.start() for each in SPACE.finditer(text)]
    if inside or "\n" in text or not spaces:
        return False
    at = min(spaces, key=lambda place: abs(place - len(text) / 2))
    axis.label.set_text(f"{text[:at]}\n{text[at + 1 :]}")
    return True
