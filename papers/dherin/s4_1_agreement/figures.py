"""Figures of sections 4.1 and 4.2: the loss with the context and with the patch; patches in deep networks."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icl_lib.companion import LINES, MARKERS, Table, across, drawing, each, line, points, span


def _alt_training(dataset: xr.Dataset) -> str:
    loss, far = dataset.loss.mean("seed"), dataset.difference.max("seed")
    first, second = loss.sel(way="context")[:2]
    double, single = (
        span(each.max("seed").sel(way="patch"), ".0e") for each in (dataset.difference, dataset.difference_single)
    )
    stale, other = far.sel(way="the last mark's patch"), far.sel(way="another task's patch")
    return (
        f"Two panels over training steps. Left: the held-out loss falls from {first:.1f} to {second:.1f} within "
        f"{int(second.step)} steps; crosses for the patch lie on the line for the context; without context and patch the loss "
        f"is {span(loss.sel(way='no patch'), '.1f')}. Right, logarithmic: the largest difference of predictions is {double} in "
        f"float64, {single} in float32; with the patch of the mark before it falls from {stale[1]:.1f} to {stale[-1]:.1g}; "
        f"with another task's patch it is {span(other, '.0f')}."
    )


@drawing(
    "dherin-agreement",
    alt=_alt_training,
    caption=(
        "Left: mean squared error on held-out prompts, mean over three networks. Line: query after its context. Markers: "
        "query alone, <i>W</i> patched and not. Right: largest difference of a prediction to the one with the context, over "
        "all tasks and networks, divided by the root mean square of the predictions."
    ),
    size=(7.6, 3.9),
)
def training(figure: Figure, dataset: xr.Dataset) -> None:
    """Loss over training with the context, with the patch and without; how far the answers are apart."""
    left, right = figure.subplots(1, 2)
    mean = dataset.mean("seed")
    line(left, mean.sel(way="context"), "loss", "step", 0, label="with the context")
    cross = {"marker": "x", "markersize": 7, "linestyle": "none", "label": "patch, no context"}
    line(left, mean.sel(way="patch"), "loss", "step", 1, **cross)
    bare = {"marker": MARKERS[2], "linestyle": LINES[3], "label": "no patch, no context"}
    line(left, mean.sel(way="no patch"), "loss", "step", 2, **bare)
    left.set(xlabel="training step", ylabel="loss", yscale="log", ylim=(0.03, 30))
    left.legend(loc="upper right")
    largest = dataset.max("seed")
    rows = (
        ("another task's patch", "difference", "another task's patch"),
        ("the last mark's patch", "difference", "patch of the mark before"),
        ("patch", "difference_single", "patch, float32"),
        ("patch", "difference", "patch, float64"),
    )
    for k, (way, name, label) in enumerate(rows):
        style = {"color": ("C2", "C3", "C1", "C0")[k], "marker": MARKERS[k], "linewidth": 0.8}
        line(right, largest.sel(way=way), name, "step", k, label=label, **style)
    right.set(xlabel="training step", ylabel="largest difference", yscale="log", ylim=(1e-16, 1e6))
    right.set_yticks(10.0 ** np.arange(-16, 4, 3))
    right.legend(loc="upper right", ncols=2, fontsize=8, columnspacing=0.8)


ANSWERS = {
    "loss_zero": "error of the prediction 0",
    "loss_untrained": "error of the block before training",
    "loss": "error of the block after training",
    "loss_step": "error of one gradient step",
    "step_risk_theory": "the same, by the formula",
    "loss_ols": "error of least squares",
    "distance": "difference of block and step",
}


def plateau(dataset: xr.Dataset) -> Table:
    """Return the errors of each block and of what it is compared with, and how far it is from one gradient step."""
    errors = dataset[[*ANSWERS]].isel(shape=0).rename(ANSWERS).to_dataarray()
    networks = across(errors.assign_coords(seed=errors.seed + 1), "seed", "network {}")
    return Table.by({"variable": "mean square of the"}, networks, ".4f")


def errors(dataset: xr.Dataset) -> Table:
    """Return the errors of the networks of several blocks, with the context and with less to go by."""
    columns = {
        "the network": dataset.loss,
        "one gradient step, formula": dataset.loss_step,
        "no context": dataset.loss_alone,
        "labels of another task": dataset.loss_astray,
    }
    return Table.by({"network": "mean squared error of"}, columns, ".4f")


def _alt_deep(dataset: xr.Dataset) -> str:
    least, apart = dataset["size"].min("block"), dataset.mean_single
    return (
        "Left and middle: median relative size of the patches by block, logarithmic, for four and ten blocks. Patches are "
        f"largest in the first block and in W_down; with depth W_gate and W_up fall to {span(least[:, :2], '.2f')}, W_down "
        f"only to {span(least[:, 2], '.2f')}. Right: mean difference to the prediction with the context; "
        f"{span(apart.sel(way='patch'), '.0e')} with the whole patch, {span(apart[:, 1:], '.1f')} without its second half and "
        "with no patch."
    )


@drawing(
    "dherin-agreement-deep",
    alt=_alt_deep,
    caption=(
        "Left and middle: median over tasks of |patch|/|matrix| (Frobenius) in each block. Right: mean difference to "
        "the prediction with the context, float32, over the root mean square of the predictions. Half patch: "
        "<i>W</i><sub>gate</sub> and <i>W</i><sub>up</sub> only."
    ),
    size=(7.6, 3.6),
)
def deep(figure: Figure, dataset: xr.Dataset) -> None:
    """Size of the patches by block, and how far the answers are apart."""
    *panels, right = figure.subplots(1, 3, width_ratios=(1, 1.3, 1))
    panels[1].sharey(panels[0])
    for axes, name in zip(panels, dataset.network.values, strict=True):
        _draw_sizes(axes, dataset.sel(network=name))
        axes.set_title(name)
    panels[0].set_ylabel("relative patch size")
    panels[0].set_yticks([0.01, 0.03, 0.1, 0.3], ["0.01", "0.03", "0.1", "0.3"])
    panels[0].yaxis.set_minor_formatter(NullFormatter())
    panels[1].legend(loc="upper right")
    place = np.arange(dataset.sizes["way"])
    for k, cell in each(dataset, "network"):
        points(right, cell, "mean_single", place + 0.16 * (k - 0.5), k, color=f"C{k + 3}", label="{network}", markersize=7)
    right.set_xticks(place, ["patch", "half\npatch", "no\npatch"])
    right.set(yscale="log", ylim=(1e-8, 20), xlim=(-0.5, len(place) - 0.5), ylabel="mean difference")
    right.legend(loc="center right")


MATRICES = {"W_gate": r"$W_\mathrm{gate}$", "W_up": r"$W_\mathrm{up}$", "W_down": r"$W_\mathrm{down}$"}


def _draw_sizes(axes: Axes, cell: xr.Dataset) -> None:
    size = cell[["size"]].dropna("block")
    block = np.arange(1, size.sizes["block"] + 1)
    for k, one in each(size, "matrix"):
        line(axes, one, "size", block, k, marker=MARKERS[k], label=MATRICES[one.matrix.item()])
    axes.set(xlabel="block", yscale="log", xticks=block[:: max(1, len(block) // 5)])
