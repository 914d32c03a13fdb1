"""Shifted prompts: the model, LSA and least squares, as a figure and as one table."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, legend, rounded, sideways, span
from papers.regression.shown_prompts import at_longest, least_squares, measured_rows, of_garg, with_error

FLOOR = 1e-4
"""Where errors of 0 are drawn on the logarithmic axis."""


def _alt(dataset: xr.Dataset) -> str:
    share = at_longest(dataset[["risk", "risk_theory"]] / dataset.zero)
    ours, lsa = share.risk.sel(model="GPT-2"), share.risk_theory.sel(model="LSA")
    other = ours.prompt == "orthogonal query"
    return (
        "Dot plot with one row per kind of prompt and the error over that of predicting zero on a logarithmic axis, for our "
        f"GPT-2, LSA, least squares and the values printed by Garg et al. Ours lies at {span(ours.where(~other))} in every row "
        f"but the orthogonal query, at {float(ours.where(other).max()):.2g}. LSA lies at "
        f"{float(lsa.where(lsa.prompt.str.startswith('weights')).mean()):.2f} for scaled weights and above 1 for "
        f"{', '.join(lsa.prompt.values[lsa > 1.01])}. The printed values lie to the left of ours in most rows."
    )


@drawing(
    "garg-shifts",
    alt=_alt,
    caption=(
        "Error over that of predicting 0 (vertical line), <i>d</i> = 5, after <i>k</i> = <i>N</i> = 20 examples; the "
        "orthogonal query at <i>k</i> = 4. Filled circles: our GPT-2, with two standard errors. Bars: LSA trained at the same "
        "<i>N</i>, closed form. Crosses: least squares; errors of 0 are at the left edge. Open diamonds are not ours: GPT-2 "
        "as printed by Garg et al. [V] at their <i>d</i> = 20, <i>k</i> = <i>N</i> = 40."
    ),
    size=(6.4, 5.6),
)
def shifts(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over that of predicting 0 for every kind of prompt: the model, LSA, and GPT-2 as read from Garg et al."""
    axes = figure.subplots()
    rows = np.arange(dataset.sizes["prompt"])[::-1]
    share = dataset[["risk", "risk_se", "risk_theory", "gpt2_of_garg"]] / dataset.zero
    longest, read = at_longest(share), share.sel(k=2 * dataset.d)
    squares = longest[["risk"]].sel(model="OLS").clip(FLOOR)
    sideways(axes, squares, "risk", rows, 2, marker="X", label="least squares")
    bar = {"marker": "|", "markersize": 13, "markeredgewidth": 2.2}
    sideways(axes, longest.sel(model="LSA"), "risk_theory", rows, 1, label="LSA", **bar)
    sideways(axes, read, "gpt2_of_garg", rows, 3, marker="D", markerfacecolor="none", label="GPT-2 of Garg et al.")
    sideways(axes, longest.sel(model="GPT-2"), "risk", rows, markersize=7, label="GPT-2, here")
    axes.axvline(1, color=mpl.rcParams["text.color"], linewidth=1)
    axes.set_yticks(rows, dataset.prompt.values)
    axes.set(xscale="log", xlim=(FLOOR / 1.5, 300), xlabel="error / error of predicting 0")
    ticks = [FLOOR, 1e-3, 1e-2, 1e-1, 1, 10, 100]
    axes.set_xticks(ticks, ["0", "0.001", "0.01", "0.1", "1", "10", "100"])
    legend(axes, columns=4, side="upper", columnspacing=1.0, reverse=True)


def table(dataset: xr.Dataset) -> Table:
    """Return errors/d at every k: our GPT-2 and LSA with intervals, LSA in closed form, least squares, zero, Garg et al."""
    rows = measured_rows(dataset, "GPT-2")
    columns = {
        "GPT-2 ± 2 s.e.": with_error(rows, "GPT-2"),
        "LSA ± 2 s.e.": with_error(rows, "LSA"),
        "LSA, formula": rows.risk_theory.sel(model="LSA"),
        "least squares, measured": least_squares(rows),
        "zero": rows.zero,
        "Garg et al. at 4k": of_garg(rows),
    }
    return Table.by({"prompt": "prompt", "k": "k"}, columns, rounded)
