"""Figures of section 2: the rank-1 update, its exactness, and what it is worth elsewhere."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from icl_lib.companion import LINES, MARKERS, drawing, each, entry, equality, legend, line, points, span

ROUNDING = 3e-17
"""Errors of exactly 0 are drawn here."""


def _alt_identity(dataset: xr.Dataset) -> str:
    middle = _shown(dataset[["error", "error_bare"]].isel(mlp=0, size=slice(1, None))).median("network")
    first, last = (middle.error_bare.isel(size=place) for place in (0, -1))
    starts = ", ".join(f"{name} at {float(first.sel(layer=name)):.0e}" for name in first.layer.values)
    words = (
        "Relative error of the block's output on a logarithmic axis against the share of the context that is left out. "
        f"Filled markers, with the update: all layers stay near {float(middle.error.median()):.0e} at every share. "
        f"Open markers, without it: for one token {starts}; for all of them {span(last, '.1f')}."
    )
    return words.replace("e-0", "e-")


@drawing(
    "dherin-identity",
    alt=_alt_identity,
    caption=(
        "Relative error of the output when a random part <i>Y</i> of the context is left out: median over random blocks. "
        "Filled: with Δ<i>W</i>(<i>Y</i>). Open: without. Whiskers reach up to the largest error. Recurrent "
        "layers forget most tokens, so leaving out a single one often changes nothing: without the update as with it."
    ),
    size=(7.2, 4.2),
)
def identity(figure: Figure, dataset: xr.Dataset) -> None:
    """Relative error with the update and without against the share of the context in Y, four layers."""
    axes = figure.subplots()
    for k, cell in each(_shown(dataset.isel(mlp=0, size=slice(1, None))), "layer"):
        place, middle = cell.share * (1 + 0.05 * (k - 1.5)), cell.median("network")
        line(axes, middle, "error_bare", place, k, marker=MARKERS[k], markerfacecolor="none", linewidth=0.8)
        middle = middle.assign(error_low=middle.error, error_high=cell.error.max("network"))
        points(axes, middle, "error", place, k, elinewidth=0.8, label="{layer}")
    axes.set(xscale="log", yscale="log", ylim=(1e-17, 30), xlabel="share of the context in $Y$", ylabel="relative error")
    axes.text(0.02, 0.93, "without the update", transform=axes.transAxes)
    axes.text(0.02, 0.22, "with the update", transform=axes.transAxes)
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.42))


@drawing(
    "dherin-rank-one",
    alt=(
        "A heat map of a tall matrix. Every row shows the same pattern of stripes, stronger or weaker or with its sign "
        "turned. Left of it the column vector as bars, above it the row vector as bars: each entry of the matrix is the "
        "product of the two bars beside it."
    ),
    caption=(
        "Δ<i>W</i>(<i>C</i>) of one random block (colour) is the column <i>W</i>Δ<i>A</i> (left) times the row "
        "<i>A</i>(<i>x</i>)<sup>T</sup>/‖<i>A</i>(<i>x</i>)‖² (top). Every row is a multiple of the same row. "
        "What the row direction is, only <i>A</i>(<i>x</i>) decides; the context decides the column."
    ),
    size=(4.6, 4.6),
)
def rank_one(figure: Figure, dataset: xr.Dataset) -> None:
    """The update of one block as a matrix, its column on the left and its row on top."""
    grid = figure.add_gridspec(2, 3, width_ratios=(1, 4, 0.15), height_ratios=(1.2, 4))
    centre, left, top = (figure.add_subplot(grid[place]) for place in ((1, 1), (1, 0), (0, 1)))
    matrix = dataset.example.values
    most = np.abs(matrix).max()
    image = centre.imshow(matrix, aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest", rasterized=True)
    rows, columns = (np.arange(size) for size in matrix.shape)
    left.barh(rows, dataset.example_column, height=1, color="C0")
    left.set(ylim=(len(rows) - 0.5, -0.5), xlabel=r"$W\Delta A$", ylabel="row of $W$ (neuron)")
    top.bar(columns, dataset.example_row, width=1, color="C1")
    top.set(xlim=(-0.5, len(columns) - 0.5), ylabel=r"$A(x)/\|A(x)\|^2$")
    top.tick_params(labelbottom=False)
    centre.set(xlabel="column of $W$ (entry of $A$)")
    centre.tick_params(labelleft=False)
    for axes in (centre, left, top):
        axes.grid(False)
    figure.colorbar(image, cax=figure.add_subplot(grid[1, 2], label="<colorbar>"), label=r"entry of $\Delta W(C)$")


def _alt_conditioning(dataset: xr.Dataset) -> str:
    middle = dataset.median("network")
    double, single = (span(middle[name], ".0e") for name in ("error", "error_single"))
    return (
        f"Two panels against the length of A(x), from about {middle.length[0]:.0f} down to {middle.length[-1]:.0e}, both axes "
        f"logarithmic. Left: relative error. Float64 stays at {double} and float32 at {single}; with 1e-8 in the denominator "
        f"the error climbs to {middle.error_epsilon.max():.1f}; with A(x) nudged by 1e-6 it climbs in a straight line to "
        f"{middle.error_nudged.max():.1f}. Right: the update's norm grows as one over the length along a predicted line; with "
        "1e-8 in the denominator it turns and falls."
    )


@drawing(
    "dherin-conditioning",
    alt=_alt_conditioning,
    caption=(
        "The query is shrunk, and with it <i>A</i>(<i>x</i>); <i>Y</i> = <i>C</i>. Left: relative error of the block with "
        "Δ<i>W</i>, medians over random blocks, in float64 and float32, with ε = 10<sup>−8</sup> added to "
        "‖<i>A</i>(<i>x</i>)‖², and when <i>A</i>(<i>x</i>) is moved by 10<sup>−6</sup>. Right: norm of Δ<i>W</i>; line: "
        "‖<i>W</i>Δ<i>A</i>‖/‖<i>A</i>(<i>x</i>)‖. From right to left the vector gets smaller."
    ),
    size=(7.6, 3.9),
)
def conditioning(figure: Figure, dataset: xr.Dataset) -> None:
    """Error and size of the update against |A(x)|."""
    left, right = figure.subplots(1, 2)
    middle = _shown(dataset.median("network"))
    errors = (("error", "float64"), ("error_single", "float32"), ("error_epsilon", "with ε"), ("error_nudged", "nudged"))
    for k, (name, label) in enumerate(errors):
        line(left, middle, name, "length", k, marker=MARKERS[k], linewidth=0.8, label=label)
    line(right, middle, "norm_theory", "length", 0)
    points(right, middle, "norm", "length", 0)
    entry(right, r"$\Delta W$", 0)
    line(right, middle, "norm_epsilon", "length", 2, marker=MARKERS[2], linewidth=0.8, label="with ε")
    left.set(xscale="log", yscale="log", ylim=(1e-17, 1e3), xlabel=r"$\|A(x)\|$", ylabel="relative error")
    right.set(xscale="log", yscale="log", xlabel=r"$\|A(x)\|$", ylabel=r"$\|\Delta W\|$")
    left.legend(loc="upper right", ncols=2)
    right.legend(loc="upper right")


@drawing(
    "dherin-other-sites",
    alt=lambda dataset: (
        "Relative error on a logarithmic axis for six places: W, b, W_out, b_out, W_O and W_V. All markers lie at "
        f"{span(_shown(dataset[['error']].max('network')).error, '.0e')}. Lines far above show the error without any patch."
    ),
    caption=(
        "Largest relative error over random blocks when the context is put into one place alone; marker by the size of "
        "<i>Y</i>. <i>W</i>, <i>b</i>: first layer of the MLP. <i>W</i><sub>out</sub>, <i>b</i><sub>out</sub>: its last. "
        "<i>W</i><sub>O</sub>, <i>W</i><sub>V</sub>: attention. Lines: median error without a patch."
    ),
    size=(6.8, 3.8),
)
def other_sites(figure: Figure, dataset: xr.Dataset) -> None:
    """Error with the context put into six places of the block, and without."""
    axes = figure.subplots()
    place = np.arange(dataset.sizes["site"])
    for k, cell in each(dataset, "size"):
        axes.axhline(float(cell.error_bare.median()), color=f"C{k}", linestyle=LINES[k + 1], linewidth=0.9)
        beside = place + 0.12 * (k - (dataset.sizes["size"] - 1) / 2)
        points(axes, _shown(cell.max("network")), "error", beside, k, label="|Y| = {size}")
    names = {"W_out": r"$W_\mathrm{out}$", "b_out": r"$b_\mathrm{out}$", "W_O": "$W_O$", "W_V": "$W_V$", "W": "$W$", "b": "$b$"}
    axes.set_xticks(place, [names[name] for name in dataset.site.values])
    axes.set(yscale="log", ylim=(1e-17, 30), ylabel="relative error")
    axes.legend(loc="center right")
    axes.text(0.02, 0.6, "lines: without a patch", transform=axes.transAxes)


def _alt_query_dependence(dataset: xr.Dataset) -> str:
    miss = dataset.miss.where(dataset.pairs >= 5)
    trained, drawn = miss.where(abs(dataset.cosine_bin) < 0.1).mean(("replicate", "cosine_bin"))
    bare = dataset.miss_bare.mean("replicate")
    return (
        "Two panels against the cosine between the updates of two queries, from -1 to 1. Left: share of the pairs; peaks "
        "near 0 and near 1, as the line for random directions predicts, and a few negative ones. Right: error of the "
        f"prediction with the other query's update, log scale: at cosine 0 about {trained:.1f} in trained networks and "
        f"{drawn:.1f} in random ones (without an update {bare[0]:.1f} and {bare[1]:.1f}); {span(miss[..., -1], '.1f')} near 1."
    )


@drawing(
    "dherin-query-dependence",
    alt=_alt_query_dependence,
    caption=(
        "Pairs of queries under one context, <i>Y</i> = <i>C</i>. Left: cosine between their updates (Frobenius); line: "
        "distribution of cos² of two random directions in <b>R</b><sup>d</sup>. Right: "
        "relative error of the prediction when a query gets the other's update, the worse of the two. Each marker "
        "is the median over the pairs of a bin in one network. Dashed and dotted: no update at all, again the worse of the "
        "two, over all pairs (trained and random)."
    ),
    size=(7.6, 3.8),
)
def query_dependence(figure: Figure, dataset: xr.Dataset) -> None:
    """How alike the updates of two queries are, and what one does to the other."""
    left, right = figure.subplots(1, 2)
    for k, cell in each(dataset, "kind"):
        share = cell.pairs.sum("replicate") / cell.pairs.sum()
        points(left, cell.assign(share=share), "share", "cosine_bin", k)
        entry(left, cell.kind.item(), k)
        for _, network in each(cell[["miss"]].where(cell.pairs >= 5), "replicate"):
            points(right, network, "miss", network.cosine_bin + 0.015 * (2 * k - 1), k, markersize=3.5)
        right.axhline(float(cell.miss_bare.mean()), color=f"C{k}", linestyle=LINES[1 + 2 * k], linewidth=0.9)
    seen = dataset.isel(cosine_bin=(dataset.share_theory > 0).values)
    line(left, seen, "share_theory", "cosine_bin", color=mpl.rcParams["text.color"], label="cos² at random")
    left.set(xlabel="cosine of two updates", ylabel="share of the pairs", ylim=(0, None))
    right.set(yscale="log", xlim=(-1.05, 1.05), xlabel="cosine of two updates", ylabel="relative error, swapped")
    right.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    right.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    right.yaxis.set_minor_formatter(NullFormatter())
    left.legend(loc="upper left")


def _joint_errors(dataset: xr.Dataset) -> xr.Dataset:
    return np.exp(np.log(_shown(dataset[["error"]])).mean("replicate"))


def _alt_joint(dataset: xr.Dataset) -> str:
    beyond = _joint_errors(dataset).error.where(dataset.rank_theory < dataset.K)
    jumps = [f"to {least:.1g} beyond {rank}" for least, rank in zip(beyond.min("K"), dataset.rank_theory.values, strict=True)]
    words = (
        "Largest relative error of one patch over K queries against K, both axes logarithmic. It begins at rounding and "
        f"jumps: in trained networks {jumps[0]}, in random ones {jumps[1]}, for labelled queries {jumps[2]}, with half of the "
        f"context kept {jumps[3]}, for a tanh RNN {jumps[4]}. Vertical lines mark the predicted ranks."
    )
    return words.replace("e-0", "e-")


@drawing(
    "dherin-joint-patch",
    alt=_alt_joint,
    caption=(
        "One least-squares patch for <i>K</i> queries: largest relative error over the queries, mean over three networks "
        "on the logarithmic scale. Vertical lines: rank of the vectors that <i>W</i> reads, by counting. Up to it a "
        "joint patch exists. Just before the ranks 24 and 32 these vectors are nearly dependent, and rounding is magnified."
    ),
    size=(7.4, 4.3),
)
def joint_patch(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of one patch for K queries against K, with the rank of what W reads."""
    axes = figure.subplots()
    for k, mean in each(_joint_errors(dataset), "case"):
        line(axes, mean, "error", "K", k, marker=MARKERS[k], linewidth=0.9, label="{case}")
    for rank in np.unique(dataset.rank_theory):
        axes.axvline(rank, color=mpl.rcParams["text.color"], linestyle=LINES[3], linewidth=0.8)
    axes.set(xscale="log", yscale="log", ylim=(3e-17, 30), xlabel="number of queries $K$", ylabel="largest relative error")
    axes.set_xticks([1, 2, 3, 5, 10, 24, 32, 100], ["1", "2", "3", "5", "10", "24", "32", "100"])
    axes.xaxis.set_minor_formatter(NullFormatter())
    legend(axes, columns=3)


@drawing(
    "dherin-gradient-step",
    alt=(
        "Block output against the prediction after one gradient step. Circles, the block with context, and crosses, the "
        "block without context but with the update, lie on the diagonal. Squares, with the query in its own sum, scatter "
        "around it."
    ),
    caption=(
        "Each random block drawn has three markers. The line is (<i>w</i><sub>0</sub> − η∇<i>L</i>)·<i>q</i>. Circles: linear "
        "attention to the context with a residual. Crosses: the query alone, with Δ<i>W</i>(<i>C</i>). Squares: the query "
        "attends to itself, too, which adds −η‖<i>q</i>‖² <i>w</i><sub>0</sub>·<i>q</i>."
    ),
    size=(5.4, 4.4),
)
def gradient_step(figure: Figure, dataset: xr.Dataset) -> None:
    """Output of the block against one step of gradient descent, with and without self-attention."""
    axes = figure.subplots()
    cell = dataset.isel(block=slice(0, 60))
    ends = [float(cell.step.min()), float(cell.step.max())]
    equality(axes, *ends, label="one step")
    points(axes, cell, "output_self", "step", 1, markerfacecolor="none", label="query attends to itself")
    points(axes, cell, "output", "step", 0, markerfacecolor="none", label="with context")
    points(axes, cell.isel(size=-1), "patched", "step", 2, marker="x", label=r"$x$ alone, $\Delta W(C)$")
    axes.set(xlabel=r"prediction after one step, $(w_0-\eta\nabla L)\cdot q$", ylabel="output of the block")
    axes.legend(loc="upper left")


def _shown(dataset: xr.Dataset) -> xr.Dataset:
    """Errors on a logarithmic axis: those of exactly 0 at the bottom."""
    return dataset.where(dataset > 0, ROUNDING)
