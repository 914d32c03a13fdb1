"""Figures of sequel 2: errors by architecture, size of patches, depth, and the two forms of a patch behind a norm."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from icl_lib.companion import LINES, Table, across, at_most, drawing, each, legend, line, points, span
from papers.dherin.spread import spread

PATCHES = {
    "none": "no patch",
    "neighbour": "patch for the token before",
    "input half": "without the site",
    "epsilon": "ε in the denominator",
    "whole": "the patch",
}
SITES = {
    "vanilla, bias": "vanilla,\nbias",
    "vanilla, matrix": "vanilla,\n$W_{out}$",
    "vanilla, norm bias": "vanilla,\nnorm bias",
    "Gemma, conditioned": "Gemma,\ncond.",
    "experts, each": "experts,\neach",
}
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
FLOOR, ZERO = 1e-17, 0.01
"""Least values drawn on logarithmic axes, of errors and of patch sizes."""


def _alt_errors(dataset: xr.Dataset) -> str:
    mean = spread(dataset, "error", FLOOR).error
    wrong = mean.sel(patch=["input half", "neighbour", "none"])
    return (
        "Relative error of the logits by architecture on a logarithmic axis. With the patch all markers lie at "
        f"{span(mean.sel(patch='whole'), '.0e')}. With an epsilon in the denominator they lie at up to "
        f"{at_most(mean.sel(patch='epsilon').max(), '.0e')}, except for parallel blocks, where nothing changes. Without the "
        f"site, with the patch for the token before, or with no patch they lie at {span(wrong, '.1f')}."
    )


@drawing(
    "dherin-modern-blocks",
    alt=_alt_errors,
    caption=(
        "Largest relative error of the logits over all positions; a network without its context against the same network "
        "with it. Mean over networks on the logarithmic axis, bars from the smallest to the largest. The epsilon of 0.01 "
        "is added to ‖<i>z</i>‖², which is near the width. The bias of a norm has no denominator."
    ),
    size=(7.6, 4.4),
)
def errors(figure: Figure, dataset: xr.Dataset) -> None:
    """Largest error of the logits by architecture, with the patch and with faulty ones."""
    axes, position, mean = figure.subplots(), np.arange(dataset.sizes["architecture"]), spread(dataset, "error", FLOOR)
    for k, (patch, label) in enumerate(PATCHES.items()):
        points(axes, mean.sel(patch=patch), "error", position + 0.13 * (k - 2), k, elinewidth=0.8, label=label)
    axes.set_xticks(position, [SITES.get(name, name) for name in dataset.architecture.values])
    axes.set(yscale="log", ylim=(1e-16, 30), ylabel="relative error of the logits")
    axes.tick_params(axis="x", labelsize=9)
    legend(axes, columns=3)


def _alt_sizes(dataset: xr.Dataset) -> str:
    size = dataset[["size_in", "size_out"]].mean("seed")
    own = size.size_out.reindex(architecture=["vanilla, bias", "Gemma"])
    matrix = size.size_out.reindex(architecture=["Llama", "Gemma, conditioned", "parallel", "experts", "experts, each"])
    reads = size.size_in.reindex(architecture=["vanilla, bias", "Llama", "Gemma", "experts"])
    return (
        f"Two panels of relative patch size against the block, logarithmic. Left, what reads z: {span(reads[:, 0])} in the "
        f"first block and falling, zero at rounding for parallel blocks. Right, the site: {span(matrix)} where a "
        f"matrix takes up the difference, {span(own)} for a bias and for Gemma's gain."
    )


@drawing(
    "dherin-patch-sizes",
    alt=_alt_sizes,
    caption=(
        "Frobenius norm of the change over that of the changed weights, median over positions; mean over networks with "
        "Student's intervals. Left: the matrices that read <i>z</i>. Right: the site that takes up "
        "<i>v<sub>C</sub></i> − <i>v</i>. Biases are small initially (0.1), so that their ratio is large."
    ),
    size=(7.6, 4.6),
)
def sizes(figure: Figure, dataset: xr.Dataset) -> None:
    """Size of the change over that of the weights, block by block: what reads z, and the site."""
    left, right = figure.subplots(1, 2)
    chosen = ["vanilla, bias", "Llama", "Gemma", "Gemma, conditioned", "parallel", "experts", "experts, each"]
    block = np.arange(1, dataset.sizes["block"] + 1)
    there = dataset.sel(architecture=[name for name in chosen if name in dataset.architecture.values])
    for k, cell in each(there, "architecture"):
        style = {"linestyle": LINES[k], "linewidth": 0.7, "elinewidth": 0.8, "label": "{architecture}", "clip_on": False}
        points(left, cell.clip(ZERO), "size_in", block, k, **style)
        points(right, cell.clip(FLOOR), "size_out", block, k, **style)
    left.set(yscale="log", xlabel="block", ylabel="size of the patch", title="what reads $z$", ylim=(ZERO, 0.3))
    right.set(yscale="log", xlabel="block", title="the site")
    for axes, ticks in ((left, [0.01, 0.03, 0.1, 0.3]), (right, [0.1, 0.3, 1, 3, 10])):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    left.text(0.5, 0.04, "parallel: below $10^{-15}$", transform=left.transAxes, ha="center", fontsize=9)
    legend(left, columns=4)


def _alt_depth(dataset: xr.Dataset) -> str:
    mean = spread(dataset.isel(architecture=0), "error", FLOOR).error
    first, last = ({str(each.patched.item()): float(each) for each in mean.isel(depth=end)} for end in (0, -1))
    flat = mean.sel(patched=["all blocks", "last block"])
    from_to = {name: f"from {first[name]:.1g} to {last[name]:.1g}" for name in ("all, epsilon", "all but the last")}
    return (
        f"Relative error of the logits against the depth, {span(mean.depth, 'g')}, both axes logarithmic. With patches in all "
        f"blocks, and with a patch in the last block only, it is flat, {span(flat, '.0e')}. With an epsilon it falls "
        f"{from_to['all, epsilon']}. With patches in all blocks but the last it falls {from_to['all but the last']}, without "
        f"patches it is {first['none']:.2g} at first and {last['none']:.2g} at last."
    )


@drawing(
    "dherin-depth",
    alt=_alt_depth,
    caption=(
        "Llama-style networks without their context. Largest relative error of the logits over positions; mean over "
        "networks, bars from the smallest to the largest. The last block's patch takes up what the blocks below left wrong."
    ),
    size=(7.0, 4.2),
)
def depth(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of the logits over the depth, for every choice of patched blocks."""
    axes, mean = figure.subplots(), spread(dataset.isel(architecture=0), "error", FLOOR)
    for k, name in enumerate(("none", "all but the last", "all, epsilon", "last block", "all blocks")):
        label = {"none": "no block", "all, epsilon": "all, ε in the denominator"}.get(name, name)
        style = {"linestyle": LINES[k], "linewidth": 0.6, "elinewidth": 0.8, "label": label}
        points(axes, mean.sel(patched=name), "error", mean.depth * (1 + 0.025 * (k - 2)), k, **style)
    axes.set(xscale="log", yscale="log", xlabel="number of blocks", ylabel="relative error of the logits", ylim=(1e-16, 30))
    axes.set_xticks(dataset.depth.values, [str(L) for L in dataset.depth.values])
    axes.minorticks_off()
    legend(axes, columns=3, title="patched blocks")


def _alt_gemma(dataset: xr.Dataset) -> str:
    published, conditioned = (dataset.change.sel(form=form) for form in ("published", "conditioned"))
    ahead = spread(dataset, "median", FLOOR)["median"].sel(made="ahead", precision=["float32", "bfloat16"])
    return (
        f"Three panels. Left: largest relative change of the gain, {span(published, ',.0f')} for the published form and "
        f"{span(conditioned, '.1f')} for the well-conditioned one. Middle: share of large entries falls like 1/τ, markers on "
        "the line. Right: error of the logits by precision; made in place both forms agree; made ahead the published form "
        "errs by {:.0e} in float32 and by {:.1f} in bfloat16, the conditioned one by {:.0e} and {:.2f}.".format(
            *ahead.values.ravel()
        )
    )


@drawing(
    "dherin-gemma",
    alt=_alt_gemma,
    caption=(
        "Left: largest relative change of a gain over blocks and positions, each marker a network. Middle: share of "
        "entries of (<i>v<sub>C</sub></i> − <i>v</i>)/<i>n</i> beyond <i>τ</i>; line: from the density of <i>n</i> at 0. "
        "Right: median error of the logits over positions. Filled: patches made by the computation that uses them; open: "
        "made in float64, then rounded. Crosses: the precision's own error with the context in view."
    ),
    size=(7.6, 4.0),
)
def gemma(figure: Figure, dataset: xr.Dataset) -> None:
    """Change of the gain in both forms; error by precision, patches made in place and ahead."""
    left, middle, right = figure.subplots(1, 3, width_ratios=(0.8, 1, 1.5))
    ink, position = mpl.rcParams["text.color"], np.arange(dataset.sizes["precision"])
    for k, cell in each(dataset[["change"]].rename(seed="network"), "form"):
        points(left, cell, "change", k + np.linspace(-0.15, 0.15, cell.sizes["network"]), k)
    left.set(yscale="log", ylabel="largest $|\\Delta m/m|$", xlim=(-0.6, 1.6), ylim=(0.1, 5 * float(dataset.change.max())))
    left.set_xticks([0, 1], ["published", "conditioned"])
    line(middle, dataset, "beyond_theory", "x", color=ink)
    points(middle, dataset, "beyond", "x")
    middle.set(xscale="log", yscale="log", xlabel=r"$\tau$", ylabel=r"share beyond $\tau$")
    middle.set_xticks(dataset.x.values, [f"{x:g}" for x in dataset.x.values])
    middle.set_yticks(ticks := [t for t in SHARES if t >= 0.8 * float(dataset.beyond.min())], [f"{t:g}" for t in ticks])
    middle.minorticks_off()
    for k, cell in each(spread(dataset, "median", FLOOR), "form"):
        for made, fill in (("in place", "full"), ("ahead", "none")):
            style = {"elinewidth": 0.8, "fillstyle": fill, "label": "{form}, {made}"}
            points(right, cell.sel(made=made), "median", position + 0.16 * (k - 0.5), k, **style)
    points(right, dataset[["floor"]].mean("seed").clip(FLOOR), "floor", position, color=ink, marker="x", label="own error")
    right.set(yscale="log", ylabel="median error of the logits", ylim=(1e-16, 30), xlim=(-0.5, len(position) - 0.5))
    right.set_xticks(position, dataset.precision.values)
    legend(right, columns=3)


def agreement(dataset: xr.Dataset) -> Table:
    """Return the share of tokens that are those of the full network, by precision, form of the patch and where it was made."""
    share = dataset.agreement.mean("seed")
    columns = [across(share.sel(form=form), "made", f"{form}, {{}}") for form in share.form.values]
    return Table.by({"precision": "precision"}, {title: one for each in columns for title, one in each.items()}, ".3f")


@drawing(
    "dherin-w-down-alone",
    alt=lambda dataset: (
        "Error of the feed-forward output with the right stream coming in. Three changes of W_down alone leave "
        f"{span(dataset.miss.mean('seed'))} of it; a line marks the least that any change can leave, at the first marker."
    ),
    caption=(
        "Error over the output that is asked for, median over blocks and positions, when <i>W</i><sub>down</sub> alone is "
        "changed: towards the nearest output within reach, in the right direction, and as if there were no norm. Dashed: "
        "the least that any change of <i>W</i><sub>down</sub> leaves. Intervals: Student's over networks."
    ),
    size=(5.4, 3.4),
)
def alone(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of a block behind a norm when W_down alone is changed."""
    axes = figure.subplots()
    points(axes, dataset, "miss", range(3))
    axes.axhline(float(dataset.miss_least.mean()), color=mpl.rcParams["text.color"], linestyle="--", linewidth=1)
    axes.set_xticks(range(3), ["nearest", "right direction", "no norm assumed"])
    axes.set(xlim=(-0.5, 2.5), ylim=(0, 1.3 * float(dataset.miss.max())), ylabel="error of the output")
