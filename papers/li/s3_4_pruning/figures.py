"""Figures of section 3.4: two groups of neurons, and what deleting them costs."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, StrMethodFormatter

from icl_lib.companion.figure import LINES, drawing, points_over_seeds
from papers.li.series import series

SLIDE_SHARE = (0.0, 0.05, 0.10, 0.16, 0.20, 0.25, 0.30, 0.35, 0.40)
SLIDE_ERROR = {
    "slide, by magnitude": (7e-3, 5.3e-3, 5.8e-3, 6.3e-3, 8.5e-3, 1.1e-2, 1.8e-2, 2.3e-2, 3e-2),
    "slide, random": (7e-3, 8e-3, 1.1e-2, 1.5e-2, 1.8e-2, 2.6e-2, 2.9e-2, 3.8e-2, 4.5e-2),
}
"""0-1 error out of domain in the authors' slides over the share of deleted neurons, read off a plot by eye (about 10%)."""


@drawing(
    "li-magnitudes",
    alt=(
        "Three panels. Top left: sorted row lengths over the longest; about an eighth is short, then a jump to a long "
        "plateau, while a long start gives one group without a jump. Top right: against steps, short rows come to rest "
        "around step 40, when attention rises and the long rows grow. Bottom: shares of short and silent rows by setting."
    ),
    caption=(
        "Top left: lengths of the rows of <i>W<sub>O</sub></i>, sorted, over the longest; mean over networks. Dashed: "
        "ξ√<i>m<sub>b</sub></i>, the length at the start in setting A. Top right: setting A in time: share of the short "
        "rows that do not move any more, attention on the query's pattern, mean length of the long rows over the final "
        "one. Bottom: share of short rows, and of rows that next to no prompt activates. Lines: the latter for rows "
        "trained one by one while attention rests. Intervals: two standard errors over networks."
    ),
    size=(7.6, 6.2),
)
def magnitudes(figure: Figure, dataset: xr.Dataset) -> None:
    """Sorted lengths of the rows of W_O; when short rows come to rest; short and silent rows in each setting."""
    panels = figure.subplot_mosaic([["lengths", "time"], ["settings", "settings"]], height_ratios=(1.2, 1))
    _draw_lengths(panels["lengths"], dataset)
    _draw_time(panels["time"], dataset)
    axes, position = panels["settings"], np.arange(dataset.sizes["setting"])
    points_over_seeds(axes, position - 0.12, dataset.small, 0, label="short")
    points_over_seeds(axes, position + 0.12, dataset.silent, 1, label="silent")
    axes.hlines(dataset.silent_alone, position - 0.3, position + 0.3, color="C2", label="silent, trained one by one")
    axes.set_xticks(position, dataset.setting.values)
    top = 1.6 * float(dataset.small.mean("seed").max())
    axes.set(ylim=(-0.01, top), xlim=(-0.6, len(position) - 0.4), ylabel="share of the rows")
    axes.legend(loc="upper left", ncols=3)


def _draw_lengths(axes: Axes, dataset: xr.Dataset) -> None:
    share = (np.arange(dataset.sizes["row"]) + 0.5) / dataset.sizes["row"]
    for k, group in enumerate(dataset.group.values):
        rows = dataset.length.sel(group=group)
        relative = (rows / rows.isel(row=-1)).isel(row=slice(None, None, 2))
        points_over_seeds(axes, share[::2], relative, k, label=group, markersize=3)
    longest = float(dataset.length.isel(group=0, row=-1).mean())
    axes.axhline(float(dataset.start_size[0]) / longest, color=mpl.rcParams["text.color"], linestyle="--", linewidth=0.9)
    axes.set(xlabel="rows, sorted (share)", ylabel="length over the longest", ylim=(0, 1.05))
    axes.legend(loc="lower right")


def _draw_time(axes: Axes, dataset: xr.Dataset) -> None:
    length = dataset.long_size / dataset.long_size.isel(step=-1).mean()
    shown = {"short rows at rest": dataset.at_rest, "attention": dataset.mass, "long rows, length": length}
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
        "Two panels against the deleted share. Left: hinge loss is flat up to about 0.3, then rises in a straight line to "
        "1; deleting one label only costs half as much; measured markers lie on the predicted lines. Right: 0-1 error on a "
        "logarithmic axis; our markers stay flat near 0.001 up to 0.6 while the slide's points rise from 0.007 to 0.045."
    ),
    caption=(
        "Out of domain, S<sub>1</sub> = 1.1, α′ = 0.6, <i>l</i> = 20. Left: hinge loss over the deleted fraction "
        "<i>R</i> of the large neurons (for one label: of its own). Lines: <i>E</i> max(0, 1 − <i>s z F</i>) from the "
        "whole network and the weights. Markers: measured, two standard errors over networks. Right: 0-1 error. Smallest "
        "first counts all neurons. Thin joined points: the authors' slides, read off by eye (about 10%)."
    ),
    size=(7.6, 3.9),
)
def pruning(figure: Figure, dataset: xr.Dataset) -> None:
    """Hinge loss and 0-1 error over the deleted fraction, with the prediction and the slide's points."""
    left, right = figure.subplots(1, 2)
    cell = dataset.sel(domain="out of domain")
    for k, order in enumerate(dataset.order.values):
        predicted = cell.hinge_of_shares.sel(order=order).mean("seed")
        series(left, cell.R, cell.hinge.sel(order=order), k, order, predicted)
    left.set(xlabel="deleted fraction $R$", ylabel="hinge loss", ylim=(0, 1.02))
    left.legend(loc="upper left")
    for k, order in enumerate(dataset.order.values[:2]):
        points_over_seeds(right, cell.R[:-1], cell.error.sel(order=order).isel(R=slice(0, -1)), k, label=order)
    points_over_seeds(right, cell.P, cell.error_shortest, 3, label="smallest first")
    _slide(right)
    _log_errors(right)
    right.set(xlabel="deleted share", ylabel="0-1 error", ylim=(3e-4, 0.3))
    right.legend(loc="upper right", fontsize=8.5)


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
    for marker, (label, error) in zip("12", SLIDE_ERROR.items(), strict=True):
        axes.plot(
            SLIDE_SHARE, error, color=mpl.rcParams["text.color"], marker=marker, linewidth=0.6, linestyle=":", label=label
        )


def _log_errors(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
