"""Figures of section 4.3: marginal updates along the context, and what they say about learning."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from icl_lib.companion.figure import LINES, drawing, points, points_over_seeds

BESIDE = 1.06
"""The factor by which markers of one n stand apart on a logarithmic axis."""


@drawing(
    "dherin-marginal-updates",
    alt=(
        "Four panels. Upper left, log-log: marginal updates of trained and untrained attention, and with noise for "
        "labels, fall together along the line 1/n; summed without softmax they stay level, near 1.4. Upper right: steps "
        "of the prediction do the same. Lower left: n times the update over kappa is level at 1 for the trained block. "
        "Lower right: distance to the endless context times root n over kappa is level at 1; with noise labels it rises."
    ),
    caption=(
        "Token <i>n</i> takes Δ<i>W</i><sub><i>n</i>−1</sub> to Δ<i>W</i><sub><i>n</i></sub> at one query a trial. Upper "
        "left: mean over trials and networks, two standard errors over trials. Upper right: median. Straight lines fall "
        "like 1/<i>n</i>. Lower panels: root mean squares over trials; line: the prediction 1, for labels of a task. "
        "Markers of one <i>n</i> stand side by side, because three of the cases coincide."
    ),
    size=(7.6, 6.6),
)
def marginal_updates(figure: Figure, dataset: xr.Dataset) -> None:
    """Marginal updates and steps of the prediction along the context; both scaled by the predicted law."""
    (first, second), (third, fourth) = figure.subplots(2, 2)
    n = dataset.n.values
    shown = _spread(n)
    for k, case in enumerate(dataset.case.values):
        cell = dataset.sel(case=case).isel(n=shown)
        x = cell.n * BESIDE ** (k - 1)
        points(first, x, cell.marginal, 2 * cell.marginal_se, k, elinewidth=0.8, label=case)
        points(second, x, cell.output, None, k)
        if case != "no normalisation":
            points(third, x, cell.scaled, None, k)
            points(fourth, x, cell.apart, None, k)
    _law(first, n, float(dataset.marginal.sel(case="trained").isel(n=-1)))
    _law(second, n, float(dataset.output.sel(case="trained").isel(n=-1)))
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
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=5)


@drawing(
    "dherin-layers-compared",
    alt=(
        "Four panels. Upper left, log-log: attention's marginal updates fall along 1/n, trained and untrained; those of "
        "tanh RNN and GRU stay level. Upper right: error after N examples; trained layers fall, the GRU lowest, the tanh "
        "RNN ends above attention; untrained layers stay near 2. Lower left: share of the newest token, 1/n in attention, "
        "level near 0.4 in the GRU. Lower right: error against slope: no relation."
    ),
    caption=(
        "Filled: trained, hollow: untrained. Upper left: mean marginal update over trials and networks, two standard "
        "errors. Upper right: mean squared error after <i>N</i> examples; line: one gradient step of the best size. Lower "
        "left: mean weight of the newest of <i>n</i> tokens. Lower right: error at the end of the prompt against the "
        "log-log slope of the marginal updates, a marker for each network."
    ),
    size=(7.6, 6.6),
)
def layers(figure: Figure, dataset: xr.Dataset) -> None:
    """Marginal updates, shares and errors along the prompt for attention, tanh RNN and GRU."""
    (first, second), (third, fourth) = figure.subplots(2, 2)
    n = _spread(dataset.n.values)
    for k, layer in enumerate(dataset.layer.values):
        for state in dataset.state.values:
            cell = dataset.sel(layer=layer, state=state)
            style = {} if state == "trained" else {"markerfacecolor": "none", "alpha": 0.8}
            label = layer if state == "trained" else None
            se, mean = (cell.marginal_se**2).mean("seed") ** 0.5 / cell.sizes["seed"] ** 0.5, cell.mean("seed")
            points(first, cell.n[n], mean.marginal[n], 2 * se[n], k, elinewidth=0.8, label=label, **style)
            points_over_seeds(second, cell.N[n + 1], cell.loss[:, n + 1], k, elinewidth=0.8, **style)
            points(third, cell.n[n], mean.share[n], None, k, **style)
            points(fourth, cell.slope, cell.loss_end, None, k, **style)
    own = float(dataset.marginal.sel(layer=dataset.layer[0], state="trained").mean("seed").isel(n=-1))
    _law(first, dataset.n.values, own)
    _law(third, dataset.n.values, 1 / dataset.sizes["n"])
    second.plot(dataset.N[1:], dataset.loss_step[1:], color=mpl.rcParams["text.color"], linewidth=1, label="one gradient step")
    for axes in (first, second, third):
        axes.set(xscale="log", yscale="log", xlabel="token $n$")
    first.set_ylabel(r"$\|\Delta W_n-\Delta W_{n-1}\|$")
    second.set(xlabel="examples $N$", ylabel="error")
    second.legend(loc="lower left")
    third.set_ylabel("share of token $n$")
    fourth.set(
        yscale="log", xlabel="slope of the marginal updates", ylabel=f"error after {int(dataset.N[-1])}", xlim=(-1.3, 0.3)
    )
    handles, labels = first.get_legend_handles_labels()
    ink = mpl.rcParams["text.color"]
    handles += [Line2D([], [], color=ink, marker="o", ls="none", mfc=face) for face in (ink, "none")]
    labels += ["filled: trained", "hollow: untrained"]
    figure.legend(handles, labels, loc="outside lower center", ncols=3)


def _law(axes: Axes, n: np.ndarray, end: float) -> None:
    """Draw the line 1/n through the last point."""
    line = {"color": mpl.rcParams["text.color"], "linestyle": LINES[0], "linewidth": 1}
    axes.plot(n, end * n[-1] / n, label="$1/n$", **line)


def _spread(n: np.ndarray) -> np.ndarray:
    """Return places of n that lie evenly on a logarithmic axis."""
    return np.unique(np.geomspace(1, len(n), 16).round().astype(int)) - 1
