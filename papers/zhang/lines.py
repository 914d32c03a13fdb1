"""What figures of several sections draw alike."""

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from icl_lib.companion.figure import LINES, MARKERS, points


def series(axes: Axes, k: int, label: str, line: tuple, *measured: tuple) -> None:
    """Draw series ``k``: theory (x, y) as a line, measurements (x, mean, standard error) as markers, one legend entry."""
    axes.plot(*line, color=f"C{k}", linestyle=LINES[k])
    for x, mean, error in measured:
        points(axes, x, mean, 2 * error, k)
    axes.plot([], [], color=f"C{k}", linestyle=LINES[k], marker=MARKERS[k], label=label)


def plain_logarithms(axis: Axis) -> None:
    """Label a logarithmic axis 0.03, 0.1, 0.3, 1, ..."""
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
