"""Figures of one block in three notations."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icl_lib.companion import LINES, drawing, each, equality, legend, points, series, span

ROUNDING = 3e-17
"""Errors of exactly 0 are drawn here."""


def _alt_static(dataset: xr.Dataset) -> str:
    without = dataset.typical.sel(change=["none", "cut to another query"])
    return (
        "Relative error on a logarithmic axis for four changes of the first matrix. Without a change, and with one cut to "
        f"another query, medians of {span(without)}. Cut to the query itself, and uncut for all queries, rounding alone is "
        "left; trained and untrained attention alike."
    )


@drawing(
    "lenses-static-step",
    alt=_alt_static,
    caption=(
        "Error of the block without its context, over its mean output: median over contexts and queries, whiskers up to the "
        "largest. One marker a shape. The change that is cut to a query serves this query; uncut it serves all, and so it "
        "does with random weights."
    ),
    size=(7.0, 3.9),
)
def static_step(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors of four changes of W, for the limit of training and for random attention."""
    axes, shapes = figure.subplots(), dataset.sizes["shape"]
    place = np.arange(dataset.sizes["change"])
    for k, layer in each(dataset, "layer"):
        for j, cell in each(layer, "shape"):
            beside = place + 0.3 * (k - 0.5) + 0.08 * (j - (shapes - 1) / 2)
            points(axes, _shown(cell), "typical", beside, k, label="{layer}" if j == 0 else None, elinewidth=0.8)
    axes.set_xticks(place, [name.replace(" to ", " to\n").replace(" for ", " for\n") for name in dataset.change.values])
    axes.set(yscale="log", ylim=(1e-17, 3e2), ylabel="relative error", xlabel="change of $W$")
    axes.legend(loc="lower left")


@drawing(
    "lenses-token-steps",
    alt=(
        "Scatter plot of what an example adds to the patch against a gradient step. Open circles, gradients at the start, "
        "lie on the diagonal. Crosses, gradients where the examples before have led, scatter around it."
    ),
    caption=(
        "Entries of what example <i>i</i> adds to the patch of one query, against a step on the loss of this example. Circles: "
        "gradient at 0, for every <i>i</i>. Crosses: gradient where earlier examples led, as in stochastic gradient descent."
    ),
    size=(5.4, 4.4),
)
def token_steps(figure: Figure, dataset: xr.Dataset) -> None:
    """What each example adds against the steps of two kinds."""
    axes = figure.subplots()
    flat = dataset[["added", "added_theory", "added_near"]].isel(context=0)
    flat = flat.stack(place=("token", "neuron", "entry")).reset_index("place", drop=True)
    ends = float(abs(flat.added_theory).max())
    equality(axes, -ends, ends)
    near = flat.assign(added_near=flat.added_near.sel(mistake="gradient at the current point", drop=True))
    points(axes, near, "added", "added_near", 1, marker="x", label="gradient at the current point")
    points(axes, flat, "added", "added_theory", 0, markerfacecolor="none", label="gradient at the start")
    axes.set(xlabel="step on the loss of example $i$", ylabel="what example $i$ adds to the patch")
    axes.legend(loc="upper left")


def _alt_pass(dataset: xr.Dataset) -> str:
    longest = dataset.isel(M=-1)
    return (
        "Share of a task that is recovered against the number of examples, in two dimensions. In the context's step it rises "
        f"to a share of {span(longest.context, '.2f')}; after one pass of gradient descent to one of "
        f"{span(longest.descent, '.2f')}, below a level at {float(dataset.limit):.2f}. All markers are on their lines."
    )


@drawing(
    "lenses-one-pass",
    alt=_alt_pass,
    caption=(
        "Share of the task vector that is recovered, mean over tasks; bars are two standard errors, lines the formulas. The "
        "context adds gradients that are all taken at the start. One pass of stochastic gradient descent with the same rate "
        "and preconditioner takes each where the earlier ones led, and stays below 1 − 1/e (dashed)."
    ),
    size=(6.8, 3.9),
)
def one_pass(figure: Figure, dataset: xr.Dataset) -> None:
    """Shares of the task recovered by context and by descent, against M."""
    axes = figure.subplots()
    for first, name, words in ((0, "context", "context"), (dataset.sizes["d"], "descent", "one pass of descent")):
        theory = (f"{name}_theory", "M")
        series(axes, dataset, name, "M", "d", theory=theory, first=first, label=f"{words}, $d$ = {{d}}")
    axes.axhline(float(dataset.limit), color=mpl.rcParams["text.color"], linestyle=LINES[1], linewidth=0.8)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="examples $M$", ylabel="share of the task")
    axes.set_xticks(dataset.M.values, [f"{M}" for M in dataset.M.values])
    axes.xaxis.set_minor_formatter(NullFormatter())
    legend(axes, columns=2)


def _alt_norm(dataset: xr.Dataset) -> str:
    least = dataset.isel(d=0)
    rms, mean = (least.sel(norm=name) for name in ("root mean square", "mean and deviation"))
    return (
        "Relative error of the patched query against the factor minus one, both axes logarithmic. Without the factor the error "
        f"grows with it up to {float(rms.uncorrected.max()):.1f}. Divided by the factor rounding alone is left. With a norm "
        f"that takes out the mean the division leaves errors from {float(mean.corrected.min()):.1g} to "
        f"{float(mean.corrected.max()):.1f}, large also where the factor is near 1."
    )


@drawing(
    "lenses-one-norm",
    alt=_alt_norm,
    caption=(
        "One marker a query, least dimension: error of the patched query behind a norm, over the block's mean output, against "
        "the factor less 1. Behind an RMS norm the error grows with the factor, and dividing by it leaves rounding. A norm "
        "that takes out the mean is not repaired."
    ),
    size=(6.8, 4.0),
)
def one_norm(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors behind a norm, with the factor and without, against the factor."""
    axes = figure.subplots()
    cell = _shown(dataset[["corrected", "uncorrected", "excess"]].isel(d=0)).stack(place=("context", "query"))
    cell = cell.reset_index("place", drop=True)
    rms, mean = (cell.sel(norm=name) for name in ("root mean square", "mean and deviation"))
    points(axes, rms, "uncorrected", "excess", 0, label="RMS norm, no factor", markersize=3.5)
    points(axes, rms, "corrected", "excess", 1, label="RMS norm, with the factor", markersize=3.5)
    points(axes, mean, "corrected", "excess", 2, label="mean taken out, with the factor", markersize=3.5)
    axes.set(xscale="log", yscale="log", ylim=(1e-17, 30), xlabel="factor − 1", ylabel="relative error")
    legend(axes, columns=2)


def _shown(dataset: xr.Dataset) -> xr.Dataset:
    """Errors on a logarithmic axis: those of exactly 0 at the bottom."""
    return dataset.where(dataset > ROUNDING, ROUNDING)
