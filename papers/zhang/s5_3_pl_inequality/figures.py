"""Figures of section 5.3."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import MARKERS, Table, across, drawing, each, entry, equality, legend, line, points, rounded, span
from papers.zhang.lines import plain_logarithms


@drawing(
    "zhang-pl",
    alt=(
        "Left: slack of the PL inequality against condition number, one line a dimension, all above 1 and higher for higher "
        "dimension. At d = 2 it falls with the condition number, from d = 4 on it rises. Right: least u along each flow "
        "against the lower bound; all points lie above the diagonal."
    ),
    caption=(
        "Left: least ‖∇ℓ‖²/(ℓ − min ℓ) along the flow over the constant μ of Lemma 5.4, from ΘΘᵀ = <i>I</i>/√<i>d</i>; the "
        "lemma says at least 1. Right: least <i>u</i><sub>−1</sub> along flows from random Θ against the bound of Lemma A.5; "
        "equality on the line."
    ),
    size=(7.4, 3.5),
)
def slack(figure: Figure, dataset: xr.Dataset) -> None:
    """How loose the PL inequality and the lower bound on u_-1 are."""
    left, right = figure.subplots(1, 2)
    for k, cell in each(dataset, "d"):
        line(left, cell, "slack", "kappa", k, marker=MARKERS[k], label="$d={d}$")
        points(right, cell.stack(flow=("kappa", "start")), "u_last_least", "u_last_bound", k, label="$d={d}$")
    left.axhline(1, color=mpl.rcParams["text.color"], linewidth=1)
    left.set(xscale="log", yscale="log", xlabel="condition number $\\kappa$", ylabel="slack of the PL inequality")
    left.set_xticks(dataset.kappa.values, [f"{kappa:g}" for kappa in dataset.kappa.values])
    left.minorticks_off()
    top = 1.05 * float(dataset.u_last_least.max())
    equality(right, 0, top)
    right.set(xlabel="bound of Lemma A.5", ylabel="least $u_{-1}$", xlim=(0, top), ylim=(0, top))
    right.legend(loc="lower right")


def _alt_start_size(dataset: xr.Dataset) -> str:
    return (
        f"Left: the relative distance of the end from Gamma inverse is {float(dataset.miss.max()):.1e} or less for every "
        "initial size. Right: the least u along the flow rises with the initial size and saturates; the lower bound stays "
        "below it and above zero."
    )


@drawing(
    "zhang-start-size",
    alt=_alt_start_size,
    caption=(
        "Initialisations with σ² at multiples of the largest value that Theorem 4.1 allows (vertical line at 1). Left: "
        "relative distance of <i>u</i><sub>−1</sub><i>U</i><sub>11</sub> from Γ<sup>−1</sup> at the end of the flow. Right: "
        "least <i>u</i><sub>−1</sub> along the flow (markers) and the bound for every σ (line through the lowest bound over "
        "the initialisations)."
    ),
    size=(7.4, 3.4),
)
def start_size(figure: Figure, dataset: xr.Dataset) -> None:
    """Initialisations of every size: how far from the limit they end, the least u_-1 and its bound."""
    left, right = figure.subplots(1, 2)
    for _, cell in each(dataset, "start"):
        points(left, cell, "miss", "multiple")
        points(right, cell, "u_last_least", "multiple")
    line(right, dataset.min("start"), "u_last_bound", "multiple", 1, label="lower bound")
    entry(right, "least $u_{-1}$")
    for axes in (left, right):
        axes.axvline(1, color=mpl.rcParams["text.color"], linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="$\\sigma^2$ / largest allowed")
    left.set(ylabel="relative distance to $\\Gamma^{-1}$", ylim=(1e-17, 10))
    right.set_ylabel("value weight $u_{-1}$")
    legend(right, columns=2)


@drawing(
    "zhang-dense-init",
    alt=(
        "Final loss over the least loss, trainings in order of it, one panel a scale of the initialisation. From the paper's "
        "initialisation all trainings lie at 1. From dense ones a part lies at 1; then the curve jumps to the loss of the "
        "rank-one point, where the others lie."
    ),
    caption=(
        "Where training ends: loss at time <i>T</i> over the least loss, one marker a training, in order of that loss. Dense: "
        "all weights that matter are initially scale × N(0, 1). Crosses: the paper's initialisation, of the same scale. "
        "Dotted: the loss of the rank-one point, a critical point that is not the global minimum."
    ),
    size=lambda dataset: (3.6 + 1.8 * dataset.sizes["scale"], 3.5),
)
def dense_init(figure: Figure, dataset: xr.Dataset) -> None:
    """Where flows from dense initialisations end, in order, beside those from Assumption 3.3."""
    panels = figure.subplots(1, dataset.sizes["scale"], sharey=True, squeeze=False)[0]
    drawn = {"loss": ("o", "dense"), "loss_allowed": ("X", "Assumption 3.3")}
    for axes, (_, cell) in zip(panels, each(dataset, "scale"), strict=True):
        axes.axhline(dataset.trap_loss, color=mpl.rcParams["text.color"], linestyle=":", label="rank-one point")
        for k, (name, (marker, label)) in enumerate(drawn.items()):
            place = (np.arange(cell[name].size) + 0.5) / cell[name].size
            style = {"linestyle": "-", "marker": marker, "linewidth": 0.8, "markersize": 4 + 2 * k, "label": label}
            line(axes, cell.sortby(name), name, place, k, **style)
        axes.set(xlabel="share of the trainings", xlim=(0, 1), title=f"scale {cell.scale.item():g}")
        axes.set_ylim(0.9, 1.05 * max(2.0, float(dataset.loss.max())))
    panels[0].set_ylabel("final loss / least loss")
    legend(panels[0], columns=3)


@drawing(
    "zhang-rank-one-trap",
    alt=(
        "Panels for several d. Markers over prompt length and condition number: filled where the Hessian at the rank-one point "
        "has no negative eigenvalue, open where it has one. The predicted boundary separates them: short prompts and large "
        "condition numbers make it a local minimum."
    ),
    caption=(
        "The rank-one point over training length <i>N</i> and condition number κ. Filled: local minimum (Hessian with one zero "
        "mode, all else positive). Open: saddle. Line: the <i>N</i> at which the criterion changes sign."
    ),
    size=(7.4, 3.3),
)
def rank_one_trap(figure: Figure, dataset: xr.Dataset) -> None:
    """Local minimum or saddle, over prompt length and condition number, with the boundary predicted."""
    panels = figure.subplots(1, dataset.sizes["d"], sharey=True, squeeze=False)[0]
    for axes, (_, panel) in zip(panels, each(dataset, "d"), strict=True):
        cells = panel.stack(cell=("N", "kappa"))
        N, kappa, trapped = panel.N.values, panel.kappa.values, (cells.negative == 0).values
        points(axes, cells.isel(cell=trapped), "kappa", "N", label="local minimum")
        points(axes, cells.isel(cell=~trapped), "kappa", "N", 1, fillstyle="none", label="saddle")
        line(axes, panel, "kappa", "edge", color=mpl.rcParams["text.color"])
        axes.set(xscale="log", yscale="log", title=f"$d={panel.d.item()}$", xlabel="prompt length $N$")
        axes.set(xlim=(0.7 * N.min(), 1.4 * N.max()), ylim=(0.8 * kappa.min(), 1.25 * kappa.max()))
        axes.set_yticks(kappa, [f"{value:g}" for value in kappa])
        axes.minorticks_off()
    panels[0].set_ylabel("condition number $\\kappa$")
    legend(panels[0], columns=2)


def _alt_long_prompts(dataset: xr.Dataset) -> str:
    traps = _lowest_traps(dataset)
    ratio, below = traps / dataset.minimum, traps - dataset.minimum < dataset.height
    end = "; the local minimum falls below the wall at long prompts" if below.isel(_on_the_right(dataset)).isel(N=-1) else ""
    return (
        "Left: loss of the lowest local minimum found over the least loss against prompt length, one line a setting, from "
        f"{span(ratio)}. Right: excess loss of the local minimum, height of the wall "
        f"and least loss on the wall for one setting{end}."
    )


@drawing(
    "zhang-long-prompts",
    alt=_alt_long_prompts,
    caption=(
        "Left: <i>L</i>/<i>L</i>* at local minima that are not global, the lowest that descents from two far points find; no "
        "marker where both find the optimum. Right: excess <i>L</i> − <i>L</i>* at that local minimum, the least excess that "
        "descents on the wall find, and the height of the wall, which is proved to lie below it."
    ),
    size=(7.4, 3.6),
)
def long_prompts(figure: Figure, dataset: xr.Dataset) -> None:
    """Local minima over prompt length, and the wall between them and the optimum."""
    left, right = figure.subplots(1, 2)
    traps = _lowest_traps(dataset)
    for k, cell in each(dataset.assign(ratio=traps / dataset.minimum), "setting"):
        line(left, cell, "ratio", "N", k, marker=MARKERS[k], label="{setting}")
    left.set(xscale="log", yscale="log", xlabel="prompt length $N$", ylabel="$L/L^*$")
    left.legend()
    excess = dataset.assign(trap=traps - dataset.minimum, least_on_wall=dataset.least_on_wall - dataset.minimum)
    cell = excess.isel(_on_the_right(dataset))
    labels = {"trap": "local minimum", "least_on_wall": "least on the wall", "height": "height of the wall"}
    for k, (name, label) in enumerate(labels.items(), start=dataset.sizes["setting"]):
        line(right, cell, name, "N", k, marker=MARKERS[k], label=label)
    right.set(xscale="log", yscale="log", xlabel="prompt length $N$", ylabel="$L-L^*$", title=cell.setting.item())
    for axes in (left, right):
        plain_logarithms(axes.yaxis)
    right.set_ylim(top=2.2 * right.get_ylim()[1])  # room for the legend
    right.legend(loc="upper right")


def _on_the_right(dataset: xr.Dataset) -> dict[str, int]:
    return {"setting": 1 % dataset.sizes["setting"]}


def _lowest_traps(dataset: xr.Dataset) -> xr.DataArray:
    return dataset.loss.where((dataset.beyond > 1) & (dataset.negative == 0)).min("place")


def heights(dataset: xr.Dataset) -> Table:
    """Return the loss of the lowest local minimum found over the least loss, one row a setting; a dash where none was found."""
    return Table.by({"setting": "setting"}, across(_lowest_traps(dataset) / dataset.minimum, "N", "N = {:,}"), ".1f")


def slacks(dataset: xr.Dataset) -> Table:
    """Return the least ratio along the flow over the constant of the PL inequality, one row a dimension."""
    return Table.by({"d": "d"}, across(dataset.slack, "kappa", "κ = {:g}"), rounded)
