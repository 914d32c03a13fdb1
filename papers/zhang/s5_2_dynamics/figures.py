"""Figures of section 5.2."""

import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import LINES, drawing, each, entry, line, points, series


@drawing(
    "zhang-dynamics",
    alt=(
        "Excess loss against time, both on logarithmic axes, for flows of several sizes. The flow of Lemma 5.2 falls all the "
        "way. The flow with Lambda in place of Gamma dips, turns and rises to a plateau."
    ),
    caption=(
        "Excess of the loss over its minimum along gradient flow from Assumption 3.3, in units of the growth time 1/‖Λ²‖. "
        "Thick: Lemma 5.2, falling at all times. Thin: the same with Λ in place of Γ, which comes within a third of "
        "<i>L</i>* of the minimum and climbs again, towards Λ<sup>−1</sup>."
    ),
    size=(6.4, 3.9),
)
def loss(figure: Figure, dataset: xr.Dataset) -> None:
    """Excess loss along the flow of Lemma 5.2, and along the flow that would end at Lambda^-1."""
    axes = figure.subplots()
    excess = dataset[["loss", "loss_towards_plain"]].isel(time=slice(1, None)) - 1
    for k, cell in each(excess, "flow"):
        line(axes, cell, "loss", "time", k, linewidth=2.2, label="{flow}")
        line(axes, cell, "loss_towards_plain", "time", k, linewidth=0.9)
    axes.set(xscale="log", yscale="log", ylim=(1e-6, None), xlabel="time $t\\,\\|\\Lambda^2\\|_F$")
    axes.set_ylabel("excess loss $L/L^*-1$")
    axes.legend(loc="lower left")


@drawing(
    "zhang-time-course",
    alt=(
        "Left: loss against time for initialisations of several sizes, markers on sigmoidal lines; from smaller ones it drops "
        "later. Right: two growth rates against condition number, markers on lines; the two approach each other as the "
        "condition number grows."
    ),
    caption=(
        "Left: Λ = λ<i>I</i>. Lines: the closed form. Markers: the integrated flow. Vertical lines: when <i>v</i> is predicted "
        "to be halfway. Right: rates at which small weights grow. Lines: ‖Λ²‖ (Frobenius) and ‖Λ‖² (operator). Markers: fitted "
        "to the flow."
    ),
    size=(7.6, 3.4),
)
def time_course(figure: Figure, dataset: xr.Dataset) -> None:
    """The isotropic drop of the loss in closed form and integrated; growth rates over condition number."""
    dataset = dataset.isel(d=0)
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    for k, cell in each(dataset, "sigma"):
        left.axvline(float(cell.drop_time), color=f"C{k}", linewidth=0.7)
        line(left, cell, "loss_theory", "time", k)
        points(left, cell.isel(time=slice(k, None, 5)), "loss", "time", k, markersize=4)
        entry(left, f"$\\sigma={cell.sigma.item():g}$", k, linestyle=LINES[k])
    left.set(xlabel="time $t$", ylabel="loss $L$", ylim=(0, None))
    left.legend(loc="upper right")
    symbols = {"(U_11, u_-1)": "$(U_{11},u_{-1})$", "(u_12, u_21)": "$(u_{12},u_{21})$"}
    first = dataset.sizes["sigma"]
    series(right, dataset, "rate", "kappa", "direction", label=symbols, theory=("rate_theory", "kappa"), first=first)
    right.set(xscale="log", xlabel="condition number $\\kappa$", ylabel="growth rate", ylim=(0, None))
    right.set_xticks(dataset.kappa.values, [f"{kappa:g}" for kappa in dataset.kappa.values], minor=False)
    right.minorticks_off()
    right.legend(loc="lower right")
