"""Figures of section 4.1."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import at_most, drawing, each, legend, line, points, series, span


def _alt_flow(dataset: xr.Dataset) -> str:
    end = dataset.distance_U_11.isel(start=0, time=-1)
    return (
        f"Two panels over time on log axes. Left: the relative distance of U_11 to its limit falls from about 1; {span(end)} "
        "is left. Right: the excess loss falls earlier. The largest condition number, 20, takes longest."
    )


@drawing(
    "zhang-flow",
    alt=_alt_flow,
    caption=(
        "Gradient flow from Assumption 3.3. Left: relative distance of <i>U</i><sub>11</sub> to the limit of Theorem 4.1. "
        "Right: loss above its minimum, relative to the minimum. One initialisation a setting is drawn."
    ),
    size=(8.4, 3.5),
)
def flow(figure: Figure, dataset: xr.Dataset) -> None:
    """Distance to the limit and excess loss along gradient flow, one line a setting."""
    left, right = figure.subplots(1, 2, sharex=True)
    shown = dataset.isel(start=0, time=slice(1, None))
    for k, course in each(shown, "setting"):
        line(left, course, "distance_U_11", "time", k, label="{setting}")
        line(right, course, "loss_gap", "time", k)
    left.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="relative distance to the limit", ylim=(1e-11, 3))
    right.set(yscale="log", xlabel="time $t$", ylabel=r"$(L-L^*)/L^*$", ylim=(1e-20, 1e2))
    left.legend()


def _alt_training(dataset: xr.Dataset) -> str:
    return (
        "Left: the error of the factor u_-1 grows with the learning rate, in proportion while small; the error of the product "
        f"is {span(dataset.descent_product)}. Right: minibatch loss of SGD falls to the least population loss."
    )


@drawing(
    "zhang-training",
    alt=_alt_training,
    caption=(
        "Left: error after population gradient descent. The product <i>u</i><sub>−1</sub><i>U</i><sub>11</sub> is right at "
        "every step size tried, the factor only in the limit of small steps. Right: loss of SGD on fresh minibatches, one thin "
        "line a seed; the dashed line is the least population loss."
    ),
    size=(8.4, 3.5),
)
def training(figure: Figure, dataset: xr.Dataset) -> None:
    """What finite steps keep and what they lose: the product and the factor over the learning rate; SGD's loss."""
    left, right = figure.subplots(1, 2)
    points(left, dataset, "descent_factor", "rate", 1, label="factor $u_{-1}$")
    points(left, dataset.clip(1e-17), "descent_product", "rate", 0, label="product $u_{-1}U_{11}$")
    left.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="relative error", ylim=(1e-17, 1))
    left.legend(loc="center right")
    for _, run in each(dataset, "seed"):
        line(right, run, "sgd_loss", "step", linewidth=0.8)
    right.axhline(float(dataset.loss_minimum), color="C1", linestyle="--", label="$L^*$")
    right.set(xscale="log", yscale="log", xlabel="step", ylabel="minibatch loss")
    right.legend()


def _alt_stationarity(dataset: xr.Dataset) -> str:
    largest = abs(dataset.gradient).max("entry")
    return (
        "The entries of the gradient at three points. At Theorem 4.1 they lie about zero, at most "
        f"{at_most(largest[0], '.1g')} from it; with u_-1 ten percent too large, or with the inverse of Lambda, they reach "
        f"{span(largest[1:])}."
    )


@drawing(
    "zhang-stationarity",
    alt=_alt_stationarity,
    caption=(
        "Gradient of the full population loss in all live parameters, with two standard errors: at the limit of Theorem 4.1 "
        "(circles), with <i>u</i><sub>−1</sub> 10% too large (squares), with Λ<sup>−1</sup> for Γ<sup>−1</sup> (diamonds)."
    ),
)
def stationarity(figure: Figure, dataset: xr.Dataset) -> None:
    """Every entry of the gradient at the closed form and beside it."""
    axes = figure.subplots()
    places = range(dataset.sizes["entry"])
    labels = ("Theorem 4.1", r"$u_{-1}$ 10% too large", r"$\Lambda^{-1}$ for $\Gamma^{-1}$")
    for k, label in enumerate(labels):
        points(axes, dataset.isel(point=k), "gradient", [place + 0.22 * (k - 1) for place in places], k, label=label)
    kinds = [str(entry).split("[")[0] for entry in dataset.entry.values]
    groups = {kind: [i for i in places if kinds[i] == kind] for kind in dict.fromkeys(kinds)}
    symbols = {"U_11": "$U_{11}$", "u_21": "$u_{21}$", "u_12": "$u_{12}$", "u_-1": "$u_{-1}$"}
    axes.set_xticks([sum(group) / len(group) for group in groups.values()], [symbols[kind] for kind in groups])
    axes.set(xlabel="parameter", ylabel="gradient of $L$")
    axes.legend()


@drawing(
    "zhang-risk",
    alt=(
        "Three panels of test error against test prompt length for noiseless, noisy and cubic labels. Measured markers lie on "
        "the theory lines, which fall towards a floor that is lower for longer training prompts."
    ),
    caption=(
        "Test error of the trained model against test prompt length <i>M</i>. Lines: Theorem 4.2. Markers: Monte Carlo with "
        "two standard errors. The floor at large <i>M</i> is the bias, set by the training length <i>N</i>, plus the error of "
        "the best linear predictor."
    ),
    size=(8.4, 3.4),
)
def risk(figure: Figure, dataset: xr.Dataset) -> None:
    """Test error over test length, one panel a distribution of labels: Theorem 4.2 as lines, Monte Carlo as markers."""
    dataset = dataset.isel(d=0)
    panels = figure.subplots(1, dataset.sizes["labels"], sharex=True, squeeze=False)[0]
    first = dataset.isel(M=0)
    dataset["length"] = np.geomspace(*dataset.M.values[[0, -1]], 60)
    dataset["curve"] = first.best_linear + first.variance * first.M / dataset.length + first.bias
    for axes, (_, cell) in zip(panels, each(dataset, "labels"), strict=True):
        series(axes, cell, "risk", "M", "N", label="$N={N}$", theory=("curve", "length"))
        axes.set(xscale="log", title=f"{cell.labels.item()} labels", xlabel="test length $M$")
        label_lengths(axes, dataset.M.values)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("test error")
    panels[0].legend()


def _caption_averaged_error(dataset: xr.Dataset) -> str:
    kappas = [f"{kappa:g}" for kappa in dataset.kappa.values]
    return (
        "Error averaged over tasks against training length <i>N</i>, for condition numbers "
        f"κ = {', '.join(kappas)}. Lines: <i>e</i>(<i>N</i>, <i>M</i>). Markers: Monte Carlo with two standard "
        "errors. Crosses: the least error of each line, at <i>N</i> = <i>M</i>."
    )


@drawing(
    "zhang-averaged-error",
    alt=(
        "One panel a condition number: error against training length for several test lengths. Each curve falls, has its least "
        "value where the training length equals the test length, and rises again. Markers lie on the lines."
    ),
    caption=_caption_averaged_error,
    size=(8.4, 3.6),
)
def averaged_error(figure: Figure, dataset: xr.Dataset) -> None:
    """The error over the training length, at fixed test lengths: least at N = M."""
    dataset = dataset.isel(d=0)
    shown = dataset.isel(N=slice(0, -1))
    panels = figure.subplots(1, dataset.sizes["kappa"], sharey=True, squeeze=False)[0]
    for axes, kappa in zip(panels, dataset.kappa.values, strict=True):
        panel = shown.sel(kappa=kappa)
        series(axes, panel, "error", "N", "M", label="$M={M}$", theory=("error_over_N", "curve_N"))
        for k, cell in each(panel, "M"):
            points(axes, cell.sel(curve_N=cell.best_N), "error_over_N", "curve_N", k, marker="x", markersize=10)
        axes.set(xscale="log", title=rf"$\kappa={kappa:g}$", xlabel="training length $N$")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("error, averaged over tasks")
    legend(panels[0], columns=dataset.sizes["M"])


@drawing(
    "zhang-isotropic",
    alt=(
        "Error per dimension against prompt length on a log axis. Trained attention lies below averaging and above least "
        "squares, which is at zero from 20 examples on. Markers lie on the theory lines."
    ),
    caption=(
        "Isotropic inputs, trained and tested at the same length. Lines: closed forms for the trained model and for averaging. "
        "Markers: Monte Carlo with two standard errors. Least squares is exact from <i>N</i> = <i>d</i> on; the trained model "
        "is not, at any finite length."
    ),
)
def isotropic(figure: Figure, dataset: xr.Dataset) -> None:
    """LSA at N = M beside averaging and least squares, at Lambda = I."""
    dataset = dataset.isel(d=0)
    axes = figure.subplots()
    for k, (name, label) in enumerate({"averaging": "averaging", "lsa": "trained LSA", "ols": "least squares"}.items()):
        if f"{name}_theory_curve" in dataset:
            line(axes, dataset, f"{name}_theory_curve", "curve_N", k)
        points(axes, dataset, name, "N", k, label=label)
    axes.set(xscale="log", xlabel="prompt length $N = M$", ylabel="error per dimension")
    label_lengths(axes, dataset.N.values)
    axes.legend()


def label_lengths(axes: Axes, lengths: np.ndarray) -> None:
    """Put plain ticks at the measured prompt lengths of a logarithmic axis."""
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.set_xticks([], minor=True)
