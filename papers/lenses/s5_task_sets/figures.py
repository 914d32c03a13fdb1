"""Figures of what linear attention makes of k training tasks."""

import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import drawing, each, legend, line, points, series


def _alt_sets(dataset: xr.Dataset) -> str:
    ends = dataset.end
    return (
        "Error on new tasks against the length of prompts, both axes logarithmic, one series for each set of tasks. "
        f"Markers lie on their lines. Series become level between {float(ends.where(ends > 0.01).min()):.2f} and "
        f"{float(ends.max()):.2f}; others, with more tasks than dimensions, go on falling."
    )


@drawing(
    "lenses-task-sets",
    alt=_alt_sets,
    caption=(
        "Error on new tasks of the layer that is best on <i>k</i> training tasks of length 1, over that of no answer, against "
        "the examples <i>N</i> of a prompt. Markers: from the exact risk. Lines: the formula. Up to <i>k</i> = <i>d</i> an "
        "error stays, and it may exceed that of no answer."
    ),
    size=(6.4, 4.2),
)
def task_sets(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors on new tasks against the length of prompts."""
    axes = figure.subplots()
    series(axes, dataset, "path", "long", "set", theory=("path_theory", "long"), label="{set}")
    axes.set(xscale="log", yscale="log", xlabel="examples $N$", ylabel="error on new tasks")
    legend(axes, columns=3)


def _alt_lu(dataset: xr.Dataset) -> str:
    low = dataset.sel(d=10).isel(kappa=0)
    return (
        "Gap between the errors on new and on training tasks against k/d, a panel for each dimension. "
        f"At d = 10 and the fewest tasks the published point is at {float(low.published):.2f}, the line with the energy at "
        f"{float(low.optimum):.2f}, that without it at {float(low.alone):.2f}. At d = 64 these lines lie close together."
    )


@drawing(
    "lenses-lu-tasks",
    alt=_alt_lu,
    caption=(
        "Error on new tasks less that on the <i>k</i> training tasks, against <i>k</i>/<i>d</i>. Circles: published by Lu et "
        "al., layers trained on 10<i>d</i>² prompts. Squares: trained here on as many. Bars: two standard errors. Lines: the "
        "optimum of infinitely many prompts, with the energy of labels and without; dash-dotted, without it in many dimensions."
    ),
    size=(8.6, 3.9),
)
def lu_tasks(figure: Figure, dataset: xr.Dataset) -> None:
    """Gaps against the number of tasks, a panel for each dimension."""
    panels = figure.subplots(1, dataset.sizes["d"], squeeze=False, sharey=True)[0]
    for axes, (_, cell) in zip(panels, each(dataset, "d"), strict=True):
        line(axes, cell, "optimum", "kappa", 0, label="optimum")
        line(axes, cell, "alone", "kappa", 1, label="without the energy")
        line(axes, cell, "many", "kappa", 2, label="many dimensions")
        points(axes, cell, "published", "kappa", 0, label="published")
        if cell.d.item() in dataset.small.values:
            points(axes, dataset.sel(small=cell.d.item()), "trained", "kappa", 1, markerfacecolor="none", label="trained here")
        axes.set(title=f"$d = {cell.d.item()}$", xlabel="$k/d$", ylabel="gap", ylim=(0, None))
    legend(*panels, columns=3)
