"""Figure of the placebo: exactness is the same for every vector, what it is worth is not."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter

from icl_lib.companion import drawing, each, sideways, span


@drawing(
    "dherin-placebo",
    alt=lambda dataset: (
        "Two panels with four rows each: own context, labels shuffled, another task, Gaussian vector. Left: the relative "
        f"error of the identity is {span(dataset.error, '.0e')} for all four. Right: the squared error of the patched "
        "prediction is small for the own context alone, and about that of the prediction 0 or larger for the others."
    ),
    caption=(
        "Patches Δ<i>W</i> made from four vectors in the place of <i>A</i>(<i>C</i>, <i>x</i>), three trained networks. "
        "Left: largest relative error of the identity; the dashed line is the margin of D9. Right: mean squared error of "
        "the patched prediction over the variance of the label; at the dashed line it is no better than predicting 0."
    ),
    size=(7.6, 3.0),
)
def placebo(figure: Figure, dataset: xr.Dataset) -> None:
    """Relative error of the identity and error of the prediction, for patches from four vectors."""
    left, right = figure.subplots(1, 2, sharey=True)
    _rows(left, dataset, "error")
    _rows(right, dataset.assign(share=dataset.risk / dataset.variance), "share")
    left.axvline(1e-13, color=mpl.rcParams["text.color"], linestyle="--", linewidth=0.9)
    right.axvline(1, color=mpl.rcParams["text.color"], linestyle="--", linewidth=0.9)
    left.set(xscale="log", xlim=(1e-16, 10), xlabel="relative error of the identity")
    left.xaxis.set_major_locator(FixedLocator([1e-15, 1e-10, 1e-5, 1]))
    left.xaxis.set_minor_formatter(NullFormatter())
    right.set(xlim=(0, None), xlabel="error of the prediction")
    left.set_yticks(np.arange(dataset.sizes["vector"]), dataset.vector.values)
    left.set_ylim(dataset.sizes["vector"] - 0.5, -0.5)


def _rows(axes: Axes, dataset: xr.Dataset, name: str) -> None:
    """One row a vector, one marker a network."""
    for k, cell in each(dataset, "vector"):
        sideways(axes, cell, name, k + np.linspace(-0.15, 0.15, cell.sizes["replicate"]), k)
