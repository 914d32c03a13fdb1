"""Figures of section 3.2."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import MARKERS, Table, drawing, each, equality, legend, line, points, series, sideways, span


def _alt_unseen_tasks(dataset: xr.Dataset) -> str:
    violating = dataset.error.mean("seed").where(dataset.covers == 0, drop=True)
    return (
        "One row for each set of training tasks, error on the horizontal axis. Errors on training tasks are near 0 in all "
        f"rows. Errors on unseen tasks are near 0 for cyclic sets and for both directions, and {span(violating)} for "
        "single, one-sided and first-half sets, beside the predicted strokes."
    )


@drawing(
    "li-unseen-tasks",
    alt=_alt_unseen_tasks,
    caption=(
        "Share of wrong answers (0-1 error) of trained models by set of training tasks; means over networks with two standard "
        "errors. Circles: training tasks. Squares: unseen tasks. Upright strokes: predicted from the task set alone. Above the "
        "line: sets that meet Condition 3.2; below it they violate it. β: length of the patterns, |<i>q</i>|: of the label."
    ),
    size=lambda dataset: (7.0, 0.9 + 0.34 * dataset.sizes["set"]),
)
def unseen_tasks(figure: Figure, dataset: xr.Dataset) -> None:
    """Error on training and on unseen tasks for every set of training tasks."""
    axes = figure.subplots()
    height = -np.arange(dataset.sizes["set"])  # those that cover come first
    ink = mpl.rcParams["text.color"]
    sideways(axes, dataset, "error_theory", height, color=ink, marker="|", markersize=15, label="predicted, unseen")
    sideways(axes, dataset, "error_trained", height, 0, markersize=9, mfc="none", label="training tasks")
    sideways(axes, dataset, "error", height, 1, label="unseen tasks")
    axes.axhline(0.5 - int(dataset.covers.sum()), color=ink, linewidth=0.8)
    axes.set_yticks(height, [_in_words(name) for name in dataset.set.values])
    axes.set(xlabel="0-1 error", xlim=(-0.02, 0.62))
    legend(axes, columns=3, side="upper")


def _in_words(name: str) -> str:
    for r, words in (("1", "one shift"), ("2", "two shifts"), ("3", "three shifts")):
        name = name.replace(f"cyclic {r}", words)
    return name.replace("=", " = ")


@drawing(
    "li-floor",
    alt=(
        "Left: error against prompt length on a logarithmic axis for several shares alpha'. Markers of trained models lie "
        "on the lines of the vote law; thin lines and small markers of the best predictor lie below, the further the larger "
        "the share. Right: error over the vote law against length. Sets that train every pair stay near 1, the single cyclic "
        "shift rises above it on long prompts."
    ),
    caption=(
        "Left: error of models trained on three shifts, on unseen tasks. Filled markers: measured. Thick lines: the "
        "vote law. Thin lines and open markers: the best predictor that knows the distribution of tasks, exact and measured. "
        "Right: error over the vote law by training set, at the share on the axis; dotted at 1. Intervals: two standard errors."
    ),
    size=(7.8, 4.0),
)
def length(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over prompt length with the vote law and the best predictor, and the ratio to the law by task set."""
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    shown = dataset.isel(tasks=0)
    shown = shown.assign(error=shown.error.where(shown.error.mean("seed") > 0), best=shown.best.where(shown.best > 0))
    for k, cell in each(shown, "alpha"):
        series(left, cell, "error", "l", label="$\\alpha'={alpha:g}$", theory=("error_theory", "l"), first=k)
        line(left, cell, "best_theory", "l", k, linewidth=0.8)
        points(left, cell, "best", "l", k, mfc="none", ms=4)
    left.set(yscale="log", xlabel="contexts $l$", ylabel="0-1 error", ylim=(5e-6, 0.7))
    legend(left, columns=len(dataset.alpha))
    _draw_ratio(right, dataset)


def _draw_ratio(axes: Axes, dataset: xr.Dataset) -> None:
    alpha, ink = float(dataset.alpha[dataset.sizes["alpha"] // 2]), mpl.rcParams["text.color"]
    styles = [{"k": k} for k in range(dataset.sizes["alpha"], len(MARKERS))] + [{"color": ink, "marker": "*"}]
    dataset = dataset.sel(alpha=alpha)
    dataset = dataset.assign(ratio=dataset.error / dataset.error_theory)
    axes.axhline(1, color=ink, linestyle=":", linewidth=1)
    for k, cell in each(dataset, "tasks"):
        places, label = cell.l * (1 + 0.02 * (k - 1)), _in_words(cell.tasks.item())
        points(axes, cell, "ratio", places, label=label, **styles[k])
    axes.set(xlabel="contexts $l$", ylabel=f"error / vote law at $\\alpha'={alpha:g}$", ylim=(0.5, 2.6))
    axes.legend(loc="upper left")


KINDS = ("own pattern", "trained together", "not trained together", "label of the key")


@drawing(
    "li-first-push",
    alt=(
        "Two scatter plots of measured against predicted entries of the trained key-query map, with the diagonal. Left, "
        "sets with balanced labels: the query's own pattern positive, pairs trained together negative, label entries at "
        "zero. Right, one-sided and single tasks: large label entries of both signs."
    ),
    caption=(
        "Entries of the trained <i>W<sub>K</sub><sup>T</sup>W<sub>Q</sub></i> between unit vectors, mean over seeds, "
        "against the first push grown for one effective time. Line: equality. Left: task sets with balanced labels. Right: "
        "one-sided and single tasks, which store the answer at the label of the key."
    ),
    size=(7.8, 3.7),
)
def grown_push(figure: Figure, dataset: xr.Dataset) -> None:
    """Entries of the trained W_K^T W_Q against the grown first push."""
    balanced = abs(dataset.form_theory.sel(row="label")).max("column") < 1e-9
    for axes, keep, title in zip(figure.subplots(1, 2), (balanced, ~balanced), ("balanced", "unbalanced"), strict=True):
        part = dataset.isel(set=np.flatnonzero(keep.values))
        low, high = float(part.form_theory.min()), float(part.form_theory.max())
        equality(axes, low, high, linewidth=0.8)
        entries = part[["kind", "form", "form_theory"]].stack(entry=part.form.dims)
        for k, kind in enumerate(KINDS):
            points(axes, entries.where(entries.kind == k, drop=True), "form", "form_theory", k, ms=4, alpha=0.6, label=kind)
        axes.set(xlabel="predicted entry", title=f"{title} labels")
    figure.axes[0].set_ylabel("trained entry")
    figure.axes[0].legend(loc="upper left", fontsize=8.5)


def _alt_two_memories(dataset: xr.Dataset) -> str:
    first, *_, last = dataset.mass.mean("seed").values
    return (
        "Three curves against the ratio of label norm to pattern norm. The error on unseen tasks stays near 5/9 with a "
        f"shallow dip in the middle. Attention on the query's pattern falls from {first:.1f} to {last:.1f}. The error on "
        "contrary contexts steps from 1 to 0 at the second dotted line."
    )


@drawing(
    "li-two-memories",
    alt=_alt_two_memories,
    caption=(
        "Models trained on one-sided tasks. Circles: error on unseen tasks; dashed: the error of a pure memory. Squares: "
        "attention on the query's pattern. Diamonds: error when all contexts are the query's pattern with the label it "
        "never had, which attention cannot change. Dotted: |<i>q</i>|/β = α/√<i>M</i><sub>1</sub>, above which the "
        "label key is pushed harder than the pattern, and 1/√<i>M</i><sub>1</sub>, below which the values remember."
    ),
    size=(6.8, 3.8),
)
def two_memories(figure: Figure, dataset: xr.Dataset) -> None:
    """One-sided training over |q|/beta: error, attention, and the values' own answer."""
    axes = figure.subplots()
    ink = mpl.rcParams["text.color"]
    axes.axhline(float(dataset.error_theory), color=ink, linestyle="--", linewidth=1)
    for threshold in (dataset.key_threshold, dataset.value_threshold):
        axes.axvline(float(threshold), color=ink, linestyle=":", linewidth=1.2)
    labels = ("error, unseen tasks", "attention on query's pattern", "error, contrary contexts")
    for k, (name, label) in enumerate(zip(("error", "mass", "value_error"), labels, strict=True)):
        points(axes, dataset, name, "ratio", k, label=label)
    axes.set(xscale="log", xlabel="$|q|/\\beta$", ylim=(-0.04, 1.04))
    ticks = [0.125, 0.25, 0.5, 1.0]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    legend(axes, columns=2, side="upper")


TASKS = {"set": "training tasks"}


def mass(dataset: xr.Dataset) -> Table:
    """Return the attention on the query's pattern in prompts of unseen tasks, mean over networks."""
    return Table.by(TASKS, {"attention on the query's pattern, unseen tasks": dataset.mass.mean("seed")})


def missed(dataset: xr.Dataset) -> Table:
    """Return the distance of the trained scores from the push that has grown, mean over networks."""
    return Table.by(TASKS, {"relative distance from the grown push": dataset.miss.mean("seed")})
