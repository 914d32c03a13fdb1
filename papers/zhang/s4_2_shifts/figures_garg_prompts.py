"""The table of Garg's shifted prompts, as a figure and as a table."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, legend, rounded, sideways

FLOOR = 1e-4
"""Where errors of 0 are drawn on the logarithmic axis."""


@drawing(
    "zhang-garg-prompts",
    alt=(
        "Dot plot with one row per kind of prompt and the error over that of predicting zero on a logarithmic axis. LSA is "
        "near 0.34 without a shift, with label noise and with scaled weights; above 1 for stretched inputs, orthants and, near "
        "36, the skewed covariance. Least squares is at zero almost everywhere. GPT-2 values read from Garg et al. lie between "
        "0.0003 and 0.1 in most rows."
    ),
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
    read, share = dataset.isel(k=-1)[["gpt2_of_garg"]] / dataset.zero, _at_longest(dataset[["risk", "risk_se"]]) / dataset.zero
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


def _at_longest(values: xr.Dataset) -> xr.Dataset:
    """Return every row's value at the longest context, at the shortest where no longer one exists."""
    return values.isel(k=-1).fillna(values.isel(k=0))


def garg_table(dataset: xr.Dataset) -> Table:
    """Return errors/d at every k: LSA in closed form and measured, averaging, least squares, zero, GPT-2 of Garg."""
    rows = []
    for name in dataset.prompt.values:
        row = dataset.sel(prompt=name)
        for k in dataset.k.values[np.isfinite(row.risk.sel(model="LSA").values)]:
            rows.append((name, str(k), *_cells(row.sel(k=k))))
    head = ("prompt", "k", "LSA, formula", "LSA ± 2 s.e.", "averaging", "least squares", "zero", "GPT-2 (Garg et al.)")
    return Table(head, tuple(rows))


def _cells(cell: xr.Dataset) -> tuple[str, ...]:
    theory = cell.risk_theory
    lsa = f"{rounded(cell.risk.sel(model='LSA'), 3)} ± {rounded(2 * cell.risk_se.sel(model='LSA'), 1)}"
    ols = "no finite mean" if np.isinf(theory.sel(model="OLS")) else rounded(cell.risk.sel(model="OLS"), 3)
    gpt2 = f"{float(cell.gpt2_of_garg):g}" if np.isfinite(cell.gpt2_of_garg) else str(cell.gpt2_words.values)
    formula, averaging = rounded(theory.sel(model="LSA"), 3), rounded(theory.sel(model="averaging"), 3)
    return formula, lsa, averaging, ols, rounded(cell.zero, 3), gpt2 or "–"
