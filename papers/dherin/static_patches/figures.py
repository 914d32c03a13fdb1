"""Figures on static patches: error against the number of calibration queries, and the sizes of the patches."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from icl_lib.companion import LINES, MARKERS, Table, drawing, each, line, points, rounded, span


def _alt_one_block(dataset: xr.Dataset) -> str:
    error = dataset.error.sel(part="median", fit="least squares").isel(span=-1)
    trained, untrained = (error.sel(network=name).values for name in ("trained", "before training"))
    average = dataset.error.sel(part="median", fit="average", network="trained").isel(span=-1)
    average = average.where(min(2, dataset.K[-1]) <= average.K)
    return (
        "Two panels of error against calibration queries, logarithmic axes. Left: least squares drops from "
        f"{trained[0]:.2g} at one query to {trained[:2][-1]:.1g} at two, and then falls slowly; affine drops one query later; "
        f"the average stays at {span(average)} from two on. Right: queries on a line need one query; wrong targets stay at 1 "
        "or above; "
        f"untrained networks fall from {untrained[0]:.1g} to {untrained[-1]:.1g}."
    )


@drawing(
    "dherin-static-one-block",
    alt=_alt_one_block,
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
    middle = _medians(dataset)
    trained, least = middle.sel(network="trained").isel(span=-1), middle.sel(fit="least squares")
    for k, cell in each(trained, "fit"):
        _along_K(left, cell, "error", k, "{fit}")
    hollow = {"fillstyle": "none"}
    _along_K(right, trained.sel(targets="own"), "error_targets", 0, "own targets", **hollow)
    _along_K(right, least.sel(network="trained").isel(span=0), "error", 1, "queries on a line", **hollow)
    _along_K(right, trained.sel(targets="other context"), "error_targets", 2, "of another context", **hollow)
    _along_K(right, trained.sel(targets="shuffled"), "error_targets", 3, "{targets}", **hollow)
    _along_K(right, least.sel(network="before training").isel(span=-1), "error", 4, "{network}", **hollow)
    for axes in (left, right):
        _levels(axes, float(trained.task_icl / trained.level))
        _log_K(axes, dataset.K.values)
    left.set_ylabel("error over that without a patch")
    left.set_ylim(1e-4, 300)
    left.legend(loc="upper left", fontsize=8.5)
    right.legend(loc="upper left", fontsize=8.5)


READINGS = {
    "task_icl": "squared error to the labels, with the context",
    "task_none": "without it, without a patch",
    "task": "without it, patched",
    "calibration": "squared distance to the answers with the context, fitted queries",
    "held_out": "the same, cross-validated",
}


def readings(dataset: xr.Dataset) -> Table:
    """Return the errors of the trained networks of one block, fitted to the most queries."""
    cell = dataset[[*READINGS]].sel(part="median", network="trained").isel(span=-1, K=-1)
    errors = cell.reset_coords(drop=True).rename(READINGS).to_dataarray()
    return Table.by({"variable": "median over contexts"}, {"trained networks": errors}, rounded)


def _alt_deep(dataset: xr.Dataset) -> str:
    first, last = (dataset.error.sel(part="median").isel(K=end) for end in (0, -1))
    return (
        f"Two rows, four and ten blocks. Left: error is {span(first)} at one query and falls to {span(last)} at "
        f"{last.K.item()}, slowly at first and then faster; the cross-validated estimate follows it, the error on the fitted "
        "queries lies far below; wrong targets stay at about 1 or above. Right: relative size of the patches by block, growing "
        "with the number of queries."
    )


@drawing(
    "dherin-static-deep",
    alt=_alt_deep,
    caption=(
        "Error: squared distance to the in-context predictions on new queries, over that without a patch (dashed, 1); "
        "<i>fitted queries</i>: on the <i>K</i> of the fit, errors below 10<sup>−7</sup> lie outside; <i>cross-validated</i>: "
        "on those left out of it; median over contexts with its order-statistics interval. Dotted: the network's own error to "
        "the labels over the same level. Size: that of the change over the size of the matrices, down projections, median, for "
        "each number <i>K</i> of calibration queries."
    ),
    size=(7.6, 7.0),
)
def deep(figure: Figure, dataset: xr.Dataset) -> None:
    """Error against K in networks of several blocks, its estimate, and the sizes of the patches by block."""
    for (left, right), (_, cell) in zip(figure.subplots(2, 2), each(_medians(dataset), "network"), strict=True):
        down, title = cell.sel(patch="down projection"), cell.network.item()
        _along_K(left, down, "error", 0, "{patch}")
        _along_K(left, cell.sel(patch="all matrices"), "error", 1, "{patch}")
        _along_K(left, cell, "held_out", 2, "cross-validated")
        _along_K(left, down, "calibration", 3, "fitted queries")
        _along_K(left, cell.sel(targets="other context"), "error_targets", 4, "another context")
        _levels(left, float(cell.task_icl / cell.level))
        _log_K(left, dataset.K.values)
        left.set(title=title, ylabel="error over that without a patch", ylim=(1e-7, 1e5))
        size = down[["size"]].dropna("block")
        for k, one in each(size, "K"):
            line(right, one, "size", "block", k, marker=(MARKERS + "<")[k % 8], fillstyle="none", label="K = {K}")
        right.set(title=title, yscale="log", xlabel="block", ylabel="size of the patch", ylim=(0.03, 100))
        right.set_xticks(size.block.values)
        right.legend(fontsize=8.5, ncols=3, loc="upper right")
        left.legend(fontsize=8.5, ncols=2, loc="upper right")


def _medians(dataset: xr.Dataset) -> xr.Dataset:
    """Return the medians, and their intervals as NAME_low and NAME_high."""
    middle, low, high = (dataset.sel(part=part, drop=True) for part in ("median", "low", "high"))
    ends = [part.rename({name: f"{name}_{end}" for name in part}) for end, part in (("low", low), ("high", high))]
    return xr.merge([middle, *ends])


def _along_K(axes: Axes, dataset: xr.Dataset, name: str, k: int, label: str, **style) -> None:
    points(axes, dataset, name, "K", k, label=label, linestyle=LINES[k], linewidth=0.8, elinewidth=0.8, **style)


def _levels(axes: Axes, task: float) -> None:
    ink = mpl.rcParams["text.color"]
    axes.axhline(1, color=ink, linestyle="--", linewidth=0.9)
    axes.axhline(task, color=ink, linestyle=":", linewidth=0.9)


def _log_K(axes: Axes, K: np.ndarray) -> None:
    axes.set(xscale="log", yscale="log", xlabel="calibration queries $K$")
    axes.xaxis.set_major_locator(FixedLocator([k for k in K if k in (1, 2, 5, 10, 25, 50, 100, 200)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def ranks(dataset: xr.Dataset) -> Table:
    """Return how many directions the down projection of each block reads above the ridge, median over contexts."""
    rank = dataset["rank"].sel(part="median")
    columns = {"four blocks": rank.sel(network="4 blocks"), "ten blocks": rank.sel(network="10 blocks")}
    return Table.by({"block": "block"}, columns, ".0f")
