"""Figures of the decoders of section 4.3: Figure 1, the jump above N, and the scale."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import LINES, MARKERS, Table, across, at_most, band, drawing, each, legend, line, points, span
from papers.zhang.lines import plain_logarithms, with_range

TITLES = {"covariance I": "fixed, $I$"} | {f"c = {c}": f"random, $c={c}$" for c in (1, 4, 9)}
"""The test distributions."""
LAWS = {"fixed": "the fixed covariance", "random": "random covariances"}
"""The training distributions."""


def _alt_curves(dataset: xr.Dataset) -> str:
    seen = dataset.risk.sel(M=dataset.N, test=["covariance I", "c = 1"]).mean("run")
    return (
        "Twelve panels, one row a training length N, one column a test distribution: error per dimension on a logarithmic axis "
        "against the number of examples, for models trained on the fixed and on random covariances. On the fixed covariance "
        f"and on random ones at scale 1 both curves fall from 1 and reach {span(seen)} at N, marked by a vertical line, and "
        "jump up right after. At scales 4 and 9 they stay far above least squares and the jump is smaller; up to N models "
        "trained on random covariances lie below."
    )


@drawing(
    "zhang-gpt2",
    alt=_alt_curves,
    caption=(
        "Figure 1 of the paper at the size of two cores: squared error over <i>d</i> at the query against the number of "
        "examples <i>M</i>. A curve is the mean of three trainings that differ in their seed, its band their range. Vertical "
        "line: the training length <i>N</i>. Dotted: least squares, measured; it is 0 from <i>M</i> = <i>d</i> on. Dashes: "
        "predicting 0. Thin lines: linear self-attention trained on random covariances, exact, at the same <i>N</i> and as "
        "<i>N</i> and <i>M</i> grow without bound; at <i>c</i> = 4 and 9, where the limit is 25.3 and 387 and all lie at the "
        "top of the panel or above it, they are left out."
    ),
    size=(8.4, 8.4),
)
def curves(figure: Figure, dataset: xr.Dataset) -> None:
    """Figure 1: error over the number of examples, by training length and test distribution, with the reference lines."""
    panels = figure.subplots(dataset.sizes["N"], dataset.sizes["test"], sharex=True, sharey="col", squeeze=False)
    dataset = with_range(dataset, "risk", "run").assign(ols=dataset.ols.where(dataset.ols > 1e-9))
    for row, (_, models) in zip(panels, each(dataset, "N"), strict=True):
        for axes, (_, cell) in zip(row, each(models, "test"), strict=True):
            _draw_models(axes, cell)
            _draw_references(axes, cell)
            title = f"{TITLES[cell.test.item()]}, $N={cell.N.item()}$"  # a narrow screen has two rows for one N
            axes.set_title(title, fontsize=10.5)
        row[0].set_ylabel("error / $d$")
    for bottom in panels[-1]:
        bottom.set_xlabel("examples $M$")
    legend(panels[0, 0], columns=3, side="upper")


def _draw_models(axes: Axes, cell: xr.Dataset) -> None:
    for k, model in each(cell, "trained"):
        band(axes, model, "risk", "M", k)
        style = {"marker": MARKERS[k], "markevery": (2 * k, 8), "markersize": 4, "linewidth": 1.3}
        line(axes, model, "risk", "M", k, label=f"trained on {LAWS[model.trained.item()]}", **style)


def _draw_references(axes: Axes, cell: xr.Dataset) -> None:
    ink, zero = mpl.rcParams["text.color"], float(cell.zero)
    line(axes, cell, "ols", "M", color=ink, linestyle=":", label="least squares")
    axes.axhline(zero, color=ink, linestyle="--", linewidth=1, label="predicting 0")
    axes.axvline(int(cell.N), color=ink, linewidth=0.8)
    if cell.lsa_limit < zero:
        line(axes, cell.sel(trained="random"), "lsa", "M", 2, linestyle=LINES[4], linewidth=1, label="linear, same $N$")
        axes.axhline(float(cell.lsa_limit), color="C2", linewidth=1, label="linear, limit")
    axes.set(yscale="log", ylim=(0.01 * zero**1.35, 9 * zero**0.35), xlim=(0, int(cell.M[-1])))
    plain_logarithms(axes.yaxis)


MODELS = {"trained": "trained on", "N": "N"}


def relative(dataset: xr.Dataset) -> Table:
    """Return the error at M = N over that of predicting 0, mean over trainings, by model and test distribution."""
    share = (dataset.risk.sel(M=dataset.N) / dataset.zero).mean("run")
    return Table.by(MODELS, across(share, "test"))


def by_way(dataset: xr.Dataset) -> Table:
    """Return the error at the largest c over that of predicting 0, mean over trainings: one row a model, one column a way."""
    return Table.by(MODELS, across(dataset.risk.isel(c=-1).mean("run"), "way"))


def _alt_positions(dataset: xr.Dataset) -> str:
    curves, N = dataset.risk.sel(table="as trained").mean("run"), dataset.attrs["N"]
    return (
        "Left and middle, logarithmic: error against the number of examples for the models trained at N = 10 on the fixed and "
        f"on random covariances. As trained, and with zeros in the rows beyond N, the error is {span(curves.sel(M=N))} at "
        f"N and {span(curves.sel(M=N + 1))} right after. With the last trained rows repeated, and with positions frozen "
        "at 0, it goes on smoothly. On untrained rows throughout it stays near 1. Right: rows of the table are long up to row "
        f"{2 * N} and short beyond."
    )


@drawing(
    "zhang-gpt2-positions",
    alt=_alt_positions,
    caption=(
        "Left and middle: squared error over <i>d</i> on the training distribution, means of three trainings with their range, "
        "<i>N</i> = 10 (vertical line). Right: length of the rows of the learned table of positions in the first training; row "
        "2<i>N</i> (vertical line) is the last that training reaches; beyond it both models keep the initialisation, which "
        "they share."
    ),
    size=(7.6, 4.4),
)
def positions(figure: Figure, dataset: xr.Dataset) -> None:
    """The jump above N on the training distribution, with rows of the table exchanged; and the lengths of the rows."""
    *panels, right = figure.subplots(1, 3, width_ratios=(1.15, 1.15, 0.9))
    ink, N = mpl.rcParams["text.color"], dataset.attrs["N"]
    for axes, (_, model) in zip(panels, each(with_range(dataset, "risk", "run"), "trained"), strict=True):
        for k, cell in each(model, "table"):
            band(axes, cell, "risk", "M", k)
            line(axes, cell, "risk", "M", k, marker=MARKERS[k], markevery=(k, 8), linewidth=1.2, label="{table}")
        axes.axvline(N, color=ink, linewidth=0.8)
        axes.set(yscale="log", ylim=(0.03, 9), xlabel="examples $M$", title=f"{model.trained.item()} covariance")
        plain_logarithms(axes.yaxis)
    panels[0].set_ylabel("squared error / $d$")
    panels[1].tick_params(labelleft=panels[1].get_subplotspec().colspan.start == 0)  # below the other, on a narrow screen
    for k, model in each(dataset.isel(run=0), "trained"):
        style = {"color": ("C5", "C1")[k], "fillstyle": ("full", "none")[k], "markersize": (3, 5)[k]}
        points(right, model, "row_norm", "row", k, label="{trained}", **style)
    right.axvline(2 * N, color=ink, linewidth=0.8)
    right.set(yscale="log", ylim=(0.08, 8), xlabel="row of the table", title="length of the row")
    plain_logarithms(right.yaxis)
    right.legend()
    legend(panels[0], columns=3, side="upper")


def _alt_scale(dataset: xr.Dataset) -> str:
    largest = dataset.risk.isel(N=0, c=-1).mean("run")
    worst = (
        f"at most to {at_most(cell.max())} with {cell.idxmax('way').item()} after training on {cell.trained.item()} ones"
        for cell in largest
    )
    return (
        "Two panels, models trained on fixed and on random covariances: error over that of predicting zero against the "
        f"scale c, up to {float(dataset.c[-1]):g}. With inputs or labels or both scaled the error rises with c, "
        f"{', and '.join(worst)}. Divided by the prompt's own size it is the same at every c."
    )


@drawing(
    "zhang-gpt2-scale",
    alt=_alt_scale,
    caption=(
        "Error over that of predicting 0 at <i>M</i> = <i>N</i>, random covariances times <i>c</i>, means of three "
        "trainings with their range. Inputs and labels are multiplied by √<i>c</i>, or one of them alone; own "
        "size: labels are then divided by the root mean square of all entries of the prompt's inputs, and inputs by the same "
        "or entry by entry."
    ),
    size=(7.6, 4.2),
)
def scale(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over that of predicting 0 against the scale: what is scaled, and whether the prompt's own size mends it."""
    panels = figure.subplots(1, 2, sharey=True)
    place = np.arange(dataset.sizes["c"])
    shown = with_range(dataset.isel(N=0), "risk", "run")
    for axes, (_, model) in zip(panels, each(shown, "trained"), strict=True):
        for k, cell in each(model, "way"):
            points(axes, cell, "risk", place + 0.06 * (k - 2), k, linestyle=LINES[k], linewidth=1.0, label="{way}")
        axes.set_xticks(place, [f"{c:g}" for c in dataset.c.values])
        title = f"{model.trained.item()} covariance, $N={model.N.item()}$"
        axes.set(yscale="log", xlabel="scale $c$ of the covariance", title=title)
        plain_logarithms(axes.yaxis)
    panels[0].set_ylabel("error / error of predicting 0")
    legend(panels[0], columns=3, side="upper")
