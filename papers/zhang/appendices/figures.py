"""Figures of appendices B, C and D."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion.figure import LINES, MARKERS, drawing, points
from icl_lib.companion.table import Table


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
    axes.bar(place, dataset.term_theory, 0.7, color="C0", alpha=0.35, label="Theorem 4.2")
    points(axes, place - 0.12, dataset.term, 2 * dataset.term_se, 0, label="around $a$")
    axes.plot(place + 0.12, dataset.term_wrong, color="C1", marker=MARKERS[1], linestyle="none", label="around $a/2$")
    axes.axhline(0, color=mpl.rcParams["text.color"], linewidth=0.8)
    axes.set_xticks(place, [name.replace("x", "×") for name in dataset.term_name.values])
    axes.set(xlabel="square or doubled cross term", ylabel="mean of the term")
    axes.legend()


@drawing(
    "zhang-off-diagonal",
    alt=(
        "Two panels of off-diagonal entries over their start against time. With diagonal covariances they fall to zero along "
        "the theory lines. With covariances that are not diagonal they settle away from zero, some with the other sign."
    ),
    caption=(
        "Four off-diagonal entries of <i>U</i><sub>11</sub> over their start, one dash pattern each, exponential variances. "
        "Left: diagonal covariances; lines exp(−ζ<sub><i>ij</i></sub>τ), markers the integrated flow. Right: the same entries "
        "under covariances that are random but not diagonal."
    ),
    size=(6.8, 3.4),
)
def off_diagonal(figure: Figure, dataset: xr.Dataset) -> None:
    """Off-diagonal entries along the flow: exp(-zeta tau) as lines, the integrated flow as markers."""
    left, right = figure.subplots(1, 2)
    for k in range(4):
        cell = dataset.isel(law=0, pair=k)
        shown = cell.isel(step=slice(k, None, 6))
        left.plot(cell.step, cell.off_theory, color=f"C{k}", linestyle=LINES[k])
        left.plot(shown.step, shown.off, color=f"C{k}", marker=MARKERS[k], linestyle="none")
        right.plot(cell.step, cell.off_rotated, color=f"C{k}", linestyle=LINES[k])
    for axes, title in ((left, "diagonal covariances"), (right, "not diagonal")):
        axes.axhline(0, color=mpl.rcParams["text.color"], linewidth=0.8)
        axes.set(title=title, xlabel="time $t$", xlim=(0, 0.6 * float(dataset.step[-1])))
    left.set_ylabel("$u_{ij}(t)\\,/\\,u_{ij}(0)$, $i\\neq j$")


@drawing(
    "zhang-random-covariance-bounds",
    alt=(
        "Left: u rises from its start to its limit, above a horizontal bound. Right: squared gradient over loss gap, on a "
        "logarithmic axis, stays well above its horizontal bound."
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
    for k, law in enumerate(dataset.law.values):
        cell = dataset.sel(law=law)
        for axes, value, bound in ((left, cell.u, cell.u_bound), (right, cell.pl_ratio, cell.nu)):
            axes.plot(cell.step, value, color=f"C{k}", linestyle=LINES[k], label=law)
            axes.axhline(float(bound), color=f"C{k}", linestyle=LINES[k], linewidth=0.8)
    left.set(xlabel="time $t$", ylabel="$u_{-1}$", yscale="log")
    right.set(xlabel="time $t$", ylabel="squared gradient / loss gap", yscale="log")
    left.legend()


def slack(dataset: xr.Dataset) -> Table:
    """Return how far u_{-1} and the PL ratio stay above their bounds, as least ratios along the flow, one row a law."""
    least = (dataset.u.min("step") / dataset.u_bound, dataset.pl_ratio.min("step") / dataset.nu)
    rows = ((law, *(f"{float(each.sel(law=law)):.1f}" for each in least)) for law in dataset.law.values)
    return Table(("variances", "least u over its bound", "least PL ratio over ν"), tuple(rows))


@drawing(
    "zhang-fourth-moment",
    alt=(
        "Measured entries lie on the diagonal against the identity; those of the formula for symmetric matrices scatter around "
        "it."
    ),
    caption=(
        "Entries of E[<i>xx</i><sup>T</sup><i>Axx</i><sup>T</sup>] for a matrix <i>A</i> that is not symmetric. Circles: Monte "
        "Carlo (intervals are smaller than the markers) against the identity; line: equality. Squares: the formula that takes "
        "<i>A</i> for symmetric."
    ),
    size=(5.4, 4.0),
)
def fourth_moment(figure: Figure, dataset: xr.Dataset) -> None:
    """Every entry of E[x x^T A x x^T]: Monte Carlo and the symmetric formula against the identity."""
    axes, theory = figure.subplots(), dataset.moment_theory.values.ravel()
    ends = [theory.min(), theory.max()]
    axes.plot(ends, ends, color=mpl.rcParams["text.color"], linewidth=1)
    points(axes, theory, dataset.moment.values.ravel(), 2 * dataset.moment_se.values.ravel(), 0, label="measured")
    symmetric = dataset.moment_symmetric.values.ravel()
    axes.plot(theory, symmetric, color="C1", marker=MARKERS[1], fillstyle="none", linestyle="none", label="as if $A=A^T$")
    axes.set(xlabel="entry by the identity", ylabel="entry, measured")
    axes.legend()
