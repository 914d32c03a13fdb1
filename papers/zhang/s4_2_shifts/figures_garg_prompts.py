"""The table of Garg's shifted prompts, as a figure and as a table."""

from functools import partial

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, legend, rounded, sideways, span
from papers.regression.shown_prompts import at_longest, least_squares, measured_rows, of_garg, with_error

FLOOR = 1e-4
"""Where errors of 0 are drawn on the logarithmic axis."""


def _alt_garg_prompts(dataset: xr.Dataset) -> str:
    last = (dataset[["risk", "gpt2_of_garg"]] / dataset.zero).sel(model="LSA").isel(k=-1)
    usual = [name for name in dataset.prompt.values if name in ("no shift", "label noise") or name.startswith("weights")]
    small = last.gpt2_of_garg.where(last.gpt2_of_garg < 1)
    return (
        "Dot plot with one row per kind of prompt and the error over that of predicting zero on a logarithmic axis. LSA is "
        f"at {span(last.risk.sel(prompt=usual))} without a shift, with label noise and with scaled weights; above 1 for "
        f"stretched inputs, orthants and, at {float(last.risk.sel(prompt='skewed covariance')):.0f}, the skewed covariance. "
        "Least squares is at zero almost everywhere. GPT-2 values read from Garg et al. are "
        f"{span(small, '.1g')} where below 1."
    )


@drawing(
    "zhang-garg-prompts",
    alt=_alt_garg_prompts,
    caption=(
        "Error over that of predicting 0 (vertical line), <i>d</i> = 20, <i>k</i> = 40 examples; the orthogonal query, which "
        "needs <i>k</i> &lt; <i>d</i>, at <i>k</i> = 10. Filled markers are measured here, with two standard errors where they "
        "show; LSA is trained at <i>N</i> = 40 on N(0, I). Errors of 0 are at the left edge. Open diamonds are not ours: "
        "GPT-2 as printed by Garg et al., divided by the error of predicting 0, as their code divides by <i>d</i> alone."
    ),
    size=(6.4, 6.0),
)
def garg_prompts(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over that of predicting 0 for every kind of prompt: LSA, least squares, and GPT-2 as read from Garg."""
    axes = figure.subplots()
    rows = np.arange(dataset.sizes["prompt"])[::-1]
    read, share = dataset.isel(k=-1)[["gpt2_of_garg"]] / dataset.zero, at_longest(dataset[["risk", "risk_se"]]) / dataset.zero
    share = share.assign(risk=share.risk.clip(FLOOR), risk_se=share.risk_se.where(share.risk > FLOOR, 0))
    style = {"marker": "D", "markerfacecolor": "none", "label": "GPT-2, read from Garg et al."}
    sideways(axes, read, "gpt2_of_garg", rows, 1, **style)
    sideways(axes, share.sel(model="LSA"), "risk", rows, 0, markersize=8, label="LSA, here")
    sideways(axes, share.sel(model="OLS"), "risk", rows, 2, marker="X", markersize=5, label="least squares, here")
    axes.axvline(1, color=mpl.rcParams["text.color"], linewidth=1)
    axes.set_yticks(rows, dataset.prompt.values)
    axes.set(xscale="log", xlim=(FLOOR / 1.5, 300), xlabel="error / error of predicting 0")
    ticks = [FLOOR, 1e-3, 1e-2, 1e-1, 1, 10, 100]
    axes.set_xticks(ticks, ["0", "0.001", "0.01", "0.1", "1", "10", "100"])
    legend(axes, columns=2, side="upper")


def garg_table(dataset: xr.Dataset) -> Table:
    """Return errors/d at every k: LSA in closed form and measured, averaging, least squares, zero, GPT-2 of Garg."""
    rows = measured_rows(dataset, "LSA")
    columns = {
        "LSA, formula": rows.risk_theory.sel(model="LSA"),
        "LSA ± 2 s.e.": with_error(rows, "LSA", 3),
        "averaging, formula": rows.risk_theory.sel(model="averaging"),
        "least squares, measured": least_squares(rows, 3),
        "zero": rows.zero,
        "GPT-2 (Garg et al.)": of_garg(rows),
    }
    return Table.by({"prompt": "prompt", "k": "k"}, columns, partial(rounded, digits=3))
