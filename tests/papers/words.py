"""Where the words of a figure stand, as it is drawn: what is cut, what is printed over what, what runs through a legend."""

import math
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

BETWEEN = 2.0
"""What two texts keep between them along a line, in points."""


def faults(figure: Figure) -> Iterator[str]:
    """Yield what is wrong with the words of a figure that is placed."""
    turned = [*_turned(figure)]
    level = {text: text.get_window_extent() for text in _level(figure)}
    aslant = {text: text.get_window_extent() for _, labels in turned for text in labels}
    for text, box in (level | aslant).items():
        if min(box.x0, box.y0) < -0.5 or box.x1 > figure.bbox.width + 0.5 or box.y1 > figure.bbox.height + 0.5:
            yield f"cut: {text.get_text()!r}"
    for (one, a), (other, b) in combinations(level.items(), 2):
        if min(a.x1, b.x1) - max(a.x0, b.x0) > -BETWEEN and min(a.y1, b.y1) - max(a.y0, b.y0) > 1.5:
            yield f"over each other: {one.get_text()!r} and {other.get_text()!r}"
    for angle, labels in turned:
        anchors = [label.get_transform().transform(label.get_unitless_position())[0] for label in labels]
        if min(abs(after - before) for before, after in pairwise(anchors)) * math.sin(angle) < labels[0].get_fontsize():
            yield f"turned and over each other: {[label.get_text() for label in labels]}"
    yield from (f"through a legend: {text!r}" for axes in figure.axes for text in _crossed(axes))


def _level(figure: Figure) -> Iterator[Text]:
    """Yield every text that is seen and not turned aslant."""
    parts = [figure, *figure.subfigs]
    every = [text for part in parts for text in (*part.texts, *_words(part.legends))]
    for axes in figure.axes:
        every += [axes.title, *axes.texts, *_words([axes.get_legend()])]
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            every += [axis.label, axis.offsetText, *_labels(axis)]
    return (text for text in dict.fromkeys(every) if _seen(text) and not _aslant(text))


def _turned(figure: Figure) -> Iterator[tuple[float, list[Text]]]:
    """Yield the angle and the labels of each axis along which names are turned."""
    for axes in figure.axes:
        labels = [label for label in _labels(axes.xaxis) if _seen(label) and _aslant(label)]
        if len(labels) > 1:
            yield math.radians(labels[0].get_rotation()), labels


def _labels(axis: Axis) -> list[Text]:
    (low, high), along = sorted(axis.get_view_interval()), 0 if axis.axis_name == "x" else 1
    return [label for label in axis.get_ticklabels(which="both") if low <= label.get_position()[along] <= high]


def _words(legends) -> list[Text]:
    return [text for legend in legends if legend for text in (*legend.get_texts(), legend.get_title())]


def _seen(text: Text) -> bool:
    return text.get_visible() and bool(text.get_text().strip())


def _aslant(text: Text) -> bool:
    return text.get_rotation() % 90 != 0


def _crossed(axes: Axes) -> Iterator[str]:
    """Yield the entries of a legend that lines or markers of its panel run through."""
    legend = axes.get_legend()
    boxes = {text.get_text(): text.get_window_extent() for text in legend.get_texts()} if legend else {}
    for line in axes.lines if boxes else ():
        points = line.get_transform().transform(np.column_stack([np.asarray(each, float) for each in line.get_data()]))
        points = points[np.isfinite(points).all(-1)]
        if line.get_linestyle() != "None" and len(points) > 1:
            points = np.concatenate([np.linspace(*ends, 60) for ends in pairwise(points)])
        for text, box in boxes.items():
            inside = (box.min < points) & (points < box.max)
            if inside.all(-1).any():
                yield text
