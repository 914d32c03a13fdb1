"""Figures of what layers of linear attention leave, by their number."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, each, equality, legend, line, points, rounded, series, span, strokes

FITTED, LEAST = "fitted", "least"


def _numbered(axes, dataset: xr.Dataset) -> None:
    axes.set_xticks(dataset.layers.values)
    axes.set(yscale="log", xlabel="layers $L$", ylabel="risk / risk of no answer")


def _alt_depth(dataset: xr.Dataset) -> str:
    return (
        f"Error against the number of layers, on a logarithmic axis, for {dataset.sizes['shape']} shapes. All markers lie on "
        f"the lines, which fall. With one layer {span(dataset.error_theory.sel(layers=1), '.2f')} is left, with "
        f"{dataset.sizes['layers']} {span(dataset.error_theory.isel(layers=-1), '.3f')}."
    )


@drawing(
    "ahn-depth",
    alt=_alt_depth,
    caption=(
        "Squared error of layers of linear attention with the best step sizes, over that of no answer. Lines: "
        "1/(<i>H</i><sup>−1</sup>)<sub>00</sub> from exact moments of the context's covariance. Intervals: two standard errors."
    ),
    size=(5.6, 4.0),
)
def depth(figure: Figure, dataset: xr.Dataset) -> None:
    """Error against layers."""
    axes = figure.subplots()
    series(axes, dataset, "error", "layers", "shape", theory=("error_theory", "layers"), label="{shape}")
    _numbered(axes, dataset)
    axes.legend()


def _alt_many(dataset: xr.Dataset) -> str:
    last = dataset.isel(layers=-1, rho=0)
    return (
        f"Error against the number of layers in {dataset.sizes['rho']} panels, one a ratio d/N. Markers of larger dimensions "
        "come down to the line of the best steps. The line of equal steps lies above it from two layers on: at "
        f"{int(last.layers)} layers {float(last.equal_limit):.3f} against {float(last.limit):.3f} at the ratio "
        f"{float(last.rho):g}."
    )


@drawing(
    "ahn-many-dimensions",
    alt=_alt_many,
    caption=(
        "Error over that of no answer where <i>d</i> and <i>N</i> are large. Solid: 1/(1 + ρ<sup>−1</sup> + ... + "
        "ρ<sup>−<i>L</i></sup>), the limit of the best step sizes, with contexts of several dimensions, read with the step "
        "sizes of the limit. Dashed: the limit with one step for all layers, with contexts of the largest dimension."
    ),
    size=lambda dataset: (1.4 + 3.0 * dataset.sizes["rho"], 4.0),
)
def many_dimensions(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors of best and of equal steps, and their limits."""
    panels = figure.subplots(1, dataset.sizes["rho"], squeeze=False)[0]
    for axes, (_, cell) in zip(panels, each(dataset, "rho"), strict=True):
        line(axes, cell, "limit", "layers", 0, label="limit of the best steps")
        for k, part in each(cell, "d"):
            points(axes, part, "error", "layers", k, label="steps of the limit, $d={d}$", markerfacecolor="none")
        line(axes, cell, "equal_limit", "layers", 1, label="limit of equal steps")
        points(axes, cell.isel(d=-1), "equal", "layers", 5, label="equal steps, $d={d}$")
        _numbered(axes, cell)
        axes.set(yscale="linear", ylim=(0, 1.1 * float(cell.equal_limit.max())), title=f"$d/N={cell.rho.item():g}$")
    legend(*panels, columns=3)


def _alt_random(dataset: xr.Dataset) -> str:
    return (
        "Error against the number of layers, on a logarithmic axis. The line of the limit falls from "
        f"{float(dataset.limit.max()):.2f} to {float(dataset.limit.min()):.2f}. Markers come down to it as "
        f"contexts grow to {int(dataset.long[-1])} examples; those of short contexts with step sizes of their own lie on their "
        "lines."
    )


@drawing(
    "ahn-random-covariances",
    alt=_alt_random,
    caption=(
        "Error over the variance of a label where each prompt draws its own variances, Exp(1). Left: step sizes best for the "
        "shape, lines from exact moments. Right: the step sizes of the limit, line 2/((<i>L</i> + 1)(<i>L</i> + 2))."
    ),
    size=(7.4, 4.0),
)
def random_covariances(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors of short contexts, and of long ones beside the limit."""
    left, right = figure.subplots(1, 2, sharey=True)
    series(left, dataset, "error", "layers", "shape", theory=("error_theory", "layers"), label="{shape}")
    line(right, dataset, "limit", "layers", 4, label="limit")
    for k, part in each(dataset, "long"):
        points(right, part, "far", "layers", k + 4, label="$N={long}$")
    for axes in (left, right):
        _numbered(axes, dataset)
        axes.legend()
    right.set_ylabel("")


def _alt_trained(dataset: xr.Dataset) -> str:
    steps = (dataset.step_theory.isel(layers=0, root=0), dataset.step_theory.isel(layers=-1))
    single, several = (span(each, ".2f") for each in steps)
    return (
        f"Step sizes of trained layers against those of the theorem, a panel for each of {dataset.sizes['shape']} shapes. All "
        f"markers lie on the diagonal. With {int(dataset.layers[-1])} layers the step sizes reach from {several}, with one "
        f"from {single}."
    )


@drawing(
    "ahn-trained",
    alt=_alt_trained,
    caption=(
        "Mean diagonals of trained matrices, a marker for each layer of each network, against the reciprocals of the roots. "
        "Diagonal: both are equal."
    ),
    size=lambda dataset: (1.0 + 2.6 * dataset.sizes["shape"], 3.8),
)
def trained(figure: Figure, dataset: xr.Dataset) -> None:
    """Multiples of the identity that training finds, against the step sizes of the theorem."""
    panels = figure.subplots(1, dataset.sizes["shape"], squeeze=False)[0]
    for axes, (_, cell) in zip(panels, each(dataset, "shape"), strict=True):
        equality(axes, 0, 1.05 * float(cell.step_theory.max()))
        for k, part in each(cell, "layers"):
            for j, one in each(part.isel(root=slice(0, part.layers.item())), "network"):
                points(axes, one, "step", "step_theory", k, label=None if j else "$L={layers}$", markerfacecolor="none")
        axes.set(title=cell.shape.item(), xlabel="step sizes of the theorem", ylabel="trained")
    legend(*panels, columns=3)


def _alt_free(dataset: xr.Dataset) -> str:
    three = dataset.sel(layers=3)
    return (
        "Squared error of three layers that change features, a marker a batch of new prompts, on a logarithmic axis. Fitted to "
        f"contexts, batches lie about {float(three.typical.sel(which=FITTED)):.5f}, as the printed line, while their mean over "
        f"all prompts is a line at {float(three.whole.sel(which=FITTED)):.3f}. Numbers of the least mean have batches about "
        f"{float(three.typical.sel(which=LEAST)):.5f} and a line at {float(three.whole.sel(which=LEAST)):.5f}."
    )


@drawing(
    "ahn-free-features",
    alt=_alt_free,
    caption=(
        "Three layers that change features as well, <i>d</i> = 5, <i>N</i> = 20: squared error on batches of 20,000 new "
        "prompts, in order of size. Lines: exact means over all prompts, and the median that the authors' code prints for "
        "trained layers."
    ),
    size=(6.6, 4.2),
)
def free_features(figure: Figure, dataset: xr.Dataset) -> None:
    """What batches show, and the mean over all prompts."""
    axes, three = figure.subplots(), dataset.sel(layers=3)
    count = three.sizes["draw"]
    ordered = three.assign(batch=three.batch.copy(data=np.sort(three.batch.values, -1)))
    for k, name in enumerate((FITTED, LEAST)):
        part = ordered.sel(which=name)
        points(axes, part, "batch", np.arange(1, count + 1), k, label=f"new prompts, {name}", markersize=3.5)
        strokes(
            axes, part, "whole", [(count + 1) / 2], count, label=f"all prompts, {name}", color=f"C{k}", linestyle=("-", "--")[k]
        )
    strokes(axes, three, "printed", [(count + 1) / 2], count, label="printed, trained layers", color="C3", linestyle=":")
    axes.set(yscale="log", xlabel="batches, ordered", ylabel="squared error")
    axes.xaxis.get_major_locator().set_params(integer=True)
    legend(axes, columns=3)


def losses(dataset: xr.Dataset) -> Table:
    """Return what layers that change features leave, by number of layers."""
    columns = {
        "median of batches": dataset.typical,
        "mean over all prompts": dataset.whole,
        "labels only, at best": dataset.labels,
    }
    return Table.by({"layers": "layers", "which": "numbers"}, columns, rounded)
