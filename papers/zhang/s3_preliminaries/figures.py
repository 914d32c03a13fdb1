"""Figures of section 3."""

import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.figure import Figure

from icl_lib.companion import Table, at_most, drawing, each, entry, equality, legend, line, points, series, sideways, span


@drawing(
    "zhang-two-notions",
    alt=(
        "Two panels, identity covariance and condition number 10: error per dimension against test prompt length, from 20 to a "
        "million, on logarithmic axes. Curves for training lengths 40, 70 and 100 fall and level off; the floor is lower for "
        "longer training prompts. A dotted line for infinite training length keeps falling."
    ),
    caption=(
        "Error per dimension of a model trained at prompt length <i>N</i>, tested at length <i>M</i> "
        "(<i>d</i>&nbsp;=&nbsp;20). Lines: <i>e</i>(<i>N</i>,&nbsp;<i>M</i>)/<i>d</i>. Filled markers: contexts drawn by their "
        "empirical covariance; large open markers at <i>M</i>&nbsp;=&nbsp;200: the attention layer fed example by example; two "
        "standard errors are smaller than the markers. Dotted: weights &Lambda;<sup>&minus;1</sup>, the limit "
        "<i>N</i>&nbsp;&rarr;&nbsp;&infin;."
    ),
    size=(8.0, 3.6),
)
def two_notions(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over test prompt length for models trained at finite N: it levels off."""
    dataset = dataset.isel(d=0)
    panels = figure.subplots(1, dataset.sizes["kappa"], sharey=True, squeeze=False)[0]
    for axes, (_, panel) in zip(panels, each(dataset, "kappa"), strict=True):
        series(axes, panel, "risk", "M", "N", label="$N={N}$", theory=("risk_line", "length"))
        for k, cell in each(panel, "N"):
            points(axes, cell, "attention", "M_examples", k, markersize=10, fillstyle="none")
        endless = {"color": rcParams["text.color"], "linestyle": ":", "label": r"$N=\infty$"}
        line(axes, panel.isel(N=0), "risk_vanishing", "M", **endless)
        name = r"$\Lambda=I$" if panel.kappa == 1 else rf"$\kappa={panel.kappa.item():g}$"
        axes.set(xscale="log", yscale="log", title=name, xlabel="test prompt length $M$", ylim=(5e-3, 2))
    panels[0].set_ylabel("error per dimension")
    panels[-1].legend(loc="upper right")


_STATEMENTS = {
    "other entries redrawn": ("dead_entries", "live_entries"),
    "query column alone": ("query_row", "query_row_without_own_token"),
    "rescaled by $c$, $1/c$": ("rescaling", "rescaling_one_sided"),
}


def _alt_attention(dataset: xr.Dataset) -> str:
    alone, moved = (dataset[[*names]].to_dataarray() for names in zip(*_STATEMENTS.values(), strict=True))
    return (
        "Dot plot on a logarithmic axis. For each of three statements, changes that should leave the prediction alone give "
        f"relative differences of {at_most(alone.max(), '.1e')} or less; the controls give differences from {span(moved)}."
    )


@drawing(
    "zhang-attention",
    alt=_alt_attention,
    caption=(
        "Largest relative change of the prediction, one marker for each pair (<i>d</i>,&nbsp;<i>M</i>), with dense random "
        "weights. Circles: the statement; crosses: its control. Exact zeros are drawn at 10<sup>&minus;17</sup>."
    ),
    size=(7.0, 3.2),
)
def attention(figure: Figure, dataset: xr.Dataset) -> None:
    """How far the prediction moves under changes that should do nothing, and under changes that should."""
    axes = figure.subplots()
    pairs = dataset.stack(pair=("d", "M")).clip(1e-17)
    spread = np.linspace(-0.2, 0.2, pairs.sizes["pair"])
    for k, text in enumerate(("statement", "control")):
        for row, names in enumerate(_STATEMENTS.values()):
            sideways(axes, pairs, names[k], spread - row, k, marker="ox"[k])
        entry(axes, text, k, marker="ox"[k])
    axes.axvline(1e-12, color=rcParams["text.color"], linestyle="--", label="margin")
    axes.set(xscale="log", xlim=(3e-18, 1e4), ylim=(-2.5, 0.5), xlabel=r"largest relative change of $\hat y$")
    axes.set_yticks([0, -1, -2], list(_STATEMENTS))
    legend(axes, columns=3, side="upper")


@drawing(
    "zhang-population-loss",
    alt=(
        "Left: population loss along A = s times the inverse of Gamma, a parabola for each training length with its minimum at "
        "s = 1; measured markers lie on it, and the minimum is lower for longer prompts. Right: measured entries of the mean "
        "of the squared empirical covariance against Gamma Lambda, on the diagonal."
    ),
    caption=(
        "Left: population loss at <i>A</i>&nbsp;=&nbsp;<i>s</i>&nbsp;&Gamma;<sup>&minus;1</sup>; lines by formula, markers by "
        "Monte Carlo with two standard errors. Right: entries of the mean of &Lambda;&#770;&sup2; against those of "
        "&Gamma;&Lambda; (filled) and of &Lambda;&sup2; (open, off the line); standard errors are smaller than the markers."
    ),
    size=(8.0, 3.6),
)
def population_loss(figure: Figure, dataset: xr.Dataset) -> None:
    """The loss along multiples of the minimiser, and the entries of E[Lambda_hat^2]."""
    left, right = figure.subplots(1, 2)
    along = {0.5: "0.5 / Gamma", 1.0: "1 / Gamma", 1.5: "1.5 / Gamma"}
    shown = dataset.sel(point=list(along.values()))
    series(left, shown, "loss", list(along), "N", label="$N={N}$", theory=("loss_line", "s"))
    for k, cell in each(dataset.drop_vars("second_moment_se"), "N"):
        for theory, fill in (("second_moment_theory", "full"), ("second_moment_of_mean", "none")):
            points(right, cell, "second_moment", theory, k, fillstyle=fill)
    ends = [float(dataset.second_moment.min()), float(dataset.second_moment.max())]
    equality(right, *ends)
    left.set(xlabel=r"$s$ in $A=s\,\Gamma^{-1}$", ylabel="population loss $L$", ylim=(0, None))
    right.set(xlabel=r"entries of $\Gamma\Lambda$ (filled), $\Lambda^2$ (open)", ylabel=r"mean of $\hat\Lambda^2$")
    left.legend(loc="lower left")


_POINTS = {
    "start": "initial A",
    "dense": "a dense A",
    "0.5 / Gamma": "½ Γ⁻¹",
    "1 / Gamma": "Γ⁻¹",
    "1.5 / Gamma": "³⁄₂ Γ⁻¹",
    "1 / Lambda": "Λ⁻¹",
}


def losses(dataset: xr.Dataset) -> Table:
    """Return the population loss by formula at every point, one row a prompt length."""
    columns = {text: dataset.loss_theory.sel(point=point) for point, text in _POINTS.items()}
    return Table.by({"N": "N"}, columns, ".3f")
