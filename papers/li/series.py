"""What figures of several sections draw: measured series on their lines."""

import xarray as xr
from matplotlib.axes import Axes

from icl_lib.companion.figure import LINES, MARKERS, points_over_seeds


def series(axes: Axes, x, values: xr.DataArray, k: int, label: str, line: xr.DataArray | None = None, **style) -> None:
    """Draw means over seeds on a line, that of theory or else a thin one that joins them; one entry of the legend for both."""
    joined = values.mean("seed") if line is None else line
    axes.plot(x, joined, color=f"C{k}", linestyle=LINES[k], linewidth=0.8 if line is None else None)
    points_over_seeds(axes, x, values, k, **style)
    axes.plot([], [], color=f"C{k}", marker=MARKERS[k], linestyle=LINES[k], label=label)
