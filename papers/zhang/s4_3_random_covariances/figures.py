"""Figures of section 4.3."""

import matplotlib as mpl
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import LINES, Table, across, drawing, each, entry, legend, line, points, series, span
from papers.zhang.lines import plain_logarithms


@drawing(
    "zhang-random-covariance-flow",
    alt=(
        "Left: on a logarithmic axis the relative distance of the product to A star falls in straight lines to rounding. "
        "Right: u over its limit rises to 1 for both distributions; the limits printed without squares lie elsewhere."
    ),
    caption=(
        "Gradient flow under random diagonal covariances, over time as a fraction of the run. Left: relative distance of "
        "<i>u</i><sub>−1</sub><i>U</i><sub>11</sub> to <i>A</i><sub>*</sub>. Right: <i>u</i><sub>−1</sub> over the limit with "
        "squares (horizontal line at 1); thin dotted lines show where (C.15), printed without squares, puts it."
    ),
    size=(6.8, 3.4),
)
def flow(figure: Figure, dataset: xr.Dataset) -> None:
    """The flow of Corollary C.2: distance to A_*, and u_{-1} between its two candidate limits."""
    left, right = figure.subplots(1, 2)
    shortest, longest = dataset.N.values[[0, -1]]
    share = dataset[["u", "u_printed"]] / dataset.u_theory
    for k, law in each(dataset.assign(share), "law"):
        for N, alpha in ((shortest, 0.6), (longest, 1.0)):
            cell, dashes = law.sel(N=N), LINES[2 * k + int(longest == N)]
            line(left, cell, "distance", "step", k, linestyle=dashes, alpha=alpha, label="{law}, $N={N}$")
        line(right, cell, "u", "step", k, linestyle=dashes, label="{law}, $N={N}$")
        right.axhline(float(cell.u_printed), color=f"C{k}", linestyle=":", linewidth=1)
    right.axhline(1, color=mpl.rcParams["text.color"], linewidth=0.8)
    left.set(yscale="log", ylabel="relative distance to $A_*$", xlabel="time, fraction of the run")
    right.set(xlim=(0, 0.4), ylim=(0, None), xlabel="time, fraction of the run")
    right.set_ylabel(f"$u_{{-1}}$ / its limit, $N={longest}$")
    left.legend(loc="upper right", handlelength=2.4, borderaxespad=0)
    right.legend(loc="lower right")


def _alt_risk(dataset: xr.Dataset) -> str:
    risk = dataset.risk.isel(d=0)
    helps = risk.sel(trained="mean") / risk.sel(trained="random")
    return (
        "Six panels, exponential and uniform variances at covariance scale 1, 4 and 9: error over that of predicting zero "
        "against test prompt length. Markers lie on the lines. Training on random covariances divides the error by "
        f"{span(helps.sel(law='exponential'))} for exponential variances and by {span(helps.sel(law='uniform'))} for uniform "
        "ones. At scales 4 and 9 all errors stay above 1."
    )


@drawing(
    "zhang-random-covariance",
    alt=_alt_risk,
    caption=(
        "Exponential and uniform variances times <i>c</i>: test error over that of predicting 0 "
        "(level line at 1: no skill), against test prompt length <i>M</i>. Lines: exact formula. Markers: Monte Carlo with two "
        "standard errors. Thin lines: the limit <i>N</i>, <i>M</i> → ∞. Least squares is at 0 from <i>M</i> = <i>d</i> on."
    ),
    size=(7.2, 5.6),
)
def risk(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over test length, by distribution (rows) and covariance scale (columns): lines: formula, markers: Monte Carlo."""
    dataset = dataset.isel(d=0).drop_sel(trained="triangular")
    share = dataset[["risk", "risk_se", "risk_line", "risk_limit"]] / dataset.zero
    panels = figure.subplots(dataset.sizes["law"], dataset.sizes["c"], sharex=True, sharey=True, squeeze=False)
    for row, (_, law) in zip(panels, each(share, "law"), strict=True):
        for axes, (_, cell) in zip(row, each(law, "c"), strict=True):
            _risk_panel(axes, cell)
            axes.set_title(f"{cell.law.item()}, $c={cell.c.item():g}$")
        row[0].set_ylabel("error / error of predicting 0")
    for axes in panels[-1]:
        axes.set_xlabel("test length $M$")
    legend(panels[0, 0], columns=2, side="upper")


def _risk_panel(axes: Axes, cell: xr.Dataset) -> None:
    names = {"random": "trained on random $\\Lambda$", "mean": "trained on $E\\Lambda$"}
    series(axes, cell, "risk", "M", "trained", label=names, theory=("risk_line", "M_line"))
    for k, one in each(cell, "trained"):
        axes.axhline(float(one.risk_limit), color=f"C{k}", linestyle=LINES[k], linewidth=0.8)
    axes.axhline(1, color=mpl.rcParams["text.color"], linewidth=0.8)
    axes.set(yscale="log")
    plain_logarithms(axes.yaxis)


def gains(dataset: xr.Dataset) -> Table:
    """Return the error after training on random covariances over that after training on their mean."""
    risk = dataset.risk.isel(d=0)
    gain = risk.sel(trained="random") / risk.sel(trained="mean")
    return Table.by({"law": "variances", "c": "c"}, across(gain, "M", "M = {}"))


@drawing(
    "zhang-random-covariance-limit",
    alt=(
        "Left: the mean prediction over its target rises with the prompt length towards one third, far below 1. Right: for a "
        "query with its prompt's covariance the fraction grows linearly with the size of the query's entry."
    ),
    caption=(
        "Exp(1) variances: mean prediction as a fraction of <i>w</i>ᵀ<i>x</i><sub>query</sub>. Left: query drawn apart from "
        "the prompt, over <i>N</i> = <i>M</i>; dashed, the limit 1/3. Right: query with its prompt's covariance, over "
        "|<i>x</i>| of one entry, at the largest <i>N</i>; dashed, the same for the query drawn apart. Lines: theory. Markers: "
        "Monte Carlo with two standard errors."
    ),
    size=(6.8, 3.4),
)
def limit(figure: Figure, dataset: xr.Dataset) -> None:
    """The conditional mean prediction over its target: independent query over N, own query over |x|."""
    left, right = figure.subplots(1, 2)
    ink = mpl.rcParams["text.color"]
    first = dataset.isel(d=0).sel(task="along the query")
    last = first.isel(N=-1)
    line(left, first, "shrinkage_line", "N_line", label="theory")
    points(left, first, "mean", "N", label="measured")
    left.axhline(float(first.shrinkage_limit), color=ink, linestyle="--", linewidth=1, label="limit 1/3")
    left.set(xscale="log", ylim=(0, 0.4), xlabel="prompt length $N=M$", ylabel="mean prediction / target")
    left.set_xticks(first.N.values, [f"{N:g}" for N in first.N.values])
    left.minorticks_off()
    left.legend(loc="lower right")
    line(right, last, "own_theory", "size", 1, linestyle="-", label="theory")
    points(right, last, "own", "size", 1, label="measured")
    right.axhline(float(last.mean_theory), color=ink, linestyle="--", linewidth=1, label="independent query")
    right.set(ylim=(0, 0.7), xlabel="size of the query's entry, $|x|$", ylabel="mean prediction / target")
    right.legend(loc="lower right")


def _alt_start_size(dataset: xr.Dataset) -> str:
    return (
        f"Left: the relative distance of the end from A star is {float(dataset.miss.max()):.1e} or less for every initial "
        "size. Right: the least u along the flow rises with the initial size and saturates; the lower bound stays below it and "
        "above zero."
    )


@drawing(
    "zhang-random-start-size",
    alt=_alt_start_size,
    caption=(
        "Initialisations with σ² at multiples of the largest value that Theorem 4.5 allows (vertical line at 1). Left: "
        "relative distance of <i>u</i><sub>−1</sub><i>U</i><sub>11</sub> from <i>A</i><sub>*</sub> at the end of the flow. "
        "Right: least <i>u</i><sub>−1</sub> along the flow (markers) and the bound for every σ (lines through the lowest bound "
        "over the initialisations)."
    ),
    size=(7.4, 3.4),
)
def start_size(figure: Figure, dataset: xr.Dataset) -> None:
    """Initialisations of every size: where the flow ends, the least u_-1 and its bound."""
    left, right = figure.subplots(1, 2)
    for k, law in each(dataset.assign(lowest=dataset.u_bound.min("start")), "law"):
        for _, cell in each(law, "start"):
            points(left, cell, "miss", "multiple", k)
            points(right, cell, "u_least", "multiple", k)
        line(right, law, "lowest", "multiple", k)
        entry(right, law.law.item(), k, linestyle=LINES[k])
    for axes in (left, right):
        axes.axvline(1, color=mpl.rcParams["text.color"], linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="$\\sigma^2$ / largest allowed")
    left.set(ylabel="relative distance to $A_*$", ylim=(1e-17, 10))
    right.set_ylabel("value weight $u_{-1}$")
    right.legend(loc="lower right")
