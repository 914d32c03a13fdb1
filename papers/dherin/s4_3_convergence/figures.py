"""Figures of section 4.3: marginal updates along the context, and what they say about learning."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, each, entry, legend, line, points

BESIDE = 1.06
"""The factor by which markers of one n are drawn apart on a logarithmic axis."""


def _alt_marginal(dataset: xr.Dataset) -> str:
    trained = dataset.sel(case="trained")
    step, apart = (
        f"from {values[0]:.1f} at the first token to {values.sel(n=10):.2f} at the tenth and {values[-1]:.2f} at the last"
        for values in (trained.scaled, trained.apart)
    )
    return (
        "Four panels. Upper left, log-log: marginal updates of trained and untrained attention, and with noise for "
        "labels, fall together along the line 1/n; summed without softmax they stay level, near "
        f"{dataset.marginal.sel(case='no normalisation').mean():.1f}. Upper right: steps of the prediction do the same. Lower "
        f"left: n times the update over kappa comes {step}, for the trained block. Lower right: the distance to the endless "
        f"context times root n over kappa comes {apart}; with noise labels it rises to "
        f"{dataset.apart.sel(case='labels are noise')[-1]:.1f}."
    )


@drawing(
    "dherin-marginal-updates",
    alt=_alt_marginal,
    caption=(
        "Token <i>n</i> takes Δ<i>W</i><sub><i>n</i>−1</sub> to Δ<i>W</i><sub><i>n</i></sub> at one query a trial. Top "
        "left: mean over trials and networks, two standard errors over trials. Top right: median. Straight lines fall "
        "like 1/<i>n</i>. The two others: root mean squares over trials; line: the prediction 1, for labels of a task. "
        "Markers of one <i>n</i> are drawn side by side, because three of the cases coincide."
    ),
    size=(7.6, 6.6),
)
def marginal_updates(figure: Figure, dataset: xr.Dataset) -> None:
    """Marginal updates and steps of the prediction along the context; both scaled by the predicted law."""
    (first, second), (third, fourth) = figure.subplots(2, 2)
    for k, cell in each(dataset.isel(n=_spread(dataset.n)), "case"):
        beside = cell.n * BESIDE ** (k - 1)
        points(first, cell, "marginal", beside, k, elinewidth=0.8, label="{case}")
        points(second, cell, "output", beside, k)
        if cell.case != "no normalisation":
            points(third, cell, "scaled", beside, k)
            points(fourth, cell, "apart", beside, k)
    _law(first, dataset.sel(case="trained"), "marginal")
    _law(second, dataset.sel(case="trained"), "output")
    first.set(ylabel=r"$\|\Delta W_n-\Delta W_{n-1}\|$")
    second.set(ylabel="step of the prediction")
    third.set(ylabel=r"$n\,\|\Delta W_n-\Delta W_{n-1}\|\,\|A(x)\|/\kappa$", ylim=(0, 1.5))
    fourth.set(ylabel=r"$\sqrt{n}\,\|\Delta W_n-\Delta W_\infty\|\,\|A(x)\|/\kappa$", ylim=(0, None))
    for axes in (first, second):
        axes.set(xscale="log", yscale="log", xlabel="token $n$")
        axes.text(0.04, 0.06, "trained, untrained, noise:\nthe same slope", transform=axes.transAxes, fontsize=9.5)
    for axes in (third, fourth):
        axes.axhline(1, color=mpl.rcParams["text.color"], linewidth=0.8)
        axes.set(xlabel="token $n$", xscale="log")
    legend(first, columns=5)


def _alt_compared(dataset: xr.Dataset) -> str:
    trained, untrained = dataset.share[2].mean("seed")[:, -1].values  # of the GRU
    return (
        "Four panels. Upper left, log-log: attention's marginal updates fall along 1/n, trained and untrained; those of "
        "tanh RNN and GRU level off. Upper right: error after N examples; trained layers fall, the GRU lowest, the tanh "
        "RNN ends above attention; untrained layers stay near the prediction 0. Lower left: share of the newest token, 1/n in "
        f"attention, level at {trained:.1f} in the trained GRU and {untrained:.1f} in the untrained one. Lower right: error "
        "against slope: no relation."
    )


@drawing(
    "dherin-layers-compared",
    alt=_alt_compared,
    caption=(
        "Filled: trained, hollow: untrained. Top left: mean marginal update over trials and networks, two standard "
        "errors. Top right: mean squared error after <i>N</i> examples, with Student's intervals over networks; dashed: one "
        "gradient step of the best size. Bottom left: mean weight of the newest of <i>n</i> tokens. Bottom right: error at the "
        "end of the prompt against the log-log slope of the marginal updates, a marker for each network."
    ),
    size=(7.6, 6.6),
)
def layers(figure: Figure, dataset: xr.Dataset) -> None:
    """Marginal updates, shares and errors along the prompt for attention, tanh RNN and GRU."""
    (first, second), (third, fourth) = figure.subplots(2, 2)
    n, ink = _spread(dataset.n), mpl.rcParams["text.color"]
    for k, both in each(dataset.isel(n=n, N=n + 1), "layer"):
        for _, cell in each(both, "state"):
            trained = cell.state == "trained"
            style = {} if trained else {"markerfacecolor": "none", "alpha": 0.8}
            points(first, cell, "marginal", "n", k, elinewidth=0.8, label="{layer}" if trained else None, **style)
            points(second, cell, "loss", "N", k, elinewidth=0.8, **style)
            if cell.share.notnull().any():
                points(third, cell.mean("seed"), "share", "n", k, **style)
            points(fourth, cell[["slope", "loss_end"]].rename(seed="network"), "loss_end", "slope", k, **style)
    own = dataset.isel(layer=0).sel(state="trained").mean("seed")
    _law(first, own, "marginal")
    _law(third, own.assign(share=1 / own.n), "share")
    line(
        second,
        dataset.isel(N=slice(1, None)),
        "loss_step",
        "N",
        color=ink,
        linestyle="--",
        linewidth=1,
        label="one gradient step",
    )
    for axes in (first, second, third):
        axes.set(xscale="log", yscale="log", xlabel="token $n$")
    first.set_ylabel(r"$\|\Delta W_n-\Delta W_{n-1}\|$")
    second.set(xlabel="examples $N$", ylabel="error")
    second.legend(loc="lower left")
    third.set_ylabel("share of token $n$")
    fourth.set(
        yscale="log", xlabel="slope of the marginal updates", ylabel=f"error after {int(dataset.N[-1])}", xlim=(-1.3, 0.3)
    )
    entry(fourth, "filled: trained", color=ink)
    entry(fourth, "hollow: untrained", color=ink, markerfacecolor="none")
    legend(first, fourth, columns=3)


def _law(axes: Axes, dataset: xr.Dataset, name: str) -> None:
    """Draw the line 1/n through the last point."""
    law = dataset.assign({name: dataset[name].isel(n=-1) * dataset.n[-1] / dataset.n})
    line(axes, law, name, "n", color=mpl.rcParams["text.color"], linewidth=1, label="$1/n$")


def _spread(n: xr.DataArray) -> np.ndarray:
    """Return places of n that lie evenly on a logarithmic axis."""
    return np.unique(np.geomspace(1, len(n), 16).round().astype(int)) - 1


def slopes(dataset: xr.Dataset) -> Table:
    """Return how updates decay, and how far the formulas are from them, means over networks."""
    mean = dataset.mean("seed")
    columns = {
        "slope": mean.slope,
        "of the prediction": mean.output_slope,
        "step over κ": mean.scaled_late,
        "distance over κ": mean.apart_late,
        "falling steps": mean.falling,
    }
    return Table.by({"case": "case"}, columns)


LAYERS = {"layer": "layer", "state": "state"}


def ends(dataset: xr.Dataset) -> Table:
    """Return how updates of each layer decay and where they end, means over networks."""
    mean = dataset.mean("seed")
    columns = {"slope": mean.slope, "last step over the update": mean["last"], "squared error at the end": mean.loss_end}
    return Table.by(LAYERS, columns, ".3f")


def moved(dataset: xr.Dataset) -> Table:
    """Return how far one more example moves W A and the prediction, means over networks."""
    mean = dataset.mean("seed")
    return Table.by(LAYERS, {"W A moves by": mean.moved_hidden, "the prediction moves by": mean.moved_output})


def rates(dataset: xr.Dataset) -> Table:
    """Return errors and slopes of recurrent networks trained at two rates, beside the error of attention, one row a network."""
    columns = {
        "squared error, rate 0.003": dataset.loss_rnn,
        "squared error, rate 0.01": dataset.loss_rnn_faster,
        "squared error, attention": dataset.loss_attention,
        "slope, rate 0.003": dataset.slope_rnn,
        "slope, rate 0.01": dataset.slope_rnn_faster,
    }
    return Table.by({"seed": "initialisation"}, columns, ".3f")
