"""Figures of the section on generation: errors token by token, stale patches, and what a step costs."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import MARKERS, Table, across, drawing, legend, line, points, span

PATCHES = {
    "none": "no patch",
    "stale": "stale: made for the token before",
    "recomputed": "made anew for every token",
    "first block without": "the same, first block left out",
}
TWICE = {"without": "no patch", "different": "patch of another token", "same": "patch of the same token"}
KINDS = {
    "none": "no patch",
    "last block without": "last block left out",
    "with a window": "made anew, window kept",
    "recomputed": "made anew",
}


def _alt_decoding(dataset: xr.Dataset) -> str:
    share = dataset.differ.mean("seed")
    ends = {
        name: " to ".join(f"{float(end):.2g}" for end in (each.min(), each.max())) for name, each in share.groupby("patches")
    }
    return (
        "Two panels, greedy and sampled, of the share of differing tokens by architecture. Patches made anew, with or "
        f"without a window, give 0 everywhere. With the last block left out the share is {ends['last block without']}, without "
        f"patches {ends['none']}."
    )


@drawing(
    "dherin-generation",
    alt=_alt_decoding,
    caption=(
        "Share of generated tokens that differ from those of the same network with its context, for greedy "
        "decoding and for sampling with common Gumbel noise. Mean over networks with Student's intervals."
    ),
    size=(7.6, 4.2),
)
def decoding(figure: Figure, dataset: xr.Dataset) -> None:
    """Share of generated tokens that differ from decoding with the context."""
    panels, position = figure.subplots(1, 2, sharey=True), np.arange(dataset.sizes["architecture"])
    for axes, choice in zip(panels, dataset.choice.values, strict=True):
        for k, (name, label) in enumerate(KINDS.items()):
            cell = dataset.sel(patches=name, choice=choice)
            points(axes, cell, "differ", position + 0.14 * (k - 1.5), k, elinewidth=0.8, label=label)
        names = [name.replace(", bias", "").replace(", conditioned", ",\ncond.") for name in dataset.architecture.values]
        axes.set_xticks(position, names)
        axes.set(title=choice, ylim=(-0.04, 1.12))
    panels[0].set_ylabel("share of differing tokens")
    legend(panels[0], columns=2)


@drawing(
    "dherin-stale-patches",
    alt=lambda dataset: (
        "Left: error of the logits along the generated tokens, Llama-style network, logarithmic. Patches made anew stay "
        "at rounding with or without the first block; stale patches and no patches both stay near 1. Right: by architecture, "
        f"a stale patch used for the same token again leaves {span(dataset.same.mean('seed'), '.1f')}, for another token "
        f"{span(dataset.different.mean('seed'), '.1f')}, no patch {span(dataset.without.mean('seed'), '.1f')}."
    ),
    caption=(
        "Left: relative error of the logits token by token, Llama-style networks; geometric mean over networks. Right: "
        "text in which every token is written twice; median error when the patch of the token before is used, which was made "
        "for the same token or for another one, and without patches. Mean over networks with Student's intervals."
    ),
    size=(7.6, 4.4),
)
def stale(figure: Figure, dataset: xr.Dataset) -> None:
    """Logit error along the text for recomputed, stale and no patches; stale patches for the same and another token."""
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    name = "Llama" if "Llama" in dataset.architecture.values else dataset.architecture.values[0]
    mean = np.exp(np.log(dataset[["error"]].sel(architecture=name).clip(1e-17)).mean("seed"))
    for k, (patches, label) in enumerate(PATCHES.items()):
        style = {"linewidth": 0.6, "markersize": 9 - 5 * (k % 2), "fillstyle": "full" if k % 2 else "none"}
        line(left, mean.sel(patches=patches), "error", "token", k, marker=MARKERS[k], label=label, **style)
    left.set(yscale="log", ylim=(1e-16, 30), xlabel="token", ylabel="relative error of the logits")
    position = np.arange(dataset.sizes["architecture"])
    for k, (key, label) in enumerate(TWICE.items()):
        points(right, dataset, key, position + 0.18 * (k - 1), (0, 1, 4)[k], elinewidth=0.8, label=label)
    right.set_xticks(position, [each.replace(", bias", "") for each in dataset.architecture.values])
    right.set(ylim=(0, 2.1), ylabel="median error", title="every token twice")
    right.legend(loc="upper left", fontsize=8.5)
    legend(left, columns=2)


@drawing(
    "dherin-costs",
    alt=lambda dataset: (
        "Cost of a step with patches over that of a step with the context, against the number of tokens. Without a cache "
        f"the ratio falls towards 1; with a cache it falls more slowly, from {dataset.ratio_cached[0]:.1f} to "
        f"{dataset.ratio_cached[-1]:.1f}. The measured time ratio scatters, mostly above 1."
    ),
    caption=(
        "Cost of a decoding step with patches over that of a step with the context. Lines: formulas, without and with a "
        "cache of keys and values; the latter counts outer products and a second read-out too. Circles: operations of "
        "matrix products as PyTorch counts them. Diamonds: ratio of times on the machine that ran this, a reading."
    ),
    size=(6.6, 3.8),
)
def costs(figure: Figure, dataset: xr.Dataset) -> None:
    """Operations of a step with patches over those of a step with the context."""
    axes = figure.subplots()
    both = dataset[["operations_theory", "seconds"]]
    ratio = both.sel(decoding="patches", drop=True) / both.sel(decoding="context", drop=True)
    line(axes, ratio, "operations_theory", "length", 0, label="no cache, formula")
    line(axes, dataset, "ratio_cached", "length", 1, label="cache, formula")
    points(axes, dataset, "ratio", "length", 0, label="no cache, counted")
    points(axes, ratio, "seconds", "length", 2, color="C3", label="no cache, time")
    axes.axhline(1, color=mpl.rcParams["text.color"], linestyle=":", linewidth=1)
    axes.set(xscale="log", xlabel="tokens so far", ylabel="cost over that with the context", ylim=(0, None))
    axes.set_xticks(dataset.length.values, [str(T) for T in dataset.length.values])
    axes.minorticks_off()
    legend(axes, columns=2)


def distinct(dataset: xr.Dataset) -> Table:
    """Return the number of distinct tokens in a text, mean over models."""
    rows = {"architecture": "distinct tokens in the text"}
    return Table.by(rows, across(dataset.distinct.mean("seed"), "choice"), ".1f")


def renumbered(dataset: xr.Dataset) -> Table:
    """Return the largest error at other positions of the tokens: for patches alone, in a window, and with gaps."""
    most = dataset.renumbered.max("seed")
    columns = {"alone": most.sel(place="alone"), "window": most.sel(place="window"), "with gaps": most.sel(place="scattered")}
    return Table.by({"architecture": "error at positions 0, 1, …"}, columns, ".1e")


def stale_errors(dataset: xr.Dataset) -> Table:
    """Return the error of a trained network under patches of its own, stale ones and none, mean over draws."""
    return Table.by({"patches": "patch"}, {"relative error": dataset.error.mean("draw")})
