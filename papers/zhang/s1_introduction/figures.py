"""Figure of sections 1 and 2."""

import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, each, line, points, series, span


def _alt_one_step(dataset: xr.Dataset) -> str:
    floors = dataset.floor_theory.isel(d=0).where(dataset.kappa > 1)
    return (
        "Two panels of relative error against prompt length on logarithmic axes, for condition numbers 1, 3, 10, 100. Left, "
        "the best scalar gradient step: the curve for condition number 1 falls without end, the others level off at "
        f"{span(floors, '.2f')}. Right, the trained model: all four curves fall without end, nearly together."
    )


@drawing(
    "zhang-one-step",
    alt=_alt_one_step,
    caption=(
        "Error divided by tr&nbsp;&Lambda; against prompt length <i>M</i>, by condition number &kappa; "
        "(<i>d</i>&nbsp;=&nbsp;20). Left: one gradient step with the best scalar step size; right: the trained model with "
        "<i>N</i>&nbsp;=&nbsp;<i>M</i>. Lines: formulas. Markers: Monte Carlo with two standard errors, mostly smaller than "
        "the marker; one step up to <i>M</i>&nbsp;=&nbsp;40 example by example, all else by drawing the empirical covariance."
    ),
    size=(8.0, 3.6),
)
def one_step(figure: Figure, dataset: xr.Dataset) -> None:
    """Relative error over prompt length: the best scalar gradient step beside the trained model."""
    dataset = dataset.isel(d=0)
    left, right = figure.subplots(1, 2, sharey=True)
    for k, cell in each(dataset, "kappa"):
        line(left, cell, "risk_line", "length", k)
        points(left, cell, "risk", "M", k)
        points(left, cell, "risk_long", "M_long", k)
    theory = ("trained_line", "length")
    series(right, dataset, "trained_long", "M_long", "kappa", label=r"$\kappa={kappa:g}$", theory=theory)
    left.set(xscale="log", yscale="log", xlabel="prompt length $M$", ylabel=r"error / tr $\Lambda$", title="best scalar step")
    right.set(xscale="log", xlabel="prompt length $M$", title="trained model, $N=M$")
    right.legend()


def remaining(dataset: xr.Dataset) -> Table:
    """Return the error over tr Lambda by condition number: one step at two lengths, its floor, the trained model."""
    dataset = dataset.isel(d=0)
    first, last = (f"M = {int(dataset.M_long[place]):,}" for place in (0, -1))
    columns = {
        f"one step, {first}": dataset.risk_long.isel(M_long=0),
        f"one step, {last}": dataset.risk_long.isel(M_long=-1),
        "floor, formula": abs(dataset.floor_theory),
        f"trained at N = {last}": dataset.trained_long.isel(M_long=-1),
    }
    return Table.by({"kappa": "κ"}, columns, ".2g")
