"""Figures of the decoders of section 4.3: Figure 1, the jump above N, and the scale."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion.figure import LINES, MARKERS, drawing, points
from papers.zhang.lines import plain_logarithms

TITLES = {"covariance I": "fixed covariance $I$"} | {f"c = {c}": f"random covariance, $c={c}$" for c in (1, 4, 9)}


@drawing(
    "zhang-gpt2",
    alt=(
        "Four panels, one a test law: error per dimension on a logarithmic axis against the number of examples, for six "
        "models, each trained three times. On the fixed covariance and on random ones at scale 1 every curve falls from 1 "
        "to about 0.1 or less at its own training length N and jumps up right after. At scales 4 and 9 the curves stay far "
        "above least squares and the jump is smaller; up to N models trained on random covariances lie below those trained on "
        "the fixed one."
    ),
    caption=(
        "Figure 1 of the paper at the size of two cores, on a logarithmic axis: squared error over <i>d</i> at the query "
        "against the number of examples <i>M</i>. A curve is the mean of three trainings that differ in their seed, its band "
        "their range; a marker stands at its <i>N</i>. Dotted: least squares, measured; it is 0 from <i>M</i> = "
        "<i>d</i> on. Grey dashes: predicting 0. Thin lines: linear self-attention trained on random covariances, exact, at "
        "the largest <i>N</i> and as <i>N</i> and <i>M</i> grow without bound; at <i>c</i> = 4 and 9 it is above the panel, "
        "the limit at 25.3 and 387."
    ),
    size=(7.6, 7.0),
)
def curves(figure: Figure, dataset: xr.Dataset) -> None:
    """Figure 1: error over the number of examples, four test laws, six models of three trainings, and the reference lines."""
    panels = figure.subplots(2, 2, sharex=True).ravel()
    for axes, test in zip(panels, dataset.test.values, strict=True):
        _draw_panel(axes, dataset.sel(test=test))
        axes.set_title(TITLES[test])
    for lower, left in zip(panels[2:], panels[::2], strict=True):
        lower.set_xlabel("examples $M$")
        left.set_ylabel("squared error / $d$")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)


def _draw_panel(axes: Axes, cell: xr.Dataset) -> None:
    for k, trained in enumerate(cell.trained.values):
        for i, N in enumerate(cell.N.values):
            one = {"trained": trained, "N": N}
            style = {"color": f"C{k}", "linestyle": LINES[i], "linewidth": 1.2}
            risk, marker = cell.risk.sel(one), MARKERS[3 * k + i]
            axes.fill_between(cell.M, risk.min("run"), risk.max("run"), color=f"C{k}", alpha=0.15, lw=0)
            axes.plot(cell.M, risk.mean("run"), marker=marker, markevery=[int(N)], label=f"{trained}, $N={N}$", **style)
    axes.plot(cell.M, cell.ols.where(cell.ols > 1e-9), color=mpl.rcParams["text.color"], linestyle=":", label="least squares")
    zero = float(cell.zero)
    axes.axhline(zero, color="0.55", linestyle="--", linewidth=1.2, label="predicting 0")
    if cell.lsa_limit < zero:
        axes.axhline(float(cell.lsa_limit), color=mpl.rcParams["text.color"], linewidth=0.9, label="linear, limit")
        finite = cell.lsa.sel(trained="random").isel(N=-1)
        style = {"color": mpl.rcParams["text.color"], "linestyle": LINES[4], "linewidth": 0.9}
        axes.plot(cell.M, finite, label=f"linear, $N={int(finite.N)}$", **style)
    axes.set(yscale="log", ylim=(0.015 * zero**1.35, 9 * zero**0.35), xlim=(0, int(cell.M[-1])))
    plain_logarithms(axes.yaxis)


@drawing(
    "zhang-gpt2-positions",
    alt=(
        "Left and middle, logarithmic: error against the number of examples for the models trained at N = 10 on the fixed and "
        "on random covariances. As trained, and with zeros in the rows beyond N, the error falls to below 0.1 at N and jumps "
        "to about 1 right after. With the last trained rows repeated, and with positions frozen at 0, it goes on smoothly. On "
        "untrained rows throughout it stays near 1. Right: rows of the table are long up to row 20 and short beyond."
    ),
    caption=(
        "Left and middle: squared error over <i>d</i> on the training law, with two standard errors over covariances, <i>N</i> "
        "= 10 (vertical line). Right: length of the rows of the learned table of positions; row 2<i>N</i> (vertical line) is "
        "the last that training reaches; beyond it both models keep the start, which they share."
    ),
    size=(7.6, 4.4),
)
def positions(figure: Figure, dataset: xr.Dataset) -> None:
    """The jump above N on the training law, with rows of the table exchanged; and the lengths of the rows."""
    *panels, right = figure.subplots(1, 3, width_ratios=(1.15, 1.15, 0.9))
    ink, N = mpl.rcParams["text.color"], dataset.attrs["N"]
    for axes, trained in zip(panels, dataset.trained.values, strict=True):
        cell = dataset.sel(trained=trained)
        for k, table in enumerate(cell.table.values):
            risk, error = cell.risk.sel(table=table), 2 * cell.risk_se.sel(table=table)
            axes.fill_between(cell.M, np.maximum(risk - error, 1e-3), risk + error, color=f"C{k}", alpha=0.15, lw=0)
            axes.plot(
                cell.M, risk, color=f"C{k}", linestyle=LINES[k], marker=MARKERS[k], markevery=(k, 8), linewidth=1.2, label=table
            )
        axes.axvline(N, color=ink, linewidth=0.8)
        axes.set(yscale="log", ylim=(0.03, 9), xlabel="examples $M$", title=f"{trained} covariance")
        plain_logarithms(axes.yaxis)
    panels[0].set_ylabel("squared error / $d$")
    panels[1].tick_params(labelleft=False)
    for k, trained in enumerate(dataset.trained.values):
        norm = dataset.row_norm.sel(trained=trained)
        right.plot(dataset.row, norm, MARKERS[k], color=f"C{k + 5}", markersize=3.5, label=trained)
    right.axvline(2 * N, color=ink, linewidth=0.8)
    right.set(yscale="log", ylim=(0.08, 8), xlabel="row of the table", title="length of the row")
    plain_logarithms(right.yaxis)
    right.legend()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


@drawing(
    "zhang-gpt2-scale",
    alt=(
        "Two panels, models trained on the fixed and on random covariances at N = 10: error over that of predicting zero "
        "against the scale c. With inputs or labels or both scaled the error rises with c, most with inputs alone. Divided by "
        "the prompt's own size it is flat at its value for c = 1."
    ),
    caption=(
        "Error over that of predicting 0 at <i>M</i> = <i>N</i>, random covariances times <i>c</i>, means of three "
        "trainings with their range. Inputs and labels are multiplied by √<i>c</i>, or one of them alone; own "
        "size: both are then divided by the root mean square of the prompt's inputs, entry by entry or of all entries "
        "together."
    ),
    size=(7.6, 4.2),
)
def scale(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over that of predicting 0 against the scale: what is scaled, and whether the prompt's own size mends it."""
    panels = figure.subplots(1, 2, sharey=True)
    place = np.arange(dataset.sizes["c"])
    N = int(dataset.N[0])
    for axes, trained in zip(panels, dataset.trained.values, strict=True):
        for k, way in enumerate(dataset.way.values):
            cell = dataset.sel(trained=trained, N=N, way=way)
            style = {"linestyle": LINES[k], "linewidth": 1.0, "label": way}
            middle = cell.risk.mean("run")
            span = [middle - cell.risk.min("run"), cell.risk.max("run") - middle]
            points(axes, place + 0.06 * (k - 2), middle, span, k, **style)
        axes.set_xticks(place, [f"{c:g}" for c in dataset.c.values])
        axes.set(yscale="log", xlabel="scale $c$ of the covariance", title=f"{trained} covariance, $N={N}$")
        plain_logarithms(axes.yaxis)
    panels[0].set_ylabel("error / error of predicting 0")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
