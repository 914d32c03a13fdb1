"""Figures on static patches: error against the number of calibration queries, and the sizes of the patches."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from icl_lib.companion.figure import LINES, MARKERS, drawing, points
from icl_lib.companion.table import Table


@drawing(
    "dherin-static-one-block",
    alt=(
        "Two panels of error against calibration queries, logarithmic axes. Left: least squares drops from above 0.5 at one "
        "query to about 0.002 at two, and then falls slowly; affine drops one query later; the average stays near 0.3. "
        "Right: queries on a line need one query; wrong targets stay at 1 or above; untrained networks stay near 0.03."
    ),
    caption=(
        "Squared distance to the in-context predictions on new queries, over that without a patch (dashed, 1). Median over "
        "contexts with its order-statistics interval. Left: trained networks, queries in all directions, four fits. Right: "
        "least squares on a line of queries, on wrong targets, and in networks before training. Dotted: the networks' own "
        "error to the labels, over the same level."
    ),
    size=(7.6, 4.2),
)
def one_block(figure: Figure, dataset: xr.Dataset) -> None:
    """Error against K in the network of one block, by fit and by what is fitted to."""
    left, right = figure.subplots(1, 2, sharey=True)
    cell = dataset.sel(network="trained").isel(span=-1)
    for k, fit in enumerate(dataset.fit.values):
        _median(left, cell.error.sel(fit=fit), k, fit)
    wrong = cell.error_targets
    before = dataset.sel(network="before training").isel(span=-1)
    series = {
        "own targets": wrong.sel(targets="own"),
        "queries on a line": dataset.error.sel(network="trained", fit="least squares").isel(span=0),
        "of another context": wrong.sel(targets="other context"),
        "shuffled": wrong.sel(targets="shuffled"),
        "before training": before.error.sel(fit="least squares"),
    }
    for k, (label, values) in enumerate(series.items()):
        _median(right, values, k, label)
    for axes in (left, right):
        _levels(axes, float(cell.task_icl.sel(part="median") / cell.level.sel(part="median")))
        _log_K(axes, dataset.K.values)
    left.set_ylabel("error over that without a patch")
    left.set_ylim(1e-4, 300)
    left.legend(loc="upper left", fontsize=8.5)
    right.legend(loc="upper left", fontsize=8.5)


READINGS = {
    "task_icl": "squared error to the labels, with the context",
    "task_none": "without it, without a patch",
    "task": "without it, patched",
    "calibration": "distance to the answers with the context, fitted queries",
    "held_out": "the same, cross-validated",
}


def readings(dataset: xr.Dataset) -> Table:
    """Return the errors of the trained networks of one block, fitted to the most queries."""
    cell = dataset.sel(part="median", network="trained").isel(span=-1, K=-1)
    return Table(("median over contexts", ""), tuple((text, f"{float(cell[name]):.3f}") for name, text in READINGS.items()))


@drawing(
    "dherin-static-deep",
    alt=(
        "Two rows, four and ten blocks. Left: error falls from about 0.8 at one query to below 0.001 at 100, along a "
        "steepening line; the cross-validated estimate follows it, the error on the fitted queries lies far below; wrong "
        "targets stay near 1. Right: relative size of the patches by block, growing with the number of queries."
    ),
    caption=(
        "Left: squared distance to the in-context predictions on new queries, over that without a patch (dashed, 1); "
        "median over contexts with its order-statistics interval. Dotted: the network's own error to the labels over the "
        "same level. Right: size of the change over the size of the matrices, down projections, median, for each number "
        "<i>K</i> of calibration queries."
    ),
    size=(7.6, 7.0),
)
def deep(figure: Figure, dataset: xr.Dataset) -> None:
    """Error against K in networks of several blocks, its estimate, and the sizes of the patches by block."""
    for (left, right), network in zip(figure.subplots(2, 2), dataset.network.values, strict=True):
        cell = dataset.sel(network=network)
        series = {
            "down projection": cell.error.sel(patch="down projection"),
            "all matrices": cell.error.sel(patch="all matrices"),
            "cross-validated": cell.held_out,
            "fitted queries": cell.calibration.sel(patch="down projection"),
            "another context": cell.error_targets.sel(targets="other context"),
        }
        for k, (label, values) in enumerate(series.items()):
            _median(left, values, k, label)
        _levels(left, float(cell.task_icl.sel(part="median") / cell.level.sel(part="median")))
        _log_K(left, dataset.K.values)
        left.set(title=network, ylabel="error over that without a patch", ylim=(1e-7, 1e5))
        for k, K in enumerate(dataset.K.values):
            size = cell["size"].sel(part="median", patch="down projection", K=K).dropna("block")
            right.plot(
                size.block, size, color=f"C{k % 7}", marker=(MARKERS + "<")[k % 8], linestyle=LINES[k % 7], label=f"K = {K}"
            )
        right.set(title=network, yscale="log", xlabel="block", ylabel="size of the patch", ylim=(0.03, 100))
        right.set_xticks(size.block.values)
        right.legend(fontsize=8.5, ncols=3, loc="upper right")
        left.legend(fontsize=8.5, ncols=2, loc="upper right")


def _median(axes: Axes, values: xr.DataArray, k: int, label: str) -> None:
    middle, low, high = (values.sel(part=part) for part in ("median", "low", "high"))
    keep = np.isfinite(middle.values)
    error = np.maximum(np.stack([middle - low, high - middle]), 0)[:, keep]
    style = {"linestyle": LINES[k], "linewidth": 0.8, "elinewidth": 0.8}
    points(axes, values.K[keep], middle[keep], error, k, label=label, **style)


def _levels(axes: Axes, task: float) -> None:
    ink = mpl.rcParams["text.color"]
    axes.axhline(1, color=ink, linestyle="--", linewidth=0.9)
    axes.axhline(task, color=ink, linestyle=":", linewidth=0.9)


def _log_K(axes: Axes, K: np.ndarray) -> None:
    axes.set(xscale="log", yscale="log", xlabel="calibration queries $K$")
    axes.xaxis.set_major_locator(FixedLocator([k for k in K if k in (1, 2, 5, 10, 25, 50, 100, 200)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
