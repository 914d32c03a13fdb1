"""Figures of section 3.4: two groups of neurons, and what deleting them costs."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, StrMethodFormatter

from icl_lib.companion import LINES, Table, across, at_most, drawing, each, legend, line, points, series, strokes

GROUPS = {"A": "setting A", "ξ = 1/√m": "large initialisation, ξ = 1/√m"}
"""Names of the two groups in the legend."""


def _alt_magnitudes(dataset: xr.Dataset) -> str:
    small, at_rest = float(dataset.small.isel(setting=0).mean()), dataset.at_rest.mean("seed")
    rest = int(dataset.step[int((at_rest > 0.5).argmax("step"))])
    return (
        f"Three panels. Top left: sorted row lengths over the longest; a share of {small:.2f} is short, then a jump to a long "
        "plateau, while a long initialisation gives one group without a jump. Top right: half of the short rows are at rest "
        f"by step {rest}, when attention rises and the long rows grow. Bottom: shares of short and silent rows by setting."
    )


@drawing(
    "li-magnitudes",
    alt=_alt_magnitudes,
    caption=(
        "Top left: lengths of the neurons, rows of <i>W<sub>O</sub></i>, sorted, over the longest; mean over networks. Dashed: "
        "ξ√<i>m<sub>b</sub></i>, the initial length in setting A. Top right: setting A in time: share of the small "
        "neurons that do not move any more, attention on the query's pattern, mean length of the large neurons over the final "
        "one. Bottom: share of small neurons, and of silent ones, which next to no prompt activates, in settings that differ "
        "from A in what is named (<i>r</i>: shifts of the training tasks; B: lengths of patterns and label, and half the step "
        "size) and, most of them, in fewer steps. Lines: silent neurons trained one by one while attention rests. Intervals: "
        "two standard errors over networks."
    ),
    size=(7.6, 6.2),
)
def magnitudes(figure: Figure, dataset: xr.Dataset) -> None:
    """Sorted lengths of the rows of W_O; when short rows come to rest; short and silent rows in each setting."""
    panels = figure.subplot_mosaic([["lengths", "time"], ["settings", "settings"]], height_ratios=(1.2, 1))
    _draw_lengths(panels["lengths"], dataset)
    _draw_time(panels["time"], dataset)
    axes, position = panels["settings"], np.arange(dataset.sizes["setting"])
    points(axes, dataset, "small", position - 0.12, 5, label="small")
    points(axes, dataset, "silent", position + 0.12, 6, label="silent")
    strokes(axes, dataset, "silent_alone", position, 0.6, color="C6", label="silent, trained one by one")
    axes.set_xticks(position, [name.replace(" = ", " =\n") for name in dataset.setting.values])
    top = 2.0 * float(dataset.small.mean("seed").max())
    axes.set(ylim=(-0.01, top), xlim=(-0.6, len(position) - 0.4), ylabel="share of the neurons")
    axes.legend(loc="upper left", fontsize=8.5)


def _draw_lengths(axes: Axes, dataset: xr.Dataset) -> None:
    share = (np.arange(dataset.sizes["row"]) + 0.5) / dataset.sizes["row"]
    shown = dataset.assign(relative=dataset.length / dataset.length.isel(row=-1)).isel(row=slice(None, None, 2))
    for k, rows in each(shown, "group"):
        points(axes, rows, "relative", share[::2], k, label=GROUPS.get(rows.group.item(), "{group}"), markersize=3)
    longest = float(dataset.length.isel(group=0, row=-1).mean())
    axes.axhline(float(dataset.start_size[0]) / longest, color=mpl.rcParams["text.color"], linestyle="--", linewidth=0.9)
    axes.set(xlabel="neurons, sorted (share)", ylabel="length over the longest", ylim=(0, 1.05))
    axes.legend(loc="lower right")


def _draw_time(axes: Axes, dataset: xr.Dataset) -> None:
    dataset = dataset.assign(long_relative=dataset.long_size / dataset.long_size.isel(step=-1).mean())
    shown = {"small neurons at rest": "at_rest", "attention": "mass", "large neurons, length": "long_relative"}
    for k, (label, name) in enumerate(shown.items(), start=2):
        series(axes, dataset, name, "step", label=label, first=k)
    axes.set_xscale("symlog", linthresh=20)
    axes.xaxis.set_major_locator(FixedLocator([0, 20, 50, 100, 400]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set(xlabel="step", ylabel="share", ylim=(0, 1.05))
    axes.legend(loc="upper left", fontsize=8.5)


def _alt_pruning(dataset: xr.Dataset) -> str:
    means = dataset.sel(domain="out of domain").mean("seed")
    smallest, one_label = means.error_shortest.isel(P=-1), means.error.sel(order="one label").isel(R=-1)
    return (
        "Two panels against the deleted fraction. Left: hinge loss is flat at first, then rises in a straight "
        "line to 1 for the largest first and at random; with the smallest first it rises later, and deleting one label only "
        "costs half as much. Right: 0-1 error on a logarithmic axis; up to 0.6 our markers are at most "
        f"{at_most(means.error.sel(R=slice(0, 0.6)).max())}. {_slides(dataset)} With the smallest first the error ends at "
        f"{float(smallest):.1g}, with one label at {float(one_label):.1g}."
    )


def _slides(dataset: xr.Dataset) -> str:
    (start, end), (_, other) = dataset.slides_pruned[:, [0, -1]].values
    return f"The slides' two curves rise from {start:g} at 0 to {end:g} and {other:g} at {dataset.deleted_share[-1]:g}."


@drawing(
    "li-pruning",
    alt=_alt_pruning,
    caption=(
        "What deleting neurons costs, out of domain: <i>S</i><sub>1</sub> = 1.1, α′ = 0.6, <i>l</i> = 20. Deleted is a "
        "fraction of the large neurons (largest first, or at random), of the large neurons of one label, or of all neurons "
        "(smallest first). Markers: measured, two standard errors over networks. Thick lines of the hinge: predicted from the "
        "whole network and its weights; the thin line joins markers. Thin crosses: the authors' slides, read off by eye "
        "(about 10%). A network that has lost all neurons of one label errs on a quarter; where some have, bars are long."
    ),
    size=(7.6, 4.3),
)
def pruning(figure: Figure, dataset: xr.Dataset) -> None:
    """Hinge loss and 0-1 error over the deleted fraction, with the prediction and the slides' points."""
    left, right = figure.subplots(1, 2)
    cell = dataset.sel(domain="out of domain")
    series(left, cell, "hinge", "R", "order", label="{order}", theory=("hinge_of_shares", "R"))
    some_left = (cell["R"] < 1) | (cell.order == "one label")  # with no large neuron left the error is a coin's
    series(right, cell.assign(error=cell.error.where(some_left)), "error", "R", "order", label="{order}")
    series(left, cell, "hinge_shortest", "P", label="smallest first", first=3)
    series(right, cell, "error_shortest", "P", label="smallest first", first=3)
    _draw_slide(right, dataset)
    _log_errors(right)
    left.set(xlabel="deleted fraction", ylabel="hinge loss", ylim=(-0.02, 1.02))
    right.set(xlabel="deleted fraction", ylabel="0-1 error", ylim=(3e-4, 0.5))
    legend(right, columns=3)


@drawing(
    "li-pruning-reasons",
    alt=lambda dataset: (
        "Two panels of 0-1 error against the deleted fraction of large neurons, logarithmic. Wide networks stay nearly flat, "
        "those with one cyclic shift above those with three. Networks with 10 or 20 neurons rise steeply, largest first sooner "
        f"than at random, there along the predicted lines. {_slides(dataset)}"
    ),
    caption=(
        "0-1 error out of domain after deleting a fraction <i>R</i> of the large neurons. Left: largest first. Right: at "
        "random; lines: about the whole network's error plus a quarter of the probability that a label loses all its neurons. "
        "Intervals: two standard errors over networks. Thin joined points: the authors' slides, read off by eye."
    ),
    size=(7.6, 4.6),
)
def reasons(figure: Figure, dataset: xr.Dataset) -> None:
    """0-1 error over the deleted fraction in networks that differ in one thing, largest first and at random."""
    panels = figure.subplots(1, 2, sharey=True)
    shown = [name for name in ("A", "r = 1", "r = 1, 60 steps", "m = 20", "m = 10", "m = 10, r = 1") if name in dataset.setting]
    for axes, (_, panel) in zip(panels, each(dataset.sel(setting=shown), "order"), strict=True):
        for k, cell in each(panel, "setting"):
            joined = {"linestyle": LINES[k], "linewidth": 0.7}
            if panel.order == "random":
                line(axes, cell, "error_theory", "R", k)
                joined = {}
            points(axes, cell, "error", cell.R + 0.004 * (k - 2), k, label="{setting}", **joined)
        _draw_slide(axes, dataset)
        _log_errors(axes)
        axes.set(xlabel="deleted fraction $R$", title=panel.order.item(), ylim=(3e-4, 0.6))
    panels[0].set_ylabel("0-1 error")
    legend(panels[0], columns=4)


def _draw_slide(axes: Axes, dataset: xr.Dataset) -> None:
    style = dict(color=mpl.rcParams["text.color"], linewidth=0.6, linestyle=":", label="{plot}")
    for k, plot in each(dataset, "plot"):
        line(axes, plot, "slides_pruned", "deleted_share", marker="x+"[k], **style)


def _log_errors(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


SILENT = {
    "silent_means": "initialisation: silent on the two means",
    "silent_means_theory": "initialisation: silent on the two means, by the formula",
    "silent_inputs": "initialisation: silent on all inputs",
    "silent_inputs_theory": "initialisation: silent on all inputs, by the formula",
    "pushed_means_theory": "end: by the push on the means",
    "pushed_inputs_theory": "end: by the push on all inputs",
    "silent_alone": "end: rows trained one by one",
    "silent": "end: silent, measured",
    "small": "end: small, measured",
}


def silent(dataset: xr.Dataset) -> Table:
    """Return the share of rows that are silent or small, measured and by formula, in setting A, means over networks."""
    means = dataset[[*SILENT]].isel(setting=0, drop=True).mean()
    return Table.by({"variable": "setting A"}, {"share of the rows": means.rename(SILENT).to_dataarray()}, ".3f")


def ends_small(dataset: xr.Dataset) -> Table:
    """Return the share of rows that end small, of all networks, by what makes them active at the initialisation."""
    total = dataset[["rows", "rows_small"]].sum("seed")
    columns = {"rows": total.rows, "share that ends small": total.rows_small / total.rows}
    return Table.by({"kind": "active at the initialisation under"}, columns, {"rows": ".0f", "share that ends small": ".2f"})


def mixed(dataset: xr.Dataset) -> Table:
    """Return the share of prompts that activate rows of both labels beside errors, whole and pruned, means over networks."""
    error = dataset.error.mean("seed")
    columns = {
        "prompts that activate both labels": dataset.mixed.mean("seed"),
        "error, whole": error.sel(R=0, order="random"),
        "40% deleted, largest first": error.sel(R=0.4, order="largest first"),
        "40%, at random": error.sel(R=0.4, order="random"),
    }
    return Table.by({"setting": "setting"}, columns, ".4f")


def by_share(dataset: xr.Dataset) -> Table:
    """Return the error by share of relevant contexts and by what is deleted, mean over networks, beside the vote law."""
    columns = across(dataset.error.mean("seed"), "deleted") | {"vote law": dataset.error_theory}
    return Table.by({"alpha": "α′; deleted: 40%"}, columns, ".4f")
