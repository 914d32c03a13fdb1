"""Figures of section 3: readings of the step, order, the loss along the path, and the dynamics that eats from the left."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import LINES, MARKERS, Table, at_most, drawing, each, entry, legend, line, points, sideways, span

READINGS = {
    "step": "$W_{i+1}=W_i-h\\Delta_i$",
    "literal": "$W_i=W_{i-1}-h\\Delta_i$, as printed",
    "left_rate": "rate $1/|A(c_{i+2},\\ldots,c_N,x)|^2$",
}


@drawing(
    "dherin-dynamics",
    alt=lambda dataset: (
        "Errors of three readings of the step on a logarithmic axis, one row per kind of network. The corrected index "
        f"lies at rounding, {span(dataset.step, '.0e')}; the printed index lies at {span(dataset.literal, '.1f')} and the "
        f"other rate at {span(dataset.left_rate)}."
    ),
    caption=(
        "Largest distance between the step of the path and the step of a formula. One marker per prompt. Circles: the index "
        "corrected, in units of the largest |<i>W<sub>i</sub></i> − <i>W</i><sub>0</sub>|. In units of the longest step, "
        "squares: the index as printed; diamonds: the rate of the left-consuming dynamics in place of "
        "1/|<i>A</i>(<i>x</i>)|²."
    ),
    size=(7.2, 3.4),
)
def readings(figure: Figure, dataset: xr.Dataset) -> None:
    """How far three readings of the step are from the path, for each network."""
    axes = figure.subplots()
    nets = list(dict.fromkeys(dataset.net.values))
    row = np.array([nets.index(net) for net in dataset.net.values]) + np.linspace(-0.06, 0.06, dataset.sizes["case"])
    for k, (name, label) in enumerate(READINGS.items()):
        sideways(axes, dataset.clip(1e-17), name, row + 0.22 * (k - 1), k, label=label, markersize=4)
    axes.axvline(1e-13, color=mpl.rcParams["text.color"], linestyle="--", linewidth=0.9)
    axes.text(1.8e-13, -0.42, "margin of D13", va="top", fontsize=9)
    axes.set_xscale("log")
    axes.set_yticks(range(len(nets)), nets)
    axes.set(xlim=(1e-17, 3e3), ylim=(len(nets) - 0.5, -0.5), xlabel="error of the step")
    legend(axes, columns=3, side="upper", columnspacing=1.2)


@drawing(
    "dherin-order",
    alt=(
        "Two panels. Left: four broken lines leave one point, wander apart and end together in one other point. Right: "
        "the distance between orders falls to zero at the last token for attention without positions, and stays near one or "
        "above for recurrent layers."
    ),
    caption=(
        "Left: <i>W<sub>i</sub></i> − <i>W</i><sub>0</sub> in its two principal coordinates, for four orders of one "
        "context read by a trained network; the title says what share of the squared distances from their mean they keep. "
        "Right: largest distance to the path of the given order, over the length of the whole change, median over "
        "networks and prompts."
    ),
    size=(7.8, 3.9),
)
def order(figure: Figure, dataset: xr.Dataset) -> None:
    """The path of W for several orders of one context, and the distance between orders along the path."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    plane = dataset.assign({name: dataset.position.isel(axis=k) for k, name in enumerate(("first", "second"))})
    for k, path in each(plane, "order"):
        label = ("as given", "reversed")[k] if k < 2 else f"random {k - 1}"
        line(left, path, "second", "first", k, marker=MARKERS[k], markersize=3, linewidth=1.1, label=label)
    ink = mpl.rcParams["text.color"]
    for i, text, shift in ((0, "$W_0$", (-9, 9)), (-1, "$W_N$", (6, 6))):
        end = plane.isel(order=0, i=i)
        points(left, end, "second", "first", marker="*", color=ink, markersize=13, zorder=5)
        left.annotate(text, (end.first, end.second), xytext=shift, textcoords="offset points", fontsize=12)
    share = f"{100 * float(dataset.kept):.0f}%"
    left.set(xlabel="first coordinate", ylabel="second coordinate", title=f"paths in a plane that keeps {share}")
    low, high = left.get_ylim()
    left.set_ylim(low, high + 0.3 * (high - low))
    left.legend(loc="upper center", ncols=2, fontsize=9)
    nets = dict.fromkeys(dataset.isel(case=dataset.path.notnull().values).net.values)
    for k, net in enumerate(nets):
        middle = dataset.isel(case=(dataset.net == net).values).median("case")
        line(right, middle, "distance", "i", k, marker=MARKERS[k], markevery=(k, 6), fillstyle="none", label=net)
    right.set(xlabel="tokens consumed, $i$", ylabel="distance between orders", ylim=(0, None))
    legend(right, columns=3, fontsize=9)


def _alt_loss(dataset: xr.Dataset) -> str:
    mean = dataset[["fall", "error"]].sel(net="trained").mean("seed")
    start = float(mean.error.isel(i=0, kind=0))
    falls, ends, tops = (
        ", ".join(f"{written(float(cell))} with {cell.kind.item()}" for cell in values)
        for values, written in (
            (mean.fall[:, -1], "{:.0f}".format),
            (mean.error[:, -1], "{:.2f}".format),
            (mean.error.max("i")[1:], lambda top: f"at most {at_most(top, '.2f')}"),
        )
    )
    return (
        "Two panels against the number of consumed tokens, trained network. Left: the fall of the losses together grows from 0 "
        f"to {falls}. Right: the squared error starts at {start:.2f} and ends at {ends}; on the way it is {tops}."
    )


@drawing(
    "dherin-linear-loss",
    alt=_alt_loss,
    caption=(
        "Trained network. Left: how far the losses <i>L<sub>j</sub></i>, <i>j</i> &lt; <i>i</i>, have fallen together. "
        "Markers: differences of the losses; lines: Σ |<i>W</i><sub>0</sub>(<i>a<sub>j</sub></i> − "
        "<i>a</i><sub><i>j</i>+1</sub>)|². Right: squared error at the query after the same number of tokens. Means over "
        "networks and prompts, of the losses over the first few prompts only."
    ),
    size=(7.6, 3.7),
)
def loss(figure: Figure, dataset: xr.Dataset) -> None:
    """The fall of the losses of proposition 3.1 and the squared error, for true labels and others."""
    left, right = figure.subplots(1, 2)
    for k, mean in each(dataset.sel(net="trained").mean("seed"), "kind"):
        line(left, mean, "fall_of_moves", "i", k)
        points(left, mean.isel(i=slice(k, None, 6)), "fall", "i", k)
        entry(left, mean.kind.item(), k, linestyle=LINES[k])
        line(right, mean, "error", "i", k, marker=MARKERS[k], markevery=(k, 6))
    left.set(xlabel="tokens consumed, $i$", ylabel="fall of the losses $L_j$, $j<i$", ylim=(0, None))
    right.set(xlabel="tokens consumed, $i$", ylabel="squared error at the query", ylim=(0, None))
    legend(left, columns=3, side="upper")


@drawing(
    "dherin-left-consuming",
    alt=lambda dataset: (
        "Two panels against the number of consumed tokens. Left: the norm of the left-consuming change over that of the "
        f"least change starts at 1 and ends at {span(dataset.ratios[:, -1], '.2f')}. Right: its rank rises with the tokens to "
        "{:.2g}, of which {:.2g} singular values are above one percent; ".format(*dataset.ranks[-1, :, -1].values)
        + "the least change has rank 1 throughout."
    ),
    caption=(
        "Left: |<i>W<sub>i</sub></i> − <i>W</i><sub>0</sub>| of the left-consuming dynamics over the norm of the least "
        "change that keeps the output at (<i>c</i><sub><i>i</i>+1</sub>, …, <i>c<sub>N</sub></i>, <i>x</i>); medians over "
        "networks and prompts, dashed: 1. Right: number of singular values above 10⁻¹⁰ and above 10⁻² of the largest, "
        "softmax attention, trained; dotted: the least change; dashed: the bound."
    ),
    size=(7.8, 3.9),
)
def left_consuming(figure: Figure, dataset: xr.Dataset) -> None:
    """Norm and rank of the left-consuming change beside the least change."""
    left, right = figure.subplots(1, 2)
    ink = mpl.rcParams["text.color"]
    for k, cell in each(dataset, "kind"):
        line(left, cell, "ratios", "i", k, marker=MARKERS[k], markevery=(k, 6), label="{kind}")
    left.axhline(1, color=ink, linestyle="--", linewidth=0.9)
    left.set(xlabel="tokens consumed, $i$", ylabel="norm, over that of the least change")
    trained = dataset.isel(kind=-1, case=-1)
    for (k, cell), text in zip(each(trained, "share", dataset.sizes["kind"]), ("$10^{-10}$", "$10^{-2}$"), strict=True):
        line(right, cell, "ranks", "i", k, marker=MARKERS[k], markevery=5, label=f"above {text}")
    right.axhline(1, color=ink, linestyle=":", linewidth=1.2, label="least change")
    along = trained.assign(bound=np.minimum(trained.i, trained.bound))
    line(right, along, "bound", "i", color=ink, linestyle="--", linewidth=0.9, label="bound")
    right.set(xlabel="tokens consumed, $i$", ylabel="rank", ylim=(0, 1.45 * int(trained.bound)), title=trained.kind.item())
    right.legend(loc="upper left", ncols=2, fontsize=9)
    legend(left, columns=3, fontsize=9)


def ends(dataset: xr.Dataset) -> Table:
    """Return the error without context and with all of it, mean over networks."""
    error = dataset.error.mean("seed")
    columns = {"error without context": error.isel(i=0), "with all of it": error.isel(i=-1)}
    return Table.by({"net": "network", "kind": "examples"}, columns)
