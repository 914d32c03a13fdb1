"""Figures of section 4.4: finetuning against the patch, and their alignment."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

from icl_lib.companion.figure import LINES, MARKERS, drawing


@drawing(
    "dherin-finetuning",
    alt=(
        "Two panels, loss on a logarithmic axis. Left: over i up to 100 the patch falls like a power law; finetuning "
        "markers fall along straight lines, slower than the patch at rate 0.003, close to it at 0.01, faster at 0.03. "
        "Right: the loss at the last i falls with the rate up to about 0.05, then shoots up; it crosses the level of the "
        "patch near rate 0.01 with factor 1 and near 0.02 with factor one half."
    ),
    caption=(
        "Left: test loss on (<i>x</i>, 0) after finetuning on <i>i</i> examples with the loss (<i>p</i> − <i>y</i>)² "
        "(markers, two standard errors over tasks), its prediction (thin lines) and the patch of the same <i>i</i> "
        "examples (thick line). Right: loss after all examples over the learning rate, for the loss with factor 1 and ½. "
        "Horizontal: the patch. Vertical: the predicted limit of stability for factor 1. Losses above 100 are drawn at 100."
    ),
    size=(7.8, 4.0),
)
def losses(figure: Figure, dataset: xr.Dataset) -> None:
    """Test loss over the number of examples for several rates, and at the end over the rate."""
    left, right = figure.subplots(1, 2)
    mean = dataset[["loss", "loss_theory", "loss_patch"]].mean("seed")
    error = _pooled(dataset.loss_se)
    ink = mpl.rcParams["text.color"]
    few = slice(1, None, 2)
    for k, rate in enumerate(rate for rate in dataset.rate.values if rate <= 0.03):
        cell = dict(factor=1.0, rate=rate)
        left.plot(dataset.i, mean.loss_theory.sel(rate=rate), color=f"C{k}", linewidth=0.9, linestyle=LINES[k + 1])
        left.errorbar(
            dataset.i[few], mean.loss.sel(cell)[few], 2 * error.sel(cell)[few], color=f"C{k}", marker=MARKERS[k],
            linestyle="none", elinewidth=0.8, label=f"finetuned, rate {rate:g}",
        )  # fmt: skip
    left.plot(dataset.i, mean.loss_patch, color=ink, linewidth=2.2, label="patch ΔW")
    left.set(xlabel="examples $i$", ylabel="test loss", yscale="log", ylim=(2e-3, 6))
    _plain(left.yaxis, (0.01, 0.1, 1))
    left.legend(loc="lower left")
    end = mean.isel(i=-1)
    for k, factor in enumerate(dataset.factor.values):
        cell = end.loss.sel(factor=factor).clip(max=100)
        right.errorbar(
            dataset.rate, cell, (2 * error.sel(factor=factor).isel(i=-1)).where(cell < 100), color=f"C{k}",
            marker=MARKERS[k], linestyle=LINES[k], linewidth=0.8, elinewidth=0.8, label=f"finetuned, factor {factor:g}",
        )  # fmt: skip
    right.axhline(float(end.loss_patch), color=ink, linewidth=2.2, label="patch ΔW")
    right.axvline(2 / float(dataset.speed.mean() * (dataset.d + 2)), color=ink, linewidth=0.9, linestyle=":", ymax=0.72)
    right.set(xlabel="learning rate", ylabel=f"test loss at $i$ = {int(dataset.i[-1])}", xscale="log", yscale="log")
    right.set(ylim=(2e-3, 3e4), xlim=(0.0023, 1.3))
    _plain(right.xaxis, (0.003, 0.01, 0.03, 0.1, 0.3, 1))
    _plain(right.yaxis, (0.01, 0.1, 1, 10, 100))
    right.legend(loc="upper left")


@drawing(
    "dherin-finetuning-scales",
    alt=(
        "Loss over the number of examples. One thick line for the patch, the same for every scale. Finetuning at rate 0.01 "
        "falls much faster than the patch when the weights are scaled by 0.6, and much slower when scaled by 1.7."
    ),
    caption=lambda dataset: (
        "One function, three parametrisations (<i>sW</i>, <i>sb</i>, <i>u</i>/<i>s</i>), all finetuned at rate "
        f"{float(dataset.rate_of_paper):g} with the loss (<i>p</i> − <i>y</i>)². Mean over networks and tasks. The patch "
        "(thick line) is the same for all of them."
    ),
    size=(5.6, 3.6),
)
def scales(figure: Figure, dataset: xr.Dataset) -> None:
    """The same function at three scales of its weights, finetuned at one rate."""
    axes = figure.subplots()
    mean = dataset[["loss", "loss_scaled", "loss_patch"]].mean("seed")
    one = mean.loss.sel(factor=1.0, rate=dataset.rate_of_paper)
    curves = [(float(s), mean.loss_scaled.sel(scale=s)) for s in dataset.scale.values] + [(1.0, one)]
    for k, (s, curve) in enumerate(sorted(curves, key=lambda each: each[0])):
        axes.plot(dataset.i, curve, color=f"C{k}", marker=MARKERS[k], linestyle=LINES[k], linewidth=0.8, label=f"$s$ = {s:g}")
    axes.plot(dataset.i, mean.loss_patch, color=mpl.rcParams["text.color"], linewidth=2.2, label="patch ΔW, any $s$")
    axes.set(xlabel="examples $i$", ylabel="test loss", yscale="log", ylim=(2e-3, 6))
    _plain(axes.yaxis, (0.01, 0.1, 1))
    axes.legend(loc="lower left")


@drawing(
    "dherin-alignment",
    alt=(
        "Two panels over the number of examples, logarithmic. Left: alignment with true labels rises from 0.02 to 0.2; "
        "with labels of another task, shuffled labels and in untrained networks it stays near 0; the ceiling lies "
        "near 0.65. Right: labels of the mirrored task end on the same curve, reversed labels at the query on its "
        "mirror image; the label parts reach 0.45, the answer written in 0.47."
    ),
    caption=(
        "Left: mean alignment of the patch with finetuning, and its three controls. Solid line: the same with the one "
        "matrix <i>u</i>(<i>Gw</i>)<sup>T</sup> in place of finetuning. Dashed line: the ceiling κ. Right: labels of other "
        "tasks that agree with the true ones at the query, or at a right angle to it; the parts that depend on labels; "
        "and, in place of the patch, one gradient step on the query's own label. Intervals: two standard errors over tasks "
        "(untrained: over networks)."
    ),
    size=(7.8, 4.4),
)
def alignment(figure: Figure, dataset: xr.Dataset) -> None:
    """Alignment over the number of examples, with ceiling, controls, and what explains it."""
    left, right = figure.subplots(1, 2)
    ink = mpl.rcParams["text.color"]
    left.plot(dataset.i, dataset.share.mean("seed"), color=ink, linestyle="--", linewidth=1.2, label="ceiling κ")
    left.plot(dataset.i, dataset.alignment_mean.mean("seed"), color="C0", label="with $u(Gw)^T$")
    for k, labels in enumerate(("true", "another task", "shuffled")):
        name = {"true": "true labels", "another task": "another task's", "shuffled": "shuffled"}[labels]
        _series(left, dataset.sel(labels=labels), "alignment", k, name)
    starts = dataset.alignment_untrained
    error = 2 * starts.std("start", ddof=1) / starts.sizes["start"] ** 0.5
    left.errorbar(dataset.i, starts.mean("start"), error, color="C3", marker=MARKERS[3], linestyle="none", label="untrained")
    _series(right, dataset.sel(labels="true"), "alignment", 0, "true labels")
    _series(right, dataset.sel(labels="mirrored task"), "alignment", 4, "mirrored task")
    _series(right, dataset.sel(labels="query's label reversed"), "alignment", 5, "reversed at the query")
    _series(right, dataset, "alignment_label", 1, "label parts")
    _series(right, dataset, "answer", 2, "answer written in")
    for axes in (left, right):
        axes.axhline(0, color=ink, linewidth=0.8)
        axes.set(xlabel="examples $i$", xscale="log", ylim=(-0.3, 1))
        _plain(axes.xaxis, (1, 3, 10, 30, 100))
        axes.legend(loc="upper center", ncols=2, fontsize=8.5, columnspacing=1)
    left.set_ylabel("alignment")


def _series(axes: Axes, dataset: xr.Dataset, name: str, k: int, label: str) -> None:
    axes.errorbar(
        dataset.i, dataset[name].mean("seed"), 2 * _pooled(dataset[f"{name}_se"]), color=f"C{k}", marker=MARKERS[k],
        linestyle=LINES[k] if axes.get_subplotspec().colspan.start else "none", linewidth=0.6, elinewidth=0.8, label=label,
    )  # fmt: skip


@drawing(
    "dherin-alignment-direction",
    alt=(
        "Two panels over the number of examples, logarithmic. Left: cosine of finetuning with u times Gw rises from 0.44 "
        "to 0.9, close to the predicted line; with shuffled labels it stays near 0. Right: the mean of kappa squared stays "
        "near 0.53, on the predicted line; at the first example in place of the query it falls from 1 to 0.5."
    ),
    caption=(
        "Left: cosine of what finetuning changes with <i>u</i>(<i>Gw</i>)<sup>T</sup>; line: predicted from <i>K</i> and "
        "<i>w</i> alone. Right: κ², the squared share of finetuning that the query sees; line: mean over queries that "
        "finetuning does not know. Intervals: two standard errors over tasks."
    ),
    size=(7.4, 3.5),
)
def direction(figure: Figure, dataset: xr.Dataset) -> None:
    """Where finetuning goes: its cosine with u (G w)^T, measured and predicted."""
    left, right = figure.subplots(1, 2)
    mean = dataset.mean("seed")
    left.plot(dataset.i, mean.towards_mean_theory, color="C0", label="predicted")
    for k, (axes, name, label) in enumerate(((left, "towards_mean", "measured"), (right, "share_squared", "at the query"))):
        error = 2 * _pooled(dataset[f"{name}_se"])
        axes.errorbar(dataset.i, mean[name], error, color=f"C{2 * k}", marker=MARKERS[2 * k], linestyle="none", label=label)
    left.plot(dataset.i, mean.towards_mean_shuffled, color="C1", marker=MARKERS[1], linestyle="none", label="shuffled labels")
    right.plot(dataset.i, mean.share_squared_theory, color="C2", label="any query")
    right.plot(
        dataset.i, mean.share_squared_first, color="C3", marker=MARKERS[3], linestyle="none", label="at the first example"
    )
    left.set(ylabel="cosine with $u(Gw)^T$", ylim=(-0.1, 1.05))
    right.set(ylabel="$κ^2$", ylim=(0, 1.05))
    for axes, place in ((left, "center right"), (right, "lower right")):
        axes.set(xlabel="examples $i$", xscale="log")
        _plain(axes.xaxis, (1, 3, 10, 30, 100))
        axes.legend(loc=place)


def _pooled(error: xr.DataArray) -> xr.DataArray:
    """Return the standard error of the mean over networks, each with tasks of its own."""
    return np.sqrt((error**2).sum("seed")) / error.sizes["seed"]


def _plain(axis, ticks) -> None:
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
