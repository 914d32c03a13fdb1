"""Figures of section 4."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import LINES, MARKERS, drawing, each, legend, line, points, series

NARROW = {"A, r = 1": "A, one shift"}
"""Short names of the settings for legends and titles."""


def _alt_attention(dataset: xr.Dataset) -> str:
    unseen, new = dataset.mass.sel(setting="half of the patterns").isel(step=-1).mean("seed").values
    crosses = " and ".join(f"{mass:g} at {epoch:g}" for epoch, mass in dataset.plotted[1:].to_series().items())
    return (
        "Left: attention on the query's pattern against steps. It stays near its start, rises steeply, then creeps. Setting B "
        f"ends highest, then A, then r = 1; models trained on half of the patterns end at {unseen:.2f} on unseen tasks and at "
        f"{new:.2f} on new patterns. Filled markers lie on the lines of the odds law. Crosses of the authors' plot: near the "
        f"start at 0, then {crosses}. Right: the attention of one prompt's contexts, one row a step; late in training only the "
        "contexts with the query's pattern are bright."
    )


@drawing(
    "li-attention",
    alt=_alt_attention,
    caption=(
        "Left: attention on the contexts with the query's pattern. Lines: the odds law, from the weights alone, on unseen "
        "tasks. Markers: measured with 2 standard errors, filled on unseen tasks, hollow on new patterns. A, B: two lengths of "
        "patterns and label, three shifts of training tasks; half of the patterns: training tasks use only half of them. "
        "Crosses: the authors' plot (out of domain, read off by eye, against epochs). Right: one unseen prompt in setting A, "
        "its contexts sorted by pattern, those with the query's pattern first."
    ),
    size=(8.6, 3.9),
)
def attention(figure: Figure, dataset: xr.Dataset) -> None:
    """Attention mass along training with the odds law; one prompt's attention at every mark."""
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    for k, cell in each(dataset, "setting"):
        unseen, new = cell.sel(split="unseen tasks"), cell.sel(split="out of domain")
        name = NARROW.get(cell.setting.item(), "{setting}")
        series(left, unseen, "mass", "step", label=name, theory=("mass_theory", "step"), first=k, markersize=4)
        points(left, new, "mass", "step", k, mfc="none", markersize=4)
    points(left, dataset, "plotted", "epoch", color=mpl.rcParams["text.color"], marker="x", label="authors' plot")
    left.set_xscale("symlog", linthresh=10)
    left.set(xlabel="step", ylabel="attention on the query's pattern", ylim=(0.4, 1.02))
    legend(left, columns=5, side="upper")
    _draw_example(figure, right, dataset)


def _draw_example(figure: Figure, axes: Axes, dataset: xr.Dataset) -> None:
    own = int((dataset.example_pattern == dataset.example_query).sum())
    mesh = axes.pcolormesh(dataset.example, cmap="viridis", vmin=0)
    axes.axvline(own, color=mpl.rcParams["text.color"], linewidth=1.5)
    axes.set_yticks(np.arange(dataset.sizes["step"]) + 0.5, [str(step) for step in dataset.step.values])
    axes.set_xticks(np.arange(dataset.sizes["context"]) + 0.5, [str(p + 1) for p in dataset.example_pattern.values])
    axes.tick_params(axis="x", labelsize=7, length=0)
    axes.invert_yaxis()
    axes.grid(False)
    axes.set(xlabel="pattern of the context", ylabel="step", title=f"query has pattern {int(dataset.example_query) + 1}")
    figure.colorbar(mesh, ax=axes, label="attention")


@drawing(
    "li-growth",
    alt=(
        "Left: length of W_Q p against steps. Relevant patterns grow to more than three times their length, most of it in one "
        "steep part; irrelevant patterns, and relevant ones that no task names, stay as long as they are. Right: logarithmic "
        "growth on the four eigenspaces of the Laplacian against their eigenvalue, points near a straight line through 0."
    ),
    caption=(
        "Left: |<i>W<sub>Q</sub> p</i>| (filled) and its part along <i>p</i> (hollow), setting A, means over patterns with "
        "2 standard errors; lines join the markers. Crosses at the right edge: where the authors' curves end, read off by "
        "eye. Right: ln of the scores' mean on each eigenspace of the task Laplacian over δ² after the first steps, r = 1, "
        "against its eigenvalue; line: proportionality."
    ),
    size=(8.2, 3.6),
)
def growth(figure: Figure, dataset: xr.Dataset) -> None:
    """How long W_Q p and W_K p become, and how the growth of the scores' modes follows the Laplacian."""
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    shown = {
        "relevant, three shifts": ("A", "relevant"),
        "relevant, one shift": ("A, r = 1", "relevant"),
        "irrelevant": ("A", "irrelevant"),
        "relevant, in no task": ("half of the patterns", "relevant, in no task"),
    }
    for k, (label, (setting, kind)) in enumerate(shown.items()):
        cell = dataset.sel(setting=setting, kind=kind)
        series(left, cell.sel(quantity="|W_Q p|"), "length", "step", label=label, first=k)
        along = cell.sel(quantity="W_Q p along p")
        points(left, along, "length", "step", k, mfc="none", linestyle=LINES[k], linewidth=0.8)
    crosses = dict(color=mpl.rcParams["text.color"], marker="x", label="authors' plot, end")
    points(left, dataset, "plotted_end", "plotted_step", **crosses)
    left.set_xscale("symlog", linthresh=10)
    left.set(xlabel="step", ylabel="length of $W_Q\\,p$", ylim=(0, None))
    left.legend(loc="upper left", fontsize=8.5)
    _draw_modes(right, dataset)


def _draw_modes(axes: Axes, dataset: xr.Dataset) -> None:
    line(axes, dataset, "mode_line", "eigenvalue")
    points(axes, dataset, "mode_growth", "eigenvalue")
    axes.set(xlabel="eigenvalue of the task Laplacian", ylabel="ln(mean on its space / $\\delta^2$)")
    axes.set_title(f"step {dataset.attrs['early']}")


@drawing(
    "li-growth-scores",
    alt=(
        "Two rows of matrices, context pattern by query pattern, at four steps and beside them the Laplacian. With r = 1 "
        "the diagonal grows and the two neighbouring diagonals become strongly negative, while pairs at distance 2 become "
        "slightly positive. With r = 3 all other entries become negative, most of all pairs at distance 3."
    ),
    caption=(
        "Scores between patterns, <i>u<sub>j</sub><sup>⊤</sup>W<sub>K</sub><sup>⊤</sup>W<sub>Q</sub>u<sub>k</sub></i>, "
        "mean over seeds, context pattern down, query pattern across. <i>Laplacian</i>: that of the training tasks, "
        "the direction of the first push. One shift: r = 1; three: r = 3."
    ),
    size=(9.0, 3.9),
)
def scores(figure: Figure, dataset: xr.Dataset) -> None:
    """The learnt score matrices of r = 1 and r = 3 over the steps, beside the Laplacian of the tasks."""
    grid = figure.subplots(2, dataset.sizes["shown"] + 1)
    limit = float(abs(dataset.scores.sel(setting=["A", "A, r = 1"])).max())
    for row, setting in zip(grid, ("A, r = 1", "A"), strict=True):
        cell = dataset.sel(setting=setting)
        top = float(abs(cell.laplacian).max())
        panels = [(f"step {step}", cell.scores.sel(shown=step), limit) for step in dataset.shown.values]
        for axes, (title, matrix, bound) in zip(row, [*panels, ("Laplacian", cell.laplacian, top)], strict=True):
            mesh = axes.pcolormesh(matrix, cmap="RdBu_r", vmin=-bound, vmax=bound)
            axes.set(xticks=[], yticks=[], aspect="equal", title=title if setting != "A" else "")
            axes.invert_yaxis()
            if title != "Laplacian":
                shared = mesh
        row[0].set_ylabel("one shift" if setting != "A" else "three shifts")
    figure.colorbar(shared, ax=grid, label="score (Laplacian: own scale)", shrink=0.8)


@drawing(
    "li-neurons",
    alt=(
        "Four panels of points, feature cosine across and label cosine up. At step 0 the points scatter around the centre. "
        "At step 20 positive neurons move up and negative ones down. By step 40 most sit in the upper and lower right "
        "corners. At the end the two corners hold all large points, and a few small points remain at the left."
    ),
    caption=(
        "The rows of <i>W<sub>O</sub>W<sub>V</sub></i> of one model in setting A as points: cosine of the feature part "
        "with the mean pattern across, cosine of the label part with <i>q</i> up, area by length. Circles: <i>a</i> &gt; "
        "0. Squares: <i>a</i> &lt; 0."
    ),
    size=(9.0, 2.9),
)
def neurons(figure: Figure, dataset: xr.Dataset) -> None:
    """Every neuron of one model at four steps: cosines of its feature and label parts."""
    row = figure.subplots(1, dataset.sizes["shown"], sharey=True, squeeze=False)[0]
    for axes, (_, cell) in zip(row, each(dataset.assign(area=6 + 160 * dataset.point_length), "shown"), strict=True):
        for k, sign in enumerate((1, -1)):
            own, style = cell.isel(neuron=np.flatnonzero(cell.point_sign == sign)), dict(facecolors="none", edgecolors=f"C{k}")
            axes.scatter("point_feature", "point_label", "area", data=own, marker=MARKERS[k], **style)
        axes.set(title=f"step {cell.shown.item()}", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    figure.supxlabel("feature part: cosine with $\\bar\\mu$", fontsize=11)
    row[0].set_ylabel("label part: cosine with $q$")


ANGLES = {"feature_angle": "feature", "label_angle_plus": "label, $a>0$", "label_angle_minus": "label, $a<0$"}
LENGTHS = {"feature_norm": "feature", "label_norm": "label"}
"""Names of the variables in the legend."""


@drawing(
    "li-neurons-course",
    alt=(
        "Left: angles of the feature part and of the label parts start at a right angle; feature and positive label angles "
        "fall to near 0, the negative label angle rises to near pi. Middle: lengths of feature and label parts rise from "
        "near 0 and level off, the label part higher. Right: the share of rows that end small against "
        "the number of patterns matched before training falls from 1 at no pattern to 0 at three or more."
    ),
    caption=(
        "Left: angles, in setting A, of the large rows' feature part to the mean pattern and of their label part to <i>q</i>, "
        "by the sign of <i>a</i>. Middle: lengths of the two parts there. Crosses at the right edge: where the authors' curves "
        "end, read off by eye (their lengths belong to another scale of patterns). Right: share of rows that end small, "
        "by the number of patterns μ<sub>j</sub> on which the row is active with its right label before training; bars: 2 s.e."
    ),
    size=(9.0, 3.4),
)
def alignment(figure: Figure, dataset: xr.Dataset) -> None:
    """Angles and lengths of the large rows along training; which rows end small."""
    left, middle, right = figure.subplots(1, 3)
    course = dataset.sel(setting="A")
    for axes, parts, places in ((left, ANGLES, (0, 1, 2)), (middle, LENGTHS, (0, 3))):
        for k, (name, label) in zip(places, parts.items(), strict=True):
            series(axes, course, name, "step", label=label, first=k)
            points(axes, course.isel(step=-1), f"{name}_plotted", "step", k, marker="x", markersize=7)
        axes.set_xscale("symlog", linthresh=10)
        axes.set_xlabel("step")
    left.legend(loc="lower left", fontsize=8.5)
    middle.legend(loc="upper left", fontsize=8.5)
    left.set(ylabel="angle (rad)", ylim=(-0.1, np.pi + 0.1))
    middle.set(ylabel="length", ylim=(0, None))
    for k, cell in each(dataset.sel(setting=["A", "B", "A, r = 1"]), "setting"):
        style = dict(linestyle=LINES[4 + k], linewidth=0.8, label=NARROW.get(cell.setting.item(), "{setting}"))
        points(right, cell, "share_matched", cell.match + 0.08 * (k - 1), 4 + k, **style)
    right.set(xlabel="patterns matched at the start", ylabel="share that ends small", ylim=(-0.03, 1.05))
    right.legend(loc="upper right")


def _shown_steps(dataset: xr.Dataset) -> list[int]:
    return [0, 30, 40, 50, int(dataset.step[-1])]


def _attention_map(cell: xr.Dataset) -> xr.DataArray:
    return np.exp(cell.scores) / np.exp(cell.scores).sum("key")


def _alt_training_map(dataset: xr.Dataset) -> str:
    maps = {step: _attention_map(dataset.sel(setting="A", step=step)) for step in _shown_steps(dataset)}
    bright = next((step for step, shown in maps.items() if np.diag(shown).mean() > 0.5), max(maps))
    return (
        "Two rows of five panels, one column a step. Top: the map of attention between patterns, even at first, with a bright "
        f"diagonal from step {bright} on. Bottom: the rows in the plane of feature and label response, all near the origin at "
        f"first; by step {bright} rows with positive a have moved up, those with negative a down, most into the wedges of "
        "their right label."
    )


@drawing(
    "li-training-map",
    alt=_alt_training_map,
    caption=(
        "One model in setting A. Maps: attention in a prompt with one context of each pattern and κ = 0, pattern of the "
        "context down, of the query across. Points: rows of <i>W<sub>O</sub>W<sub>V</sub></i>, feature response φ across, "
        "label response λ up, on a square-root scale. Circles: <i>a</i> &gt; 0. Squares: <i>a</i> &lt; 0. The diagonals part "
        "rows by where they are active: top at (μ̄; <i>q</i>) only, bottom at (μ̄; −<i>q</i>) only, right at both, left at "
        "neither."
    ),
    size=(9.2, 3.9),
)
def training_map(figure: Figure, dataset: xr.Dataset) -> None:
    """Attention between patterns and responses of the neurons at five steps."""
    steps = _shown_steps(dataset)
    grid = figure.subplots(2, len(steps), height_ratios=(1, 1.15), squeeze=False)
    for column, step in zip(grid.T, steps, strict=True):
        cell = dataset.sel(setting="A", step=step)
        mesh = column[0].pcolormesh(_attention_map(cell), cmap="viridis", vmin=0, vmax=1)
        column[0].set(xticks=[], yticks=[], aspect="equal", title=f"step {step}")
        column[0].invert_yaxis()
        _draw_responses(column[1], cell)
    grid[0, 0].set_ylabel("context")
    grid[1, 0].set_ylabel("label response $\\lambda$")
    grid[1, -1].set_xlabel("feature response $\\phi$")
    figure.colorbar(mesh, ax=grid[0], label="attention")


def _draw_responses(axes: Axes, cell: xr.Dataset) -> None:
    reach = 0.66
    for ends in ((-reach, reach), (reach, -reach)):
        axes.plot((-reach, reach), ends, color=mpl.rcParams["grid.color"], linewidth=0.8)
    responses = cell[["feature_response", "label_response"]]
    roots = np.sign(responses) * np.sqrt(abs(responses))
    for k, sign in enumerate((1, -1)):
        own = roots.isel(neuron=np.flatnonzero(np.sign(cell.sign) == sign))
        points(axes, own, "label_response", "feature_response", k, markersize=3, fillstyle="none")
    limits = (-reach, reach)
    axes.set(xticks=[], yticks=[], aspect="equal", xlim=limits, ylim=limits)


@drawing(
    "li-hinge-margin",
    alt=lambda dataset: (
        "Left: before, attention mass rises and the share of prompts with zF below 1 falls from 1 to 0. Right: after the "
        "change, distance of the attention mass from 1 on a logarithmic axis against further steps; with c = 1 it stays, "
        "with larger c it falls within ten steps to a lower plateau, below 0.01 for c = "
        f"{dataset.c.where(dataset.mass.mean('seed').sel(resumed=10) > 0.99).min():g} and more."
    ),
    caption=(
        "Left: setting A with the paper's hinge loss. Attention mass, and the share of training prompts that still give a "
        "gradient. Right: the same weights trained on with max{0, <i>c</i> − <i>zF</i>}: what is missing to attention 1, "
        "against further steps, with 2 standard errors. Horizontal line: 0.01."
    ),
    size=(8.2, 3.5),
)
def hinge_margin(figure: Figure, dataset: xr.Dataset) -> None:
    """The attention after the margin of the hinge loss is raised."""
    left, right = figure.subplots(1, 2)
    for k, (name, label) in enumerate((("mass_before", "attention mass"), ("active_before", "prompts with $zF<1$"))):
        series(left, dataset, name, "step", label=label, first=k)
    left.set_xscale("symlog", linthresh=10)
    left.set(xlabel="step", ylabel="share", ylim=(-0.03, 1.05))
    left.legend(loc="lower left", fontsize=9)
    series(right, dataset.assign(missing=1 - dataset.mass), "missing", "resumed", "c", label="$c={c:g}$", first=2)
    right.axhline(0.01, color=mpl.rcParams["text.color"], linewidth=0.7)
    right.set(xscale="log", yscale="log", ylim=(1e-3, None), xlabel="steps after the change")
    right.set_ylabel("1 − attention mass")
    right.legend(loc="lower left")
