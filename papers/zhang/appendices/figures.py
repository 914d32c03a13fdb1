"""Figures of appendices B, C and D."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import LINES, Table, bars, drawing, each, equality, line, points


@drawing(
    "zhang-six-terms",
    alt=(
        "Six terms side by side. The three squares match best linear error, variance and bias; the three cross terms sit at "
        "zero. Around a wrong centre the product of I and III is far from zero."
    ),
    caption=(
        "The six terms of the expansion for cubic labels. Bars: Theorem 4.2. Circles: measured around <i>a</i> = "
        "Λ<sup>−1</sup>E[<i>xy</i>], with two standard errors. Squares: around ½<i>a</i>, where a cross term survives."
    ),
)
def six_terms(figure: Figure, dataset: xr.Dataset) -> None:
    """The six terms behind Theorem 4.2: theory as bars, measured around the right and a wrong centre."""
    dataset = dataset.isel(d=0)
    axes, place = figure.subplots(), np.arange(dataset.sizes["term_name"])
    bars(axes, dataset, "term_theory", place, width=0.7, alpha=0.35, label="Theorem 4.2")
    points(axes, dataset, "term", place - 0.12, label="around $a$")
    points(axes, dataset, "term_wrong", place + 0.12, 1, label="around $a/2$")
    axes.axhline(0, color=mpl.rcParams["text.color"], linewidth=0.8)
    axes.set_xticks(place, [name.replace("x", "×") for name in dataset.term_name.values])
    axes.set(xlabel="square or doubled cross term", ylabel="mean of the term")
    axes.legend()


@drawing(
    "zhang-off-diagonal",
    alt=(
        "Two panels of off-diagonal entries over their initial values against time. With diagonal covariances they fall to "
        "zero along the theory lines. With covariances that are not diagonal they settle away from zero, some with the other "
        "sign."
    ),
    caption=(
        "Four off-diagonal entries of <i>U</i><sub>11</sub> over their initial values, one dash pattern each, exponential "
        "variances. Left: diagonal covariances; lines exp(−ζ<sub><i>ij</i></sub>τ), markers the integrated flow. Right: the "
        "same entries under covariances that are random but not diagonal."
    ),
    size=(6.8, 3.4),
)
def off_diagonal(figure: Figure, dataset: xr.Dataset) -> None:
    """Off-diagonal entries along the flow: exp(-zeta tau) as lines, the integrated flow as markers."""
    left, right = figure.subplots(1, 2)
    for k, cell in each(dataset.isel(law=0, pair=slice(4)), "pair"):
        line(left, cell, "off_theory", "step", k)
        points(left, cell.isel(step=slice(k, None, 6)), "off", "step", k)
        line(right, cell, "off_rotated", "step", k)
    for axes, title in ((left, "diagonal covariances"), (right, "not diagonal")):
        axes.axhline(0, color=mpl.rcParams["text.color"], linewidth=0.8)
        axes.set(title=title, xlabel="time $t$", xlim=(0, 0.6 * float(dataset.step[-1])))
    left.set_ylabel("$u_{ij}(t)\\,/\\,u_{ij}(0)$, $i\\neq j$")


@drawing(
    "zhang-random-covariance-bounds",
    alt=(
        "Left: u rises from its initial value to its limit, above a horizontal bound. Right: squared gradient over loss gap, "
        "on a logarithmic axis, stays well above its horizontal bound."
    ),
    caption=(
        "Along the flow. Left: <i>u</i><sub>−1</sub> and the bound of Lemma C.7. Right: squared gradient over loss gap, and "
        "the constant ν of Lemma C.8. Thick: the flow. Thin, same dashes: the bounds. Both hold, loosely."
    ),
    size=(6.8, 3.4),
)
def bounds(figure: Figure, dataset: xr.Dataset) -> None:
    """u_{-1} above the bound of Lemma C.7 and the PL ratio above the constant of Lemma C.8."""
    left, right = figure.subplots(1, 2)
    for k, cell in each(dataset, "law"):
        for axes, name, bound in ((left, "u", "u_bound"), (right, "pl_ratio", "nu")):
            line(axes, cell, name, "step", k, label="{law}")
            axes.axhline(float(cell[bound]), color=f"C{k}", linestyle=LINES[k], linewidth=0.8)
    left.set(xlabel="time $t$", ylabel="$u_{-1}$", yscale="log")
    right.set(xlabel="time $t$", ylabel="squared gradient / loss gap", yscale="log")
    left.legend()


def slack(dataset: xr.Dataset) -> Table:
    """Return how far u_{-1} and the PL ratio stay above their bounds, as least ratios along the flow, by distribution."""
    columns = {
        "least u over its bound": dataset.u.min("step") / dataset.u_bound,
        "least PL ratio over ν": dataset.pl_ratio.min("step") / dataset.nu,
    }
    return Table.by({"law": "variances"}, columns, ".1f")


@drawing(
    "zhang-fourth-moment",
    alt=(
        "Measured entries lie on the diagonal against the identity; those of the formula for symmetric matrices scatter around "
        "it."
    ),
    caption=(
        "Entries of E[<i>xx</i><sup>T</sup><i>Axx</i><sup>T</sup>] for two matrices <i>A</i> that are not symmetric, one of "
        "each dimension. Circles: Monte Carlo (intervals are smaller than the markers) against the identity; line: equality. "
        "Squares: the formula that takes <i>A</i> for symmetric."
    ),
    size=(5.4, 4.0),
)
def fourth_moment(figure: Figure, dataset: xr.Dataset) -> None:
    """Every entry of E[x x^T A x x^T]: Monte Carlo and the symmetric formula against the identity."""
    axes = figure.subplots()
    ends = [float(dataset.moment_theory.min()), float(dataset.moment_theory.max())]
    equality(axes, *ends)
    points(axes, dataset, "moment", "moment_theory", label="measured")
    points(axes, dataset, "moment_symmetric", "moment_theory", 1, fillstyle="none", label="as if $A=A^T$")
    axes.set(xlabel="entry by the identity", ylabel="entry, measured")
    axes.legend()
