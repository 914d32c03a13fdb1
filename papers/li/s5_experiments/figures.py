"""Figures of section 5."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion.figure import LINES, MARKERS, drawing, points
from icl_lib.companion.verdict import over_seeds

FLOOR = 1e-4
"""Where errors of 0 are drawn on logarithmic axes."""


@drawing(
    "li-decoder",
    alt=(
        "Two panels, unseen tasks and unseen patterns: error against prompt length on a logarithmic axis, one "
        "series for each share alpha prime. Errors fall with the length and, at short prompts, with the share. On "
        "unseen tasks they end near 0.007, on unseen patterns near 0.02. Steep lines, the error of a vote and "
        "that of the best predictor, cross them: short prompts do better than a vote, long ones worse."
    ),
    caption=(
        "Three-layer transformer: share of wrong answers over the number of contexts, by the share α′ of relevant ones; mean "
        "over models with two standard errors. The markers of one length stand side by side. Thick lines: the error of a vote "
        "among all contexts, missing pattern times wrong majority. Thin lines: the least error of any predictor. Crosses: "
        "GPT-2 on the slides at <i>l</i> = 20, read off by eye. Errors below 0.0001 stand at the bottom."
    ),
    size=(7.6, 4.3),
)
def decoder(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of the transformer over prompt length, in and out of domain, between the vote and the best predictor."""
    ink = mpl.rcParams["text.color"]
    for axes, domain in zip(_both_domains(figure), ("in", "out"), strict=True):
        for k, alpha in enumerate(dataset.alpha.values):
            cell = dataset.sel(domain=domain, alpha=alpha)
            axes.plot(cell.l, cell.error_vote.where(cell.error_vote > FLOOR), f"C{k}", linestyle=LINES[k], linewidth=2.2)
            axes.plot(cell.l, cell.error_best.where(cell.error_best > FLOOR), f"C{k}", linestyle=LINES[k], linewidth=0.8)
            _marks(axes, cell.l + 0.4 * (k - (dataset.sizes["alpha"] - 1) / 2), cell.error, k, rf"$\alpha'={alpha:g}$")
            if cell.l.values[-1] == 20:
                axes.plot([21.2], [cell.slides_error], color=f"C{k}", marker="x", linestyle="none", markersize=7)
        for width, label in ((2.2, "vote (thick)"), (0.8, "best predictor (thin)")):
            axes.plot([], [], color=ink, linewidth=width, label=label)
        axes.plot([], [], color=ink, marker="x", linestyle="none", label="slides, 20 contexts")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


@drawing(
    "li-decoder-positions",
    alt=(
        "Two panels, unseen tasks and unseen patterns: error against prompt length on a logarithmic axis for models "
        "without positions and with learned ones. In both panels the intervals of the two series overlap, those "
        "without positions lower."
    ),
    caption=(
        "Three-layer transformers without positions and with a learned table of them, as in GPT-2, trained on the same "
        "prompts: classification error at the training share, mean over models with two standard errors. Errors below "
        "0.0001 stand at the bottom."
    ),
    size=(7.6, 3.5),
)
def decoder_positions(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of transformers with and without learned positions, over prompt length."""
    for axes, domain in zip(_both_domains(figure), ("in", "out"), strict=True):
        for k, kind in enumerate(dataset.positions.values):
            cell = dataset.error.sel(domain=domain, positions=kind)
            axes.plot(cell.l, np.maximum(cell.mean("seed"), FLOOR), f"C{k}", linestyle=LINES[k], linewidth=0.8)
            _marks(axes, cell.l + 0.15 * k, cell, k, f"positions: {kind}")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)


def _both_domains(figure: Figure) -> np.ndarray:
    """Return two panels of errors over prompt length, in and out of domain."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, title in zip(panels, ("unseen tasks", "unseen patterns"), strict=True):
        axes.set(yscale="log", ylim=(FLOOR / 1.5, 0.6), xlabel="contexts $l$", title=title)
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_ylabel("classification error")
    return panels


def _marks(axes: Axes, x, values: xr.DataArray, k: int, label: str, **style) -> None:
    """Draw means over seeds with two standard errors; what is below the floor stands on it."""
    found = over_seeds(values)
    place = np.maximum(found.value, FLOOR)
    low, high = np.maximum(found.value - found.two_se, FLOOR), np.maximum(found.value + found.two_se, place)
    points(axes, x, place, [place - low, high - place], k, label=label, **style)


@drawing(
    "li-decoder-attention",
    alt=(
        "Left: attention to the query's pattern in layers 1 to 3, before and after training, with the more selective "
        "head and the slides' points; before near 0.4, after near 0.57, below the slides. Right: error against the "
        "coefficient sum S1 for two conventions; with rescaled patterns it falls steeply from 0.5 at S1 = 0 to "
        "0.002 near 1, at 0.5 as the slides' points and below them from there on; with patterns of fixed norm it stays "
        "near 0.03."
    ),
    caption=(
        "Left: of the attention of the query to the contexts, the part on contexts with its ODR pattern, mean over "
        "heads and over prompts that contain it; crosses are read off the slides by eye. Right: error on unseen "
        "patterns with coefficient sum S<sub>1</sub> by both conventions. Intervals: two standard errors over models."
    ),
    size=(7.6, 3.7),
)
def attention_and_sums(figure: Figure, dataset: xr.Dataset) -> None:
    """Attention to the query's pattern by layer; error over the coefficient sum in two conventions."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
    out = dataset.sel(domain="out")
    for k, (stage, values, label) in enumerate(
        (("before", out.mass, "before"), ("after", out.mass, "after"), ("after", out.mass_head, "after, best head"))
    ):
        _marks(left, dataset.layer - 0.12 + 0.12 * k, values.sel(stage=stage), k, label)
    for stage in ("before", "after"):
        label = "slides, before and after" if stage == "after" else None
        color = mpl.rcParams["text.color"]
        left.plot(dataset.layer + 0.25, dataset.slides_mass.sel(stage=stage), "x", color=color, label=label)
    left.set(xlabel="layer", ylabel="attention to the query's pattern", ylim=(0, 1.45), xticks=dataset.layer.values)
    left.set_yticks([0, 0.25, 0.5, 0.75, 1])
    left.legend(loc="upper left", ncols=2, fontsize=8.5)
    for k, convention in enumerate(dataset.convention.values):
        cell = dataset.sel(convention=convention).shifted
        right.plot(dataset["sum"], np.maximum(cell.mean("seed"), FLOOR), color=f"C{k}", linestyle=LINES[k], linewidth=0.8)
        _marks(right, dataset["sum"], cell, k, str(convention))
    right.plot(dataset["sum"], dataset.slides_shifted, "x", color=mpl.rcParams["text.color"], label="GPT-2 on the slides")
    right.axvline(1, color=mpl.rcParams["text.color"], linewidth=0.7)
    right.set(yscale="log", ylim=(FLOOR / 1.5, 60), xlabel="coefficient sum $S_1$", ylabel="classification error")
    right.set_yticks([1e-4, 1e-3, 1e-2, 1e-1, 1])
    right.legend(loc="upper left")


@drawing(
    "li-classical",
    alt=(
        "Four panels of error against prompt length on logarithmic axes. Upper row, measured here, for two shares: "
        "all learners but 3-NN lie close together on the line of the vote; 1-NN is slightly below, 3-NN far above. "
        "Lower row, read off the slides: the curves are further apart, in-context learning lowest at alpha prime 0.6."
    ),
    caption=(
        "Upper row: classification error out of domain, S<sub>1</sub> = 1.1, the same prompts for all learners, two "
        "standard errors over models. Lines: the vote among all contexts (solid), and the laws for one (dashed) and "
        "three neighbours (dotted). Lower row: points of the slides, read off by eye, about 10%; at α′ = 0.6 only the "
        "end points of most curves were read. Errors below 0.0001 stand at the bottom."
    ),
    size=(7.6, 6.2),
)
def classical(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors of the model and of classical learners over prompt length, and the slides' points below."""
    grid = figure.subplots(2, dataset.sizes["alpha"], sharex=True, sharey=True, squeeze=False)
    learners = [name for name in dataset.learner.values if name != "untrained"]
    for column, alpha in enumerate(dataset.alpha.values):
        cells = dataset.sel(alpha=alpha)
        top, bottom = grid[:, column]
        laws = (cells.vote_theory, *(cells.neighbours_theory.sel(learner=name) for name in ("1-NN", "3-NN")))
        for law, k, line in zip(laws, (0, 4, 5), ("-", "--", ":"), strict=True):
            top.plot(dataset.l, law.where(law > FLOOR), color=f"C{k}", linestyle=line)
        for k, name in enumerate(learners):
            cell = cells.sel(learner=name)
            _marks(top, dataset.l + 0.12 * (k - 2.5), cell.error, k, name, markersize=4.5)
            slides = cell.slides.dropna("l")
            bottom.plot(slides.l, slides, color=f"C{k}", marker=MARKERS[k], linestyle=":", linewidth=0.8, markersize=4.5)
        top.set(title=rf"measured, $\alpha'={alpha:g}$", yscale="log", ylim=(FLOOR / 1.5, 0.5))
        bottom.set(title=rf"slides, $\alpha'={alpha:g}$", xlabel="contexts $l$", xticks=dataset.l.values)
    for axes in grid[:, 0]:
        axes.set_ylabel("classification error")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3)


@drawing(
    "li-classical-reasons",
    alt=(
        "Dot plots, one row per variant and the slides on top, error on a logarithmic axis, one panel per prompt "
        "length. In-context learning stays in place in all rows; with larger K the classical learners move to the right."
    ),
    caption=(
        "Classification error at α′ = 0.6, one panel a length; the model and the classical learners on the same "
        "prompts, two standard errors. Top row: the slides, read off by eye. K bounds κ; the model is trained at "
        "K = 0.5 throughout. Errors below 0.0001 stand at the left edge."
    ),
    size=(7.6, 5.6),
)
def reasons(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors of all learners under changes of the classical learners and of the noise."""
    panels = np.atleast_1d(figure.subplots(1, dataset.sizes["l"], sharey=True))
    rows = np.arange(dataset.sizes["variant"])[::-1]
    for axes, l in zip(panels, dataset.l.values, strict=True):
        for k, name in enumerate(dataset.learner.values):
            cell = dataset.sel(l=l, learner=name)
            found, lift = over_seeds(cell.error), 0.09 * (2.5 - k)
            place = np.maximum(found.value, FLOOR)
            spread = [np.minimum(found.two_se, place - FLOOR), found.two_se]
            points(axes, place, rows + lift, None, k, xerr=spread, label=name, markersize=4.5)
            axes.plot([cell.slides], [rows[0] + 1 + lift], f"C{k}", marker=MARKERS[k], markerfacecolor="none")
        axes.axhline(rows[0] + 0.5, color=mpl.rcParams["text.color"], linewidth=0.7)
        axes.set(xscale="log", xlabel="classification error", title=f"$l={l}$", xlim=(FLOOR / 1.5, 0.7))
    panels[0].set_yticks([rows[0] + 1, *rows], ["slides", *dataset.variant.values])
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=6)


@drawing(
    "li-published-floor",
    alt=(
        "Error against prompt length, logarithmic axis, for two shares. Points for alpha prime 0.6 follow their "
        "falling line closely; points for 0.8 follow theirs up to ten contexts and then stay above it, by a factor "
        "15 at eighteen."
    ),
    caption=(
        "Points: one-layer errors out of domain on the slides, read off by eye, bars of 10%. Lines: missing pattern "
        "times wrong majority. Bands: between half the chance of a missing pattern and all of it. No parameter is fitted."
    ),
    size=(6.4, 3.8),
)
def published_floor(figure: Figure, dataset: xr.Dataset) -> None:
    """The paper's one-layer points and the law of the missing pattern."""
    axes = figure.subplots()
    for k, alpha in enumerate(dataset.alpha.values):
        cell = dataset.sel(alpha=alpha)
        axes.plot(cell.l, cell.vote_theory, color=f"C{k}", linestyle=LINES[k])
        axes.fill_between(cell.l, cell.missing_theory / 2, cell.missing_theory, color=f"C{k}", alpha=0.15, linewidth=0)
        points(axes, cell.l, cell.slides, cell.slides * float(dataset.slides_error), k, label=rf"$\alpha'={alpha:g}$")
    axes.set(yscale="log", xlabel="contexts $l$", ylabel="classification error", ylim=(1e-5, 0.3))
    axes.legend(loc="lower left")
