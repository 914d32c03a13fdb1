"""Figures of section 5.1."""

import matplotlib as mpl
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from icl_lib.companion import MARKERS, Table, drawing, each, equality, legend, line, points
from papers.zhang.lines import with_range


@drawing(
    "zhang-quadratic-form",
    alt=(
        "Number of negative and of positive eigenvalues of H against prompt length N. Both lie on the line min(N, d) + 1, "
        "which rises by one each step and stops at d + 1. The horizontal line d + 1 is reached only from N = d on."
    ),
    caption=(
        "Number of negative and of positive eigenvalues of <i>H</i> on random prompts, the same on every prompt. Line: "
        "min(<i>N</i>, <i>d</i>) + 1. Dotted: <i>d</i> + 1."
    ),
    size=(5.6, 3.3),
)
def eigenvalues(figure: Figure, dataset: xr.Dataset) -> None:
    """Negative eigenvalues of H over prompt length: the count as a line, what was found as markers."""
    axes = figure.subplots()
    line(axes, dataset, "negative_theory", "N", label="$\\min(N,d)+1$")
    axes.axhline(dataset.negative_paper, color=mpl.rcParams["text.color"], linestyle=":", label="$d+1$")
    for k, sign in enumerate(("negative", "positive")):
        found = with_range(dataset, sign, "prompt")
        points(axes, found, sign, "N", k, color=f"C{k + 1}", markersize=9 - 4 * k, label=sign)
    axes.set(xlabel="prompt length $N$", ylabel="number of eigenvalues", ylim=(0, float(dataset.negative_paper) + 1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="lower right")


@drawing(
    "zhang-full-loss",
    alt=(
        "Left: averaged odd and even parts of the loss against their closed forms, all on the diagonal over several decades. "
        "Right: the least excess over the optimum among random points falls with the square of a small step away from it and "
        "is positive everywhere."
    ),
    caption=(
        "Left: the odd and even part of the layer's loss at random parameters, averaged by exact quadrature, against the "
        "closed form (line: equality). Right: the least excess (<i>L</i> − <i>L</i>*)/<i>L</i>* among random points around the "
        "limit of Theorem 4.1, over the scale of the step away from it; it stays above 0."
    ),
    size=(7.6, 4.0),
)
def full_loss(figure: Figure, dataset: xr.Dataset) -> None:
    """Closed form against the layer's loss, part by part; the least loss found around the limit."""
    left, right = figure.subplots(1, 2)
    for k, cell in each(dataset.stack(case=("size", "point")), "parity"):
        points(left, cell, "loss", "loss_theory", k, label="{parity} part")
    ends = [float(dataset.loss.min()), float(dataset.loss.max())]
    equality(left, *ends)
    left.set(xscale="log", yscale="log", xlabel="closed form", ylabel="averaged over prompts")
    left.legend()
    for k, cell in each(dataset, "setting"):
        line(right, cell, "excess", "radius", k, marker=MARKERS[k], label="{setting}")
    right.set(xscale="log", yscale="log", xlabel="scale of the step", ylabel="least $(L-L^*)/L^*$")
    legend(right, columns=3)


def curvature(dataset: xr.Dataset) -> Table:
    """Return how many eigenvalues of the Hessian are negative or zero, at the limit of training and at the origin."""
    limit, origin = dataset.sel(place="limit"), dataset.sel(place="origin")
    columns = {
        "negative at the limit": limit.negative,
        "zero at the limit": limit.zero,
        "negative at the origin": origin.negative,
    }
    return Table.by({"setting": "setting"}, columns, ".0f")
