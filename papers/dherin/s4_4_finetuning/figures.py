"""Figures of section 4.4: finetuning against the patch, and their alignment."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

from icl_lib.companion import LINES, MARKERS, Table, at_most, drawing, each, interval, legend, line, points, span

LABELS = {"true": "true labels", "another task": "another task's", "shuffled": "shuffled"}
"""Labels of finetuning in the left panel of the alignment, as the legend has them."""
BARS = {"elinewidth": 0.8}


def _alt_losses(dataset: xr.Dataset) -> str:
    patch, rate = dataset.loss_patch.mean("seed"), float(dataset.rate_of_paper)
    end = dataset[["loss", "loss_own"]].mean("seed").isel(i=-1)
    whole, half = (float(end.loss_own.sel(factor=factor)) for factor in (1.0, 0.5))
    others = "".join(f", at rate {each:g} at {float(end.loss.sel(rate=each, factor=1.0)):.2g}" for each in _others(dataset))
    best = (f"{float(end.loss.sel(factor=factor).idxmin('rate')):g}" for factor in (1.0, 0.5))
    return (
        f"Two panels, loss on a logarithmic axis. Left: from i = 0 to {int(dataset.i[-1])} the patch falls from "
        f"{float(patch[0]):.2g} to {float(patch[-1]):.2g}; finetuning ends at {half:.2g} at rate {rate:g} with "
        f"half the loss, with the whole at {whole:.2g}{others}. Right: the loss at the last i is least at rate {next(best)} "
        f"with factor 1 and at rate {next(best)} with factor one half, and shoots up at larger rates."
    )


@drawing(
    "dherin-finetuning",
    alt=_alt_losses,
    caption=(
        "Left: test loss on (<i>x</i>, 0) after finetuning on <i>i</i> examples with the loss (<i>p</i> − <i>y</i>)² "
        "(filled; two standard errors over tasks; thin: predicted) or half of it (hollow), and of the patch of the same "
        "examples (thick line). Right: loss after all examples over the learning rate, for the loss with factor 1 and "
        "½. Horizontal: the patch. Vertical: the predicted limit of stability for factor 1. Losses above 100 are drawn at "
        "100. Means over networks and all tasks, or over the first tasks where the legend says so."
    ),
    size=(7.8, 4.4),
)
def losses(figure: Figure, dataset: xr.Dataset) -> None:
    """Test loss over the number of examples for several rates, and at the end over the rate."""
    left, right = figure.subplots(1, 2)
    _curves(left, dataset)
    _ends(right, dataset)
    style = dict(color=mpl.rcParams["text.color"], linewidth=2.2, label="patch ΔW, all tasks")
    line(left, dataset, "loss_patch", "i", **style)
    right.axhline(float(dataset.loss_patch.mean("seed")[-1]), **style)
    legend(left, columns=3)
    right.legend(loc="upper left")


def _curves(axes: Axes, dataset: xr.Dataset) -> None:
    """Draw the loss over the number of examples, for the rates at which it falls: at the paper's over all tasks."""
    own = dataset[["loss_own", "loss_own_se", "loss_own_theory"]].assign_coords(rate=dataset.rate_of_paper)
    line(axes, own.sel(factor=1.0), "loss_own_theory", "i", 0, linewidth=0.9, linestyle=LINES[1])
    whole, half = (own.sel(factor=factor).isel(i=slice(1, None, 2)) for factor in (1.0, 0.5))
    points(axes, whole, "loss_own", "i", 0, label="finetuned, rate {rate:g}", **BARS)
    points(axes, half, "loss_own", "i", 0, markerfacecolor="none", label="rate {rate:g}, factor ½", **BARS)
    for k, rate in enumerate(_others(dataset), 1):
        cell = dataset.sel(rate=rate, factor=1.0)
        line(axes, cell, "loss_theory", "i", k, linewidth=0.9, linestyle=LINES[k + 1])
        points(axes, cell.isel(i=slice(1, None, 2)), "loss", "i", k, label="rate {rate:g}, first tasks", **BARS)
    axes.set(xlabel="examples $i$", ylabel="test loss", yscale="log", ylim=(2e-3, 6))
    _plain(axes.yaxis, (0.01, 0.1, 1))


def _others(dataset: xr.Dataset) -> list[float]:
    """Return the rates at which the loss falls, but the paper's."""
    return [float(rate) for rate in dataset.rate if rate <= 0.03 and rate != dataset.rate_of_paper]


def _ends(axes: Axes, dataset: xr.Dataset) -> None:
    """Draw the loss after all examples over the rate, and the limit of stability."""
    loss, two_se = interval(dataset.isel(i=-1), "loss")
    end = xr.Dataset({"loss": loss.clip(max=100), "loss_se": two_se.where(loss < 100) / 2})
    for k, cell in each(end, "factor", 4):  # looks that no rate has in the left panel
        style = {"linestyle": LINES[k - 4], "linewidth": 0.8, "label": "factor {factor:g}, first tasks"} | BARS
        points(axes, cell, "loss", "rate", k, **style)
    limit = 2 / float(dataset.speed.mean() * (dataset.d + 2))
    axes.axvline(limit, color=mpl.rcParams["text.color"], linewidth=0.9, linestyle=":", ymax=0.72)
    axes.set(xlabel="learning rate", ylabel=f"test loss at $i$ = {int(dataset.i[-1])}", xscale="log", yscale="log")
    axes.set(ylim=(2e-3, 3e4), xlim=(0.0023, 1.3))
    _plain(axes.xaxis, (0.003, 0.01, 0.03, 0.1, 0.3, 1))
    _plain(axes.yaxis, (0.01, 0.1, 1, 10, 100))


def distances(dataset: xr.Dataset) -> Table:
    """Return how far the two curves are apart at the paper's rate, on a linear axis and as a ratio, and where they end."""
    mean = dataset[["loss_own", "loss_patch"]].mean("seed").astype(float)
    own, patch = mean.loss_own, mean.loss_patch
    columns = {
        "mean distance along i, over the first loss": abs(own - patch).integrate("i") / own.i[-1] / patch[0],
        "largest ratio": 2 ** abs(np.log2(own / patch)).sel(i=slice(5, 100)).max("i"),
        "end, finetuned": own.isel(i=-1),
        "end, patch": patch.isel(i=-1),
    }
    return Table.by({"factor": "factor of the loss"}, columns, dict(zip(columns, (".2f", ".1f", ".3f", ".3f"), strict=True)))


def _alt_scales(dataset: xr.Dataset) -> str:
    start, end = (dataset[["loss_scaled", "loss_patch"]].mean("seed").isel(i=place) for place in (0, -1))
    ends = " and ".join(f"{float(loss):.2g} when scaled by {float(loss.scale):g}" for loss in end.loss_scaled)
    return (
        "Loss over the number of examples. One thick line for the patch, the same for every scale, falls from "
        f"{float(start.loss_patch):.2f} to {float(end.loss_patch):.2g}. Finetuning at rate {float(dataset.rate_of_paper):g} "
        f"falls from {float(start.loss_scaled[0]):.2f} at every scale of the weights, to {ends}."
    )


@drawing(
    "dherin-finetuning-scales",
    alt=_alt_scales,
    caption=lambda dataset: (
        "One function, three parametrisations (<i>sW</i>, <i>sb</i>, <i>u</i>/<i>s</i>), all finetuned at rate "
        f"{float(dataset.rate_of_paper):g} with the loss (<i>p</i> − <i>y</i>)². Means over networks and, of finetuning, their "
        "first tasks. The patch (thick line), over all tasks and so from another loss, is the same for all of them."
    ),
    size=(5.6, 3.6),
)
def scales(figure: Figure, dataset: xr.Dataset) -> None:
    """The same function at three scales of its weights, finetuned at one rate."""
    axes = figure.subplots()
    one = dataset.loss.sel(factor=1.0, rate=dataset.rate_of_paper, drop=True).expand_dims(scale=[1.0])
    curves = xr.Dataset({"loss": xr.concat([dataset.loss_scaled, one], "scale").sortby("scale")})
    for k, curve in each(curves, "scale"):
        line(axes, curve, "loss", "i", k, marker=MARKERS[k], linewidth=0.8, label="$s$ = {scale:g}")
    style = dict(color=mpl.rcParams["text.color"], linewidth=2.2, label="patch ΔW, any $s$, all tasks")
    line(axes, dataset, "loss_patch", "i", **style)
    axes.set(xlabel="examples $i$", ylabel="test loss", yscale="log", ylim=(2e-3, 6))
    _plain(axes.yaxis, (0.01, 0.1, 1))
    axes.legend(loc="lower left")


def _alt_alignment(dataset: xr.Dataset) -> str:
    means = dataset[["alignment", "share", "alignment_label", "answer"]].mean("seed")
    last, untrained = means.isel(i=-1), dataset.alignment_untrained.mean("start")[-1]
    controls = at_most(abs(last.alignment.sel(labels=["another task", "shuffled"])).max(), ".2f")
    return (
        "Two panels over the number of examples, logarithmic. Left: alignment with true labels rises "
        f"{_from_to(dataset.alignment.sel(labels='true'))}; at the end it is at most {controls} with labels of "
        f"another task and shuffled ones, and {untrained:.2f} in untrained networks; the ceiling is {span(means.share, '.2f')}."
        f" Right: labels of the mirrored task end at {last.alignment.sel(labels='mirrored task'):.2f}, labels reversed at the "
        f"query on its mirror image; the label parts reach {last.alignment_label:.2f}, the answer written in {last.answer:.2f}."
    )


@drawing(
    "dherin-alignment",
    alt=_alt_alignment,
    caption=(
        "Left: mean alignment of the patch with finetuning, and its three controls. Solid line: the same with the one "
        "matrix <i>u</i>(<i>Gw</i>)<sup>T</sup> in place of finetuning. Dashed line: the ceiling κ. Right: labels of other "
        "tasks that agree with the true ones at the query, or at a right angle to it; the parts that depend on labels; "
        "and, in place of the patch, one gradient step on the query's own label. Intervals: two standard errors over tasks; "
        "of untrained blocks Student's, over networks."
    ),
    size=(7.8, 4.4),
)
def alignment(figure: Figure, dataset: xr.Dataset) -> None:
    """Alignment over the number of examples, with ceiling, controls, and what explains it."""
    left, right = figure.subplots(1, 2)
    ink, thin = mpl.rcParams["text.color"], dict(linewidth=0.6) | BARS
    line(left, dataset, "share", "i", color=ink, linestyle="--", linewidth=1.2, label="ceiling κ")
    line(left, dataset, "alignment_mean", "i", 0, label="with $u(Gw)^T$")
    for k, (labels, name) in enumerate(LABELS.items()):
        points(left, dataset.sel(labels=labels), "alignment", "i", k, label=name, **BARS)
    points(left, dataset[["alignment_untrained"]].rename(start="seed"), "alignment_untrained", "i", 3, label="untrained")
    names = {"true": "true labels", "mirrored task": "mirrored task", "query's label reversed": "reversed at the query"}
    for k, (labels, name) in zip((0, 4, 5), names.items(), strict=True):
        points(right, dataset.sel(labels=labels), "alignment", "i", k, linestyle=LINES[k], label=name, **thin)
    points(right, dataset, "alignment_label", "i", 6, linestyle=LINES[6], label="label parts", **thin)
    points(right, dataset, "answer", "i", 7, color=ink, marker="*", linestyle=LINES[2], label="answer written in", **thin)
    for axes in (left, right):
        axes.axhline(0, color=ink, linewidth=0.8)
        axes.set(ylim=(-0.3, 1))
        _over_examples(axes)
        axes.legend(loc="upper center", ncols=2, fontsize=8.5, columnspacing=1)
    left.set_ylabel("alignment")


FACTORS = {
    "alignment_query": "ρ, alignment of both changes applied to A(x)",
    "share": "κ, the ceiling",
    "label_part": "share of the label part in the patch's squared length",
    "alignment_label": "alignment of the label parts",
    "alignment_mean": "alignment of the patch with u(Gw)ᵀ",
    "answer": "alignment of the answer written in",
}


def factors(dataset: xr.Dataset) -> Table:
    """Return what the alignment after all examples is made of, means over tasks and networks."""
    end = dataset[[*FACTORS]].isel(i=-1, drop=True).mean("seed").rename(FACTORS).to_dataarray()
    return Table.by({"variable": "mean over tasks and networks"}, {"after all examples": end}, ".3f")


def positive(dataset: xr.Dataset) -> Table:
    """Return the share of tasks in which patch and finetuning agree in sign after all examples, mean over networks."""
    return Table.by({"labels": "labels of finetuning"}, {"share of tasks": dataset.positive.isel(i=-1).mean("seed")})


@drawing(
    "dherin-alignment-direction",
    alt=lambda dataset: (
        "Two panels over the number of examples, logarithmic. Left: cosine of finetuning with u times Gw rises "
        f"{_from_to(dataset.towards_mean)}, the line {_from_to(dataset.towards_mean_theory)}; with shuffled labels "
        f"it stays near 0. Right: the mean of kappa squared goes {_from_to(dataset.ceiling)}, on the predicted line; at the "
        f"first example in place of the query it falls {_from_to(dataset.share_squared_first)}."
    ),
    caption=(
        "Left: cosine of what finetuning changes with <i>u</i>(<i>Gw</i>)<sup>T</sup>; line: from <i>K</i> and <i>w</i> "
        "alone, for many examples and slow finetuning. Right: κ², the squared share of finetuning that a query sees, mean over "
        "fresh queries and tasks, and at the first example; line: expected at fresh queries. Intervals: two standard errors "
        "over tasks, of κ² those of the distance from the line."
    ),
    size=(7.4, 3.5),
)
def direction(figure: Figure, dataset: xr.Dataset) -> None:
    """Where finetuning goes: its cosine with u (G w)^T, measured, and for slow finetuning."""
    left, right = figure.subplots(1, 2)
    mean = dataset.mean("seed")
    line(left, mean, "towards_mean_theory", "i", 0, label="slow finetuning")
    points(left, mean, "towards_mean_shuffled", "i", 1, label="shuffled labels")
    points(left, dataset, "towards_mean", "i", 0, label="measured", **BARS)
    line(right, mean, "ceiling_theory", "i", 2, linestyle="-", label="expected")
    points(right, mean, "share_squared_first", "i", 3, label="at the first example")
    points(right, dataset, "ceiling", "i", 2, label="at other queries", **BARS)
    left.set(ylabel="cosine with $u(Gw)^T$", ylim=(-0.1, 1.05))
    right.set(ylabel="$κ^2$", ylim=(0, 1.05))
    for axes, place in ((left, "center right"), (right, "lower right")):
        _over_examples(axes)
        axes.legend(loc=place)


@drawing(
    "dherin-two-starts",
    alt=lambda dataset: (
        "Two panels over the number of examples, logarithmic, for two initialisations. Left, the patch for one query: "
        f"alignment with true labels ends at {_at_last(dataset.alignment, 'true')}, that with the mirrored task at "
        f"{_at_last(dataset.alignment, 'mirrored task')}; both lie below the ceiling near {dataset.share[..., -1].mean():.2f}. "
        f"Right, one patch for many queries: {_at_last(dataset.joint, 'true')} with true labels, "
        f"{_at_last(dataset.joint, 'mirrored task')} with the mirrored task."
    ),
    caption=(
        "Networks trained alike from matrices of variance 1/columns and of a third of it. Left: alignment of the patch for "
        "one query with finetuning on true labels and on those of the mirrored task; dashed: the ceiling κ, mean of both. "
        "Right: the same for one patch fitted to many queries. Intervals: two standard errors over tasks."
    ),
    size=(7.6, 3.8),
)
def starts(figure: Figure, dataset: xr.Dataset) -> None:
    """Alignment from two initialisations, of the patch for one query and of one for many."""
    panels, ink = figure.subplots(1, 2, sharey=True), mpl.rcParams["text.color"]
    line(panels[0], dataset.mean("start"), "share", "i", color=ink, linestyle="--", linewidth=1.2, label="ceiling κ")
    for axes, name in zip(panels, ("alignment", "joint"), strict=True):
        for k, start in each(dataset.sel(labels=["true", "mirrored task"]), "start"):
            for j, cell in each(start, "labels"):
                points(axes, cell, name, "i", 2 * k + j, linestyle=LINES[j], linewidth=0.8, label="{start}, {labels}", **BARS)
        axes.axhline(0, color=ink, linewidth=0.8)
        _over_examples(axes)
    panels[0].set(ylabel="alignment", ylim=(-0.1, 1.3), yticks=np.arange(0, 1.1, 0.2), title="patch for one query")
    panels[1].set_title("one patch for many queries")
    panels[0].legend(loc="upper left", fontsize=8.5)


def two_starts(dataset: xr.Dataset) -> Table:
    """Return alignments with finetuning on true labels after all examples, and their factors, by initial variance."""
    end = dataset.sel(labels="true").isel(i=-1).mean("seed")
    columns = {"alignment, one query": end.alignment, "alignment, many queries": end.joint, "ceiling κ": end.share}
    columns |= {"label share": end.label_part, "answer written in": end.answer}
    return Table.by({"start": "initial variance"}, columns)


def exact(dataset: xr.Dataset) -> Table:
    """Return the alignments of the exact gradient step with finetuning after all examples, by labels of finetuning."""
    columns = {"alignment, one query": dataset.exact[..., -1], "alignment, many queries": dataset.exact_joint[..., -1]}
    return Table.by({"labels": "exact gradient step, labels"}, columns)


def _from_to(values: xr.DataArray) -> str:
    return "from {:.2f} to {:.2f}".format(*values.mean("seed")[[0, -1]].values)


def _at_last(values: xr.DataArray, labels: str) -> str:
    return " and ".join(f"{end:.2f}" for end in values.sel(labels=labels).mean("seed")[:, -1])


def _over_examples(axes: Axes) -> None:
    axes.set(xlabel="examples $i$", xscale="log")
    _plain(axes.xaxis, (1, 3, 10, 30, 100))


def _plain(axis, ticks) -> None:
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
