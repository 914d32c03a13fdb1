"""Figures on all positions and all blocks: exactness, alignment of tokens, training, composition."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from icl_lib.companion import LINES, MARKERS, drawing, each, entry, legend, line, points, sideways, span


def _alt_positions(dataset: xr.Dataset) -> str:
    worst = dataset[["error", "fault"]].max(("block", "network"))
    return (
        f"Three panels. Top: a map of block against position, errors {span(dataset.by_position, '.0e')}. Bottom left: worst "
        f"error of each variant, {span(worst.error, '.0e')}, beside that with the fault, {span(worst.fault, '.0f')}. Bottom "
        f"right: with epsilon the missing share grows as the length shrinks, from {dataset.missing.min():.0e} to "
        f"{dataset.missing.max():.1f}, measured markers on the line; without epsilon the error stays at "
        f"{span(dataset.error_exact, '.0e')}."
    )


@drawing(
    "dherin-positions",
    alt=_alt_positions,
    caption=(
        "Top: relative error of the patched query alone at every token and block, first variant, worst prompt and network. "
        "Bottom left: worst error of each variant (circles), and with Δ<i>b</i>′ left out or, without skips, with the "
        "update of the token before (squares). Bottom right: against |<i>n</i>|<sup>2</sup>, share of the change that an "
        "ε = 10<sup>−8</sup> leaves out (measured and formula), and error of the output without ε."
    ),
    size=(7.6, 6.4),
)
def positions(figure: Figure, dataset: xr.Dataset) -> None:
    """Error by block and position, by variant, and what an epsilon in the denominator costs."""
    panels = figure.subplot_mosaic([["map", "map"], ["variants", "epsilon"]], height_ratios=(1, 1.7))
    image = panels["map"].pcolormesh(
        dataset.position, dataset.block, np.log10(np.maximum(dataset.by_position, 1e-17)), vmin=-17, vmax=-13, cmap="viridis"
    )
    panels["map"].set(xlabel="token $i$ (the last is the query)", ylabel="block", yticks=dataset.block)
    panels["map"].grid(False)
    figure.colorbar(image, ax=panels["map"], label="log$_{10}$ error")
    axes, row, worst = panels["variants"], np.arange(dataset.sizes["variant"]), dataset.max(("block", "network"))
    sideways(axes, worst, "error", row, 0, label="exact update")
    sideways(axes, worst, "fault", row, 1, label="with the fault")
    axes.set_yticks(row, dataset.variant.values)
    axes.set_ylim(len(row) - 0.5, -2)
    axes.set(xscale="log", xlabel="worst relative error", xlim=(1e-17, 1e4))
    axes.legend(loc="upper center", fontsize=8.5)
    _draw_epsilon(panels["epsilon"], dataset)


def _draw_epsilon(axes: Axes, dataset: xr.Dataset) -> None:
    every = dataset[["missing", "error_exact", "square", "square_missing"]].stack(point=("scale", "network"))
    fine = dataset.assign_coords(fine=np.geomspace(float(every.square.min()), float(every.square.max()), 100))
    fine = fine.assign(share=dataset.epsilon / (fine.fine + dataset.epsilon))
    line(axes, fine, "share", "fine", color="C2", label="ε/(|n|² + ε)")
    points(axes, every, "missing", "square_missing", 2, label="missing share, with ε")
    points(axes, every, "error_exact", "square", 3, label="error without ε")
    axes.set(xscale="log", yscale="log", xlabel="$|n|^2$", ylim=(1e-17, 1e7))
    axes.legend(loc="upper right", fontsize=8.5)


@drawing(
    "dherin-positions-training",
    alt=lambda dataset: (
        "Four panels, columns without and with norms. Top: test loss over the steps; circles of the patched query lie on "
        "the network's line, squares without the bias change off it, with norms only a little. Bottom: squared differences "
        f"by block stay at {span(dataset.difference[:2].max('seed'), '.0e')} at all steps, the least without the bias change "
        f"at {span(dataset.difference_fault[:2].min(('block', 'seed')), '.1g')}."
    ),
    caption=(
        "Training in float32. Test loss: half the mean squared error on test prompts, geometric mean over networks: the "
        "network (line), the query alone with the composed patches (circles), the last block from its true input with "
        "Δ<i>b</i>′ left out (squares). Squared difference: of patched and full outputs over all tokens, relative, worst "
        "network, one marker a block; dashed: the least of blocks and networks with Δ<i>b</i>′ left out."
    ),
    size=(7.6, 5.6),
)
def training(figure: Figure, dataset: xr.Dataset) -> None:
    """Losses and squared differences over training, without and with layer norms."""
    shown = dataset.variant.values[:2]
    panels = figure.subplots(2, len(shown), sharex=True, sharey="row", squeeze=False)
    for (top, bottom), variant in zip(panels.T, shown, strict=True):
        cell = dataset.sel(variant=variant)
        mean = np.exp(np.log(cell[["loss", "loss_composed", "loss_fault"]]).mean("seed"))
        line(top, mean, "loss", "step", 0, label="with the context")
        points(top, mean, "loss_composed", "step", 1, marker=MARKERS[0], label="patched, query alone")
        points(top, mean, "loss_fault", "step", 2, marker=MARKERS[1], label="last Δb′ left out")
        for k, worst in each(cell.max("seed"), "block"):
            points(bottom, worst, "difference", "step", k)
            entry(bottom, f"block {worst.block.item()}", k)
        least, ink = cell.min(("block", "seed")), mpl.rcParams["text.color"]
        line(bottom, least, "difference_fault", "step", color=ink, linestyle="--", label="Δb′ left out")
        top.set(yscale="log", title=variant)
        bottom.set(yscale="log", xlabel="step", ylim=(1e-16, 1e4))
    panels[0, 0].set_ylabel("test loss")
    panels[1, 0].set_ylabel("squared difference")
    panels[0, 0].legend(fontsize=8.5)
    panels[1, 0].legend(fontsize=8.5, ncols=3, loc="upper center")


@drawing(
    "dherin-update-alignment",
    alt=(
        "Top: three maps of the cosine between the updates of all pairs of tokens; in the two with the query as base the "
        "last row and column are darker, in the third, with an unrelated base, hardly. Bottom: mean cosines by block; with "
        "skips and the query as base pairs with the query lie below pairs of others; with an unrelated base, and without "
        "skips, they lie together."
    ),
    caption=(
        "Maps: mean cosine of Δ<i>W<sub>i</sub></i> and Δ<i>W<sub>j</sub></i>, with norms; the last token is the query. "
        "By block: mean over pairs of context tokens (circles) and over pairs with the query (squares), base the query "
        "(filled, solid) and the query of another prompt (hollow, dashed). Dotted: prediction for block 1 without "
        "attention, a ratio of means. Intervals: Student's over networks."
    ),
    size=(7.8, 6.0),
)
def alignment(figure: Figure, dataset: xr.Dataset) -> None:
    """Three matrices of mean cosines between tokens, and mean cosines by block."""
    variants = dataset.variant.values
    plain = next((name for name in variants if str(name).startswith("no skips")), variants[-1])
    maps, lines = figure.subplots(2, 3, sharey="row")
    for axes, shown in zip(maps, dataset.shown.values, strict=True):
        matrix = dataset.matrix.sel(shown=shown)
        end = dataset.sizes["position"] + 0.5
        image = axes.imshow(matrix, vmin=0, vmax=0.8, cmap="viridis", extent=(0.5, end, end, 0.5), interpolation="nearest")
        axes.set(title=str(shown).replace(", ", ",\nbase: "), xlabel="token $i$")
        axes.grid(False)
    maps[0].set_ylabel("token $j$")
    figure.colorbar(image, ax=maps, label="mean cosine", shrink=0.8, extend="max")
    for axes, variant in zip(lines, (variants[0], variants[1 % len(variants)], plain), strict=True):
        _draw_groups(axes, dataset.sel(variant=variant))
        axes.set(title=variant, xlabel="block")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    lines[0].set_ylabel("mean cosine")
    lines[0].set_ylim(-0.2, 1.35)
    lines[0].legend(fontsize=8, loc="upper left", ncols=1)


def _draw_groups(axes: Axes, cell: xr.Dataset) -> None:
    for b, base in enumerate(cell.base.values):
        for k, (group, label) in enumerate((("others", "two others"), ("last", "with the query"))):
            style = {"linestyle": LINES[b], "linewidth": 0.8, "markerfacecolor": f"C{k}" if b == 0 else "none"}
            label, pairs = f"{label}, {('own', 'unrelated')[b]} base", cell.sel(base=base, group=group)
            points(axes, pairs, "alignment", pairs.block + 0.12 * b, k, label=label, **style)
    if "norms" not in str(cell.variant.values) and "no skips" not in str(cell.variant.values):
        level = cell[["alignment_theory"]].expand_dims(place=[0.6, 1.4])
        line(axes, level, "alignment_theory", "place", color=mpl.rcParams["text.color"], linestyle=":")


def _alt_composition(dataset: xr.Dataset) -> str:
    wrong = dataset[["error_left_out", "error_none"]].max("network").to_dataarray()
    right = dataset.error.max("network")
    return (
        "Two panels against the block. Left: errors of all architectures with all blocks patched stay at about "
        f"{span(right, '.0e')} at every depth, while without the first patch or without any they lie between "
        f"about {float(wrong.min()):.1g} and {float(wrong.max()):.0f}. Right: relative size of the patches by block."
    )


@drawing(
    "dherin-composition",
    alt=_alt_composition,
    caption=(
        "Left: relative error behind every block, worst prompt, token and network. Joined markers: all blocks patched in "
        "turn. Lines without markers: largest and least over the architectures, with the first block's patch left out "
        "(dashed) and without patches (dotted). Right: change of the patched matrices over the matrices, query's patch."
    ),
    size=(7.6, 4.2),
)
def composition(figure: Figure, dataset: xr.Dataset) -> None:
    """Error behind every block: all patched, the first left out, none; and the sizes of the patches."""
    left, right = figure.subplots(1, 2)
    worst, ink = dataset.max("network"), mpl.rcParams["text.color"]
    for k, cell in each(dataset, "architecture"):
        style = {"marker": (MARKERS + "<")[k % 8], "markevery": max(1, dataset.sizes["block"] // 8), "linewidth": 0.7}
        line(left, cell.max("network").clip(1e-17), "error", "block", k, **style)
        line(right, cell.mean("network"), "size", "block", k, label="{architecture}", **style)
    for name, dashes, label in (("error_left_out", "--", "first patch left out"), ("error_none", ":", "no patches")):
        line(left, worst.max("architecture"), name, "block", color=ink, linestyle=dashes, label=label)
        line(left, worst.min("architecture"), name, "block", color=ink, linestyle=dashes)
    left.set(yscale="log", xlabel="block", ylabel="relative error", ylim=(1e-17, 1e5))
    left.legend(loc="upper left", fontsize=8.5)
    right.set(yscale="log", xlabel="block", ylabel="relative size of the patch")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend(right, columns=4, fontsize=8.5)
