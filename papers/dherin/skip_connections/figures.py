"""Figure of the appendix on skip connections: what each part of the patch is worth."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import MARKERS, Table, across, drawing, line, points, span

PARTS = ("both parts", "without the bias", "without the matrix", "no patch")
READINGS = ("both parts", "attention alone", "one symbol, z", "one symbol, v")


def left_over(dataset: xr.Dataset) -> Table:
    """Return the median error of every block under every way of patching, all of the context left out."""
    error = dataset["median"].isel(share=-1)
    return Table.by({"block": "block"}, across(error, "way"), lambda value: "exact" if value < 1e-13 else f"{value:.2f}")


def _alt(dataset: xr.Dataset) -> str:
    error = dataset["median"].isel(block=0, share=slice(1, None))
    bias, matrix = (span(error.sel(way=f"without the {part}"), ".1g") for part in ("bias", "matrix"))
    return (
        "Two panels with a logarithmic error axis. Left: against the share of the context in Y, both parts stay at rounding, "
        f"while a patch of one part leaves errors of {bias} without the bias and of {matrix} without the matrix. Right: for "
        "three usual blocks only the right formula is at rounding throughout; one symbol for both parts is exact without a "
        "norm only."
    )


@drawing(
    "dherin-skip-connections",
    alt=_alt,
    caption=(
        "Left: relative error of the block of v1 with softmax attention, median over networks, prompts and random "
        "<i>Y</i>. At <i>Y</i> = ∅ nothing is to be patched. Right: the block with <i>x</i> inside at <i>Y</i> = "
        "<i>C</i>, with norms and without. Both parts: Δ<i>W</i> from <i>z</i>, Δ<i>b</i>′ from <i>v</i>. Dashed: the "
        "margin of the claims. Errors below 10⁻¹⁷ are drawn there."
    ),
    size=(7.8, 4.0),
)
def skip_connections(figure: Figure, dataset: xr.Dataset) -> None:
    """Error with both parts of the patch and without one, over the size of Y; and readings of the usual block."""
    left, right = figure.subplots(1, 2)
    middle = dataset.clip(1e-17)
    for k, way in enumerate(PARTS):
        line(left, middle.sel(way=way).isel(block=0), "median", "share", k, marker=MARKERS[k], label="{way}")
    left.set(yscale="log", ylim=(3e-18, 30), xlabel="share of the context in $Y$", ylabel="relative error (median)")
    left.legend(loc="center right")
    blocks = [block for block in dataset.block.values if block.startswith("x inside")]
    labels = [block.removeprefix("x inside, ") for block in blocks]
    for k, way in enumerate(READINGS):
        cell, place = middle.sel(block=blocks, way=way).isel(share=-1), np.arange(len(blocks)) + 0.16 * (k - 1.5)
        points(right, cell, "median", place, k, color=f"C{(0, 4, 5, 6)[k]}", label="{way}")
    right.axhline(1e-13, color=mpl.rcParams["text.color"], linestyle="--", linewidth=0.9)
    right.set_xticks(range(len(blocks)), labels)
    right.set(yscale="log", ylim=(3e-18, 30), xlim=(-0.6, len(blocks) - 0.4), xlabel="norm of the block with $x$ inside")
    right.legend(loc="center right")
