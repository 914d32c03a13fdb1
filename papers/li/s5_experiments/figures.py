"""Figures of section 5."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import MARKERS, Table, across, band, drawing, each, entry, interval, legend, line, points, sideways, span

FLOOR = 1e-4
"""Where errors of 0 are drawn on logarithmic axes."""


def _alt_decoder(dataset: xr.Dataset) -> str:
    error = dataset.error.mean("seed")
    longest, better = error.isel(l=-1), error < dataset.error_vote
    crossed = better.isel(l=0).all() and not better.isel(l=-1).any()
    beside = "err less than a vote on short prompts, more on long ones" if crossed else "lie on both sides of it"
    beside = beside if better.any() else "err more than a vote at every length"
    lines = " and, below it, that of the best predictor" if _lines(dataset, "error_best") else ""
    return (
        "Two panels, unseen tasks and unseen patterns: error against prompt length on a logarithmic axis, one "
        "series for each share alpha prime. Errors fall with the length and, at short prompts, with the share. At "
        f"{int(error.l[-1])} contexts they are {span(longest.sel(domain='in'))} on unseen tasks and "
        f"{span(longest.sel(domain='out'))} on unseen patterns. Steep lines: the error of a vote{lines}. The models {beside}."
    )


def _lines(dataset: xr.Dataset, name: str) -> bool:
    """Whether a law has two points above the floor, and so a line."""
    return bool(((dataset[name] > FLOOR).sum("l") > 1).any())


@drawing(
    "li-decoder",
    alt=_alt_decoder,
    caption=(
        "Three-layer transformer: share of wrong answers over the number of contexts, by the share α′ of relevant ones; mean "
        "over models with two standard errors. The markers of one length are drawn side by side. Thick lines: the error of a "
        "vote among all contexts, missing pattern times wrong majority. In the full profile, thin lines: the least error when "
        "all tasks are equally likely; crosses: GPT-2 on the slides at <i>l</i> = 20, read off by eye. Errors below 0.0001 are "
        "drawn at the bottom."
    ),
    size=(7.6, 4.3),
)
def decoder(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of the transformer over prompt length, in and out of domain, beside the vote and the best predictor."""
    ink, on_slides = mpl.rcParams["text.color"], int(dataset.l[-1]) == 20
    shown = _above_floor(_on_floor(dataset, "error"), "error_vote", "error_best")
    for axes, (_, panel) in zip(_both_domains(figure), each(shown, "domain"), strict=True):
        for k, cell in each(panel, "alpha"):
            line(axes, cell, "error_vote", "l", k, linewidth=2.2)
            line(axes, cell, "error_best", "l", k, linewidth=0.8)
            place = cell.l + 0.4 * (k - (dataset.sizes["alpha"] - 1) / 2)
            points(axes, cell, "error", place, k, label="$\\alpha'={alpha:g}$")
            if on_slides:
                points(axes, cell, "slides_error", [21.2], k, marker="x", markersize=7)
        for width, label, name in ((2.2, "vote (thick)", "error_vote"), (0.8, "best predictor (thin)", "error_best")):
            if _lines(dataset, name):
                entry(axes, label, color=ink, linewidth=width, linestyle="-", marker="")
        if on_slides:
            entry(axes, "slides, 20 contexts", color=ink, marker="x")
    legend(figure.axes[0], columns=3, side="upper")


def _alt_positions(dataset: xr.Dataset) -> str:
    error, two_se = interval(dataset, "error")
    less = error.sel(positions="learned") - error.sel(positions="none")
    apart = (abs(less) > two_se.sum("positions")).any()
    where = "In places the intervals of the two series are apart" if apart else "The intervals of the two series overlap"
    lower = (
        ", those without positions lower" if (less > 0).all() else ", those with positions lower" if (less < 0).all() else ""
    )
    return (
        "Two panels, unseen tasks and unseen patterns: error against prompt length on a logarithmic axis for models "
        f"without positions and with learned ones. {where}{lower}."
    )


@drawing(
    "li-decoder-positions",
    alt=_alt_positions,
    caption=(
        "Three-layer transformers without positions and with a learned table of them, as in GPT-2, trained on the same "
        "prompts: classification error at the training share, mean over models with two standard errors. Errors below "
        "0.0001 are drawn at the bottom."
    ),
    size=(7.6, 3.5),
)
def decoder_positions(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of transformers with and without learned positions, over prompt length."""
    for axes, (_, panel) in zip(_both_domains(figure), each(_on_floor(dataset, "error"), "domain"), strict=True):
        for k, cell in each(panel, "positions"):
            line(axes, cell, "error", "l", k, linewidth=0.8)
            points(axes, cell, "error", cell.l + 0.15 * k, k, label="positions: {positions}")
    legend(figure.axes[0], columns=2, side="upper")


def _both_domains(figure: Figure) -> np.ndarray:
    """Return two panels of errors over prompt length, in and out of domain."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, title in zip(panels, ("unseen tasks", "unseen patterns"), strict=True):
        axes.set(yscale="log", ylim=(FLOOR / 1.5, 0.6), xlabel="contexts $l$", title=title)
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_ylabel("classification error")
    return panels


def _on_floor(dataset: xr.Dataset, name: str) -> xr.Dataset:
    """Return a dataset in which a variable is its mean over seeds with an interval; what is below the floor is drawn on it."""
    mean, two_se = interval(dataset, name)
    ends = {name: mean, f"{name}_low": mean - two_se, f"{name}_high": mean + two_se}
    return dataset.assign({end: values.clip(FLOOR) for end, values in ends.items()})


def _above_floor(dataset: xr.Dataset, *names: str) -> xr.Dataset:
    """Return a dataset in which these laws end at the floor."""
    return dataset.assign({name: dataset[name].where(dataset[name] > FLOOR) for name in names})


def _alt_attention(dataset: xr.Dataset) -> str:
    layers, error = dataset.mass.sel(domain="out").mean("seed"), dataset.shifted.mean("seed")
    scaled, slides = error.sel(convention="rescaling"), dataset.slides_shifted.dropna("sum")
    falls = [
        f"from {each.max():.2g} at {each.idxmax():g} to {each[-1]:.2g} at {each['sum'][-1]:g}" for each in (scaled, slides)
    ]
    return (
        "Left: attention to the query's pattern in layers 1 to 3, before and after training, with the more selective "
        f"head and the slides' points; before {span(layers.sel(stage='before'))}, after {span(layers.sel(stage='after'))}, "
        f"below the slides. Right: error against the coefficient sum S1; with rescaled patterns it falls {falls[0]}, on the "
        f"slides {falls[1]}; with patterns of fixed norm it is {span(error.sel(convention='fixed norm'))}."
    )


@drawing(
    "li-decoder-attention",
    alt=_alt_attention,
    caption=(
        "Left: of the attention of the query to the contexts, the part on contexts with its ODR pattern, mean over "
        "heads, or the layer's more selective head, over prompts that contain it; crosses are read off the slides by eye. "
        "Right: error over the coefficient sum S<sub>1</sub>, for three new patterns of fixed norm and for the training "
        "patterns times S<sub>1</sub>. Intervals: two standard errors over models."
    ),
    size=(7.6, 3.7),
)
def attention_and_sums(figure: Figure, dataset: xr.Dataset) -> None:
    """Attention to the query's pattern by layer; error over the coefficient sum in two conventions."""
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
    out, crosses = dataset.sel(domain="out"), dict(color=mpl.rcParams["text.color"], marker="x")
    for stage, label in (("before", None), ("after", "GPT-2 on the slides")):
        points(left, dataset.sel(stage=stage), "slides_mass", dataset.layer + 0.25, label=label, **crosses)
    shown = (("before", "mass", "before"), ("after", "mass", "after"), ("after", "mass_head", "after, best head"))
    for k, (stage, name, label) in enumerate(shown):
        points(left, out.sel(stage=stage), name, out.layer - 0.12 + 0.12 * k, k, label=label)
    left.set(xlabel="layer", ylabel="attention to the query's pattern", ylim=(0, 1.45), xticks=dataset.layer.values)
    left.set_yticks([0, 0.25, 0.5, 0.75, 1])
    left.legend(loc="upper left", ncols=2, fontsize=8.5)
    points(right, dataset, "slides_shifted", "sum", label="GPT-2 on the slides", **crosses)
    for k, cell in each(_on_floor(dataset, "shifted"), "convention", len(shown)):
        line(right, cell, "shifted", "sum", k, linewidth=0.8)
        points(right, cell, "shifted", "sum", k, label="{convention}")
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
        "Measured: classification error out of domain, S<sub>1</sub> = 1.1, the same prompts for all learners, two "
        "standard errors over models. Lines: the vote among all contexts (solid), and the laws for one (dashed) and "
        "three neighbours (dotted). Slides: points read off by eye, about 10%; at α′ = 0.6 only the "
        "end points of most curves were read. Errors below 0.0001 are drawn at the bottom."
    ),
    size=(7.6, 6.2),
)
def classical(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors of the model and of classical learners over prompt length, and the slides' points below."""
    grid = figure.subplots(2, dataset.sizes["alpha"], sharex=True, sharey=True, squeeze=False)
    shown = _above_floor(_on_floor(dataset, "error"), "vote_theory", "neighbours_theory").drop_sel(learner="untrained")
    for (top, bottom), (_, cells) in zip(grid.T, each(shown, "alpha"), strict=True):
        alpha = cells.alpha.item()
        line(top, cells, "vote_theory", "l", 0)
        for name, k, dashes in (("1-NN", 4, "--"), ("3-NN", 5, ":")):
            line(top, cells.sel(learner=name), "neighbours_theory", "l", k, linestyle=dashes)
        style = dict(linestyle=":", linewidth=0.8, markersize=4.5)
        for k, cell in each(cells, "learner"):
            points(top, cell, "error", cell.l + 0.12 * (k - 2.5), k, label="{learner}", markersize=4.5)
            line(bottom, cell[["slides"]].dropna("l"), "slides", "l", k, marker=MARKERS[k], **style)
        top.set(title=rf"measured, $\alpha'={alpha:g}$", yscale="log", ylim=(FLOOR / 1.5, 0.5))
        bottom.set(title=rf"slides, $\alpha'={alpha:g}$", xlabel="contexts $l$", xticks=dataset.l.values)
    for axes in grid[:, 0]:
        axes.set_ylabel("classification error")
    legend(grid[0, 0], columns=3, side="upper")


@drawing(
    "li-classical-reasons",
    alt=(
        "Dot plots, one row per variant and the slides on top, error on a logarithmic axis, one panel per prompt "
        "length. In-context learning stays in place in all rows; with larger K the classical learners move to the right."
    ),
    caption=(
        "Classification error at α′ = 0.6, one panel a length; the model and the classical learners on the same "
        "prompts, two standard errors. Top row: the slides, read off by eye. K bounds κ; the model is trained at "
        "K = 0.5 throughout. Errors below 0.0001 are drawn at the left edge."
    ),
    size=(7.6, 5.6),
)
def reasons(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors of all learners under changes of the classical learners and of the noise."""
    panels = figure.subplots(1, dataset.sizes["l"], sharey=True, squeeze=False)[0]
    rows = np.arange(dataset.sizes["variant"])[::-1]
    for axes, (_, panel) in zip(panels, each(_on_floor(dataset, "error"), "l"), strict=True):
        for k, cell in each(panel, "learner"):
            lift = 0.09 * (2.5 - k)
            sideways(axes, cell, "error", rows + lift, k, label="{learner}", markersize=4.5)
            sideways(axes, cell, "slides", [rows[0] + 1 + lift], k, markerfacecolor="none")
        axes.axhline(rows[0] + 0.5, color=mpl.rcParams["text.color"], linewidth=0.7)
        axes.set(xscale="log", xlabel="classification error", title=f"$l={panel.l.item()}$", xlim=(FLOOR / 1.5, 0.7))
    panels[0].set_yticks([rows[0] + 1, *rows], ["slides", *dataset.variant.values])
    legend(panels[0], columns=6, side="upper")


@drawing(
    "li-published-floor",
    alt=lambda dataset: (
        "Error against prompt length, logarithmic axis, for two shares. Points for alpha prime 0.6 lie on both sides of their "
        "falling line; points for 0.8 follow theirs up to ten contexts and then stay above it, by a factor "
        f"{(dataset.slides / dataset.vote_theory).sel(alpha=0.8, l=18):.0f} at eighteen."
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
    for k, cell in each(dataset, "alpha"):
        line(axes, cell, "vote_theory", "l", k)
        band(axes, cell, "missing_theory", "l", k)
        points(axes, cell, "slides", "l", k, label="$\\alpha'={alpha:g}$")
    axes.set(yscale="log", xlabel="contexts $l$", ylabel="classification error", ylim=(1e-5, 0.3))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="lower left")


def separation(dataset: xr.Dataset) -> Table:
    """Return how far neurons of each layer tell labels apart, before and after training, and the share of them that grows."""
    columns = across(dataset.separation.mean("seed"), "stage", "separation, {}")
    return Table.by({"layer": "layer"}, columns | {"share that grows": dataset.grown.mean("seed")})


def changed(dataset: xr.Dataset) -> Table:
    """Return the least ratio of a learner's error to the model's and the distance from the slides, by what is changed."""
    columns = {
        "least ratio of a learner's error to the model's, shortest prompts": dataset.least_ratio,
        "mean factor to the slides' errors": np.exp(dataset.distance),
    }
    return Table.by({"variant": "changed"}, columns)
