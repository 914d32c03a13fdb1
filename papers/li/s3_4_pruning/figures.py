"""Figures of section 3.4: two groups of neurons, and what deleting them costs."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, StrMethodFormatter

from icl_lib.companion.figure import LINES, drawing, points_over_seeds
from papers.li.published import PRUNED, PRUNED_SHARES
from papers.li.series import series

GROUPS = {"A": "setting A", "ξ = 1/√m": "long start, ξ = 1/√m"}
"""Names of the two groups in the legend."""


@drawing(
    "li-magnitudes",
    alt=(
        "Three panels. Top left: sorted row lengths over the longest; about an eighth is short, then a jump to a long "
        "plateau, while a long start gives one group without a jump. Top right: against steps, short rows come to rest "
        "around step 40, when attention rises and the long rows grow. Bottom: shares of short and silent rows by setting."
    ),
    caption=(
        "Top left: lengths of the neurons, rows of <i>W<sub>O</sub></i>, sorted, over the longest; mean over networks. Dashed: "
        "ξ√<i>m<sub>b</sub></i>, the length at the start in setting A. Top right: setting A in time: share of the small "
        "neurons that do not move any more, attention on the query's pattern, mean length of the large neurons over the final "
        "one. Bottom: share of small neurons, and of silent ones, which next to no prompt activates, in settings that differ "
        "from A in the one thing named (<i>r</i>: shifts of the training tasks; B: another length of patterns and label). "
        "Lines: silent neurons trained one by one while attention rests. Intervals: two standard errors over networks."
    ),
    size=(7.6, 6.2),
)
def magnitudes(figure: Figure, dataset: xr.Dataset) -> None:
    """Sorted lengths of the rows of W_O; when short rows come to rest; short and silent rows in each setting."""
    panels = figure.subplot_mosaic([["lengths", "time"], ["settings", "settings"]], height_ratios=(1.2, 1))
    _draw_lengths(panels["lengths"], dataset)
    _draw_time(panels["time"], dataset)
    axes, position = panels["settings"], np.arange(dataset.sizes["setting"])
    points_over_seeds(axes, position - 0.12, dataset.small, 0, label="small")
    points_over_seeds(axes, position + 0.12, dataset.silent, 1, label="silent")
    axes.hlines(dataset.silent_alone, position - 0.3, position + 0.3, color="C2", label="silent, trained one by one")
    axes.set_xticks(position, [name.replace(" = ", " =\n") for name in dataset.setting.values])
    top = 1.6 * float(dataset.small.mean("seed").max())
    axes.set(ylim=(-0.01, top), xlim=(-0.6, len(position) - 0.4), ylabel="share of the neurons")
    axes.legend(loc="upper left", ncols=3)


def _draw_lengths(axes: Axes, dataset: xr.Dataset) -> None:
    share = (np.arange(dataset.sizes["row"]) + 0.5) / dataset.sizes["row"]
    for k, group in enumerate(dataset.group.values):
        rows = dataset.length.sel(group=group)
        relative = (rows / rows.isel(row=-1)).isel(row=slice(None, None, 2))
        points_over_seeds(axes, share[::2], relative, k, label=GROUPS.get(group, group), markersize=3)
    longest = float(dataset.length.isel(group=0, row=-1).mean())
    axes.axhline(float(dataset.start_size[0]) / longest, color=mpl.rcParams["text.color"], linestyle="--", linewidth=0.9)
    axes.set(xlabel="neurons, sorted (share)", ylabel="length over the longest", ylim=(0, 1.05))
    axes.legend(loc="lower right")


def _draw_time(axes: Axes, dataset: xr.Dataset) -> None:
    length = dataset.long_size / dataset.long_size.isel(step=-1).mean()
    shown = {"small neurons at rest": dataset.at_rest, "attention": dataset.mass, "large neurons, length": length}
    for k, (label, values) in enumerate(shown.items()):
        series(axes, dataset.step, values, k, label)
    axes.set_xscale("symlog", linthresh=20)
    axes.xaxis.set_major_locator(FixedLocator([0, 20, 50, 100, 400]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set(xlabel="step", ylabel="share", ylim=(0, 1.05))
    axes.legend(loc="upper left", fontsize=8.5)


@drawing(
    "li-pruning",
    alt=(
        "Two panels against the deleted fraction. Left: hinge loss is flat up to about 0.3, then rises in a straight "
        "line to 1 for the largest first and at random; with the smallest first it rises later, and deleting one label only "
        "costs half as much. Right: 0-1 error on a logarithmic axis; our markers stay flat near 0.001 while the slides' points "
        "rise from 0.007 to 0.045; without one label the error ends at a quarter."
    ),
    caption=(
        "What deleting neurons costs, out of domain: <i>S</i><sub>1</sub> = 1.1, α′ = 0.6, <i>l</i> = 20. Deleted is a "
        "fraction of the large neurons (largest first, or at random), of the large neurons of one label, or of all neurons "
        "(smallest first). Markers: measured, two standard errors over networks. Thick lines, left: predicted from the whole "
        "network and its weights; the thin line joins markers. Right, small crosses: the authors' slides, read off by eye "
        "(about 10%). A network that has lost all neurons of one label errs on a quarter; where some have, bars are long."
    ),
    size=(7.6, 4.3),
)
def pruning(figure: Figure, dataset: xr.Dataset) -> None:
    """Hinge loss and 0-1 error over the deleted fraction, with the prediction and the slides' points."""
    left, right = figure.subplots(1, 2)
    cell = dataset.sel(domain="out of domain")
    for k, order in enumerate(dataset.order.values):
        by_R = cell.sel(order=order)
        series(left, cell.R, by_R.hinge, k, order, by_R.hinge_of_shares.mean("seed"))
        kept = slice(None) if order == "one label" else slice(0, -1)  # with no large neuron left the error is a coin's
        series(right, cell.R[kept], by_R.error.isel(R=kept), k, order)
    series(left, cell.P, cell.hinge_shortest, 3, "smallest first")
    series(right, cell.P, cell.error_shortest, 3, "smallest first")
    _slide(right)
    _log_errors(right)
    left.set(xlabel="deleted fraction", ylabel="hinge loss", ylim=(-0.02, 1.02))
    right.set(xlabel="deleted fraction", ylabel="0-1 error", ylim=(3e-4, 0.5))
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)


@drawing(
    "li-pruning-reasons",
    alt=(
        "Two panels of 0-1 error against the deleted fraction of large neurons, logarithmic. Wide networks stay flat, "
        "those with one cyclic shift near 0.02. Networks with 10 or 20 neurons rise steeply from a fraction between 0.3 "
        "and 0.6 on; at random, the measured rise follows the predicted lines. The slide's points lie between."
    ),
    caption=(
        "0-1 error out of domain after deleting a fraction <i>R</i> of the large neurons. Left: largest first. Right: at "
        "random; lines: whole network's error plus a quarter of the probability that a label loses all its neurons. "
        "Intervals: two standard errors over networks. Thin joined points: the authors' slides, read off by eye."
    ),
    size=(7.6, 4.6),
)
def reasons(figure: Figure, dataset: xr.Dataset) -> None:
    """0-1 error over the deleted fraction in networks that differ in one thing, largest first and at random."""
    panels = figure.subplots(1, 2, sharey=True)
    shown = [name for name in ("A", "r = 1", "r = 1, 60 steps", "m = 20", "m = 10", "m = 10, r = 1") if name in dataset.setting]
    for axes, order in zip(panels, dataset.order.values, strict=True):
        for k, name in enumerate(shown):
            cell = dataset.sel(setting=name, order=order)
            if order == "random":
                axes.plot(cell.R, cell.error_theory.mean("seed"), color=f"C{k}", linestyle=LINES[k])
            joined = {"linestyle": LINES[k], "linewidth": 0.7} if order != "random" else {}
            points_over_seeds(axes, cell.R + 0.004 * (k - 2), cell.error, k, label=name, **joined)
        _slide(axes)
        _log_errors(axes)
        axes.set(xlabel="deleted fraction $R$", title=order, ylim=(3e-4, 0.6))
    panels[0].set_ylabel("0-1 error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def _slide(axes: Axes) -> None:
    for marker, (label, error) in zip("12", PRUNED.items(), strict=True):
        axes.plot(
            PRUNED_SHARES, error, color=mpl.rcParams["text.color"], marker=marker, linewidth=0.6, linestyle=":", label=label
        )


def _log_errors(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
