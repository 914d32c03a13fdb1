"""Figures of what a trained network's context leaves behind."""

import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.figure import Figure

from icl_lib.companion import Table, across, bars, drawing, each, equality, legend, line, points, rounded, series, span

BLOCK, EVERY = "one block, N = 100", "one block, every length to 50"
DECODERS = {"decoder, N = 10": 10, "decoder, N = 20": 20}
DRAWN = ["one best step", "two best steps", "three best steps", "ridge 0.1", "posterior mean"]
ENDS = {BLOCK: 100, EVERY: 50} | DECODERS
"""Networks, with the examples of their training."""


def _alt_left(dataset: xr.Dataset) -> str:
    most, share = dataset.excess_mean.idxmax("k"), dataset.share.mean("seed")
    decoders, every = share.sel(network=[*DECODERS]).isel(k=0).mean(), share.sel(network=EVERY).dropna("k").isel(k=-1)
    first, last = share.sel(network=BLOCK).isel(k=[0, -1]).values
    return (
        "Stacked bars of the excess against the number of examples, a panel for each training. In blocks it is largest after "
        f"{most.sel(network=[BLOCK, EVERY]).max():g} examples, in decoders after {most.sel(network=[*DECODERS]).max():g}, as "
        "many as dimensions. The lower part, one wrong vector, is most of nearly every bar. The upper part, no vector, is "
        f"{first:.0%} of the first bar of the block trained at one length and {last:.0%} of its last. It is {every:.0%} of the "
        f"last bar of the block trained at every length, and {decoders:.0%} of the small first bars of decoders."
    )


@drawing(
    "lenses-what-is-left",
    alt=_alt_left,
    caption=(
        "Risk beyond that of the posterior mean, over <i>d</i>, mean over three networks. Lower part: distance of the answers' "
        "vector from the posterior mean. Upper part: the rest of the excess, an estimate of what is not linear in the query. "
        "Markers: the three networks, with two standard errors over contexts. Line: best single gradient step."
    ),
    size=(8.2, 6.2),
)
def what_is_left(figure: Figure, dataset: xr.Dataset) -> None:
    """Excess by the number of examples, in two parts."""
    panels = figure.subplots(2, 2).flat
    for axes, (_, network) in zip(panels, each(dataset, "network"), strict=True):
        cell = network.dropna("k", how="any")
        place = np.arange(cell.sizes["k"])
        cell = cell.assign(rest_mean=cell.excess_mean - cell.missed_mean)
        bars(axes, cell, "rest_mean", place, 1, bottom=cell.missed_mean, alpha=0.55, label="no vector")
        bars(axes, cell, "missed_mean", place, 0, alpha=0.55, label="one wrong vector")
        ink = rcParams["text.color"]
        line(axes, cell, "one_step", place, color=ink, linestyle="--", linewidth=1.2, label="one best step")
        for s, one in each(cell, "seed"):
            points(axes, one, "excess", place + 0.2 * (s - 1), 2, markersize=3, color=ink, label="each network")
        axes.set_xticks(place, cell.k.values.astype(str))
        axes.set(title=cell.network.item(), xlabel="examples $k$", ylabel="excess over $d$")
    legend(*figure.axes, columns=4)


def shares(dataset: xr.Dataset) -> Table:
    """Return the share of the excess that is no vector, mean over the networks of a training."""
    return Table.by({"k": "examples"}, across(dataset.share.mean("seed"), "network"), ".0%")


@drawing(
    "lenses-any-prior",
    alt=lambda dataset: (
        "Scatter plot of measured risks against sums of three parts, both axes logarithmic, from "
        f"{span(dataset.risk)}. Filled markers for three priors lie on the "
        "diagonal; crosses, with the distance from the task in the place of that from the posterior mean, lie to the right of "
        "it or on it."
    ),
    caption=(
        "Risk of trained networks under three priors, against Bayes risk, what is not linear, and the vector's distance from "
        "the posterior mean; intervals of two standard errors of the difference. One marker for each network and length. "
        "Crosses: distance from the task."
    ),
    size=(5.8, 4.6),
)
def any_prior(figure: Figure, dataset: xr.Dataset) -> None:
    """Risks against the sum of their parts, by prior."""
    axes = figure.subplots()
    near = dataset.assign(risk_near=dataset.risk_near.sel(mistake="the task for its posterior mean", drop=True))
    for k, prior in each(near, "prior"):
        cell = (
            prior[["risk", "risk_se", "risk_theory", "risk_near"]].stack(place=("network", "k")).reset_index("place", drop=True)
        )
        points(axes, cell.drop_vars("risk_se"), "risk", "risk_near", k, marker="x", markersize=4)
        points(axes, cell, "risk", "risk_theory", k, label="{prior}")
    equality(axes, float(dataset.risk.min()) / 1.3, float(dataset.risk.max()) * 1.3)
    axes.set(xscale="log", yscale="log", xlabel="sum of the three parts", ylabel="risk")
    axes.legend(loc="upper left")


@drawing(
    "lenses-which-vector",
    alt=(
        "Distance of the answers' vector from five candidates against the number of examples, both axes logarithmic, a panel "
        "for each training. In the block trained at one length one best step is nearest, at the end far below the others. In "
        "decoders one best step is the farthest; ridge lies lowest or near the lowest."
    ),
    caption=(
        "Squared distance of the answers' vector <i>G</i> from candidates, over <i>E</i>|<i>w</i>|², mean over three networks, "
        "two standard errors over contexts. Steps are the best that are the same for all contexts of a length; the posterior "
        "mean is that without noise, least squares of least norm."
    ),
    size=(7.2, 6.2),
)
def which_vector(figure: Figure, dataset: xr.Dataset) -> None:
    """Distances from candidates by the number of examples."""
    panels = figure.subplots(2, 2).flat
    for axes, name in zip(panels, ENDS, strict=True):
        cell = dataset.sel(network=name, candidate=DRAWN).dropna("k", how="any")
        series(axes, cell, "distance", "k", "candidate", label="{candidate}", markersize=4)
        axes.set(xscale="log", yscale="log", title=name, xlabel="examples $k$", ylabel="squared distance")
        axes.set_xticks(cell.k.values, cell.k.values.astype(str))
        axes.minorticks_off()
    legend(*figure.axes, columns=3)


def distances(dataset: xr.Dataset) -> Table:
    """Return the distances after as many examples as in training, means over the networks of a training."""
    ends, distance = ENDS | {"linear attention": 20}, dataset.distance.mean("seed")
    columns = {f"{network}: k = {k}": distance.sel(network=network, k=k) for network, k in ends.items()}
    return Table.by({"candidate": "candidate"}, columns, rounded)


def _alt_alignment(dataset: xr.Dataset) -> str:
    means = dataset[["most", "whole"]].mean("seed")
    block, decoders = means.sel(network=BLOCK).max("k"), means.whole.sel(network=[*DECODERS])
    return (
        "Three panels against the number of examples, for four trainings. Left, the weight of an example attended to, over "
        f"uniform: it rises to {block.most:.2f} in the block trained at one length and farther in the others. Middle, the "
        f"cosine of vector and exact gradient step: it rises to {block.whole:.2f} in that block; in decoders it falls until "
        f"{decoders.idxmin('k').max():g} examples, and then rises. Right, the alignment of a patch for one query rises to its "
        "ceiling in blocks and stays below it in decoders."
    )


@drawing(
    "lenses-selectivity-alignment",
    alt=_alt_alignment,
    caption=(
        "Left: selectivity of the most selective layer, mean over three networks, Student's interval over them. Middle: cosine "
        "of the answers' vector and the exact gradient step. Right: the same for the patch of one query; lines: its ceiling "
        "for <i>d</i> = 2 and 5. Middle and right: two standard errors over contexts."
    ),
    size=(7.2, 3.6),
)
def selectivity_alignment(figure: Figure, dataset: xr.Dataset) -> None:
    """Selectivity, alignment for all queries and for one."""
    panels = figure.subplots(1, 3)
    for axes, name, title in zip(panels, ("most", "whole", "one"), ("selectivity", "all queries", "one query"), strict=True):
        for k, network in each(dataset, "network"):
            cell = network[[name, *([f"{name}_se"] if f"{name}_se" in network else [])]].dropna("k", how="any")
            series(axes, cell, name, "k", first=k, label=network.network.item(), markersize=4)
        axes.set(xscale="log", title=title, xlabel="examples $k$")
        axes.set_xticks([1, 5, 20, 100], ["1", "5", "20", "100"])
        axes.minorticks_off()
    for k in (0, 2):
        line(panels[2], dataset.isel(network=k), "reach", "k", color=rcParams["text.color"], linewidth=1, label="ceiling")
    panels[0].set(ylabel="weight over uniform")
    panels[1].set(ylabel="cosine")
    legend(*panels, columns=3)


def attention(dataset: xr.Dataset) -> Table:
    """Return selectivity and the share of attention on the examples in each layer, after as many examples as in training."""
    ends = [dataset[["selectivity", "mass"]].sel(network=[name], k=k, drop=True) for name, k in ENDS.items()]
    found = xr.concat(ends, "network").mean("seed").assign_coords(layer=dataset.layer)
    there = found.stack(each=("network", "layer")).dropna("each")
    columns = {"selectivity": there.selectivity, "attention on examples": there.mass}
    return Table.by({"network": "network", "layer": "layer"}, columns, rounded)
