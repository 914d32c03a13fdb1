"""A figure drawn without a picture of it, which takes most of the time."""

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion.figure import Drawing


def drawn(drawing: Drawing, dataset: xr.Dataset) -> list[Axes]:
    """The axes of a figure of a dataset, for which there are words, too."""
    assert all(drawing.told(dataset))
    figure = Figure()
    drawing.draw(figure, dataset)
    return figure.axes
