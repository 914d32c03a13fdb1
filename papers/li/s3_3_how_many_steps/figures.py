"""Figures of section 3.3, how many steps."""

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import xarray as xr
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, equality, points, series, span, strokes


@drawing(
    "li-iterations",
    alt=(
        "Left: measured against predicted steps, both logarithmic; markers for all letters lie a little below the "
        "diagonal. Right: exponents by letter; most of those to a loss of 0.1 lie near the long bars of "
        "the escape law, and those in beta and M1 lie away from the short bars of the stated law; most of those of the part "
        "from 0.9 to 0.1 lie away from the long bars."
    ),
    caption=(
        "Left: steps until the training loss (hinge) is ½, against the escape time Ψ/(ηρ|<i>q</i>|αβ²δ²) of the reduced model; "
        "line: equality. One kind of marker for each letter that is varied. Right: exponent of the steps in that letter, for "
        "the steps until the loss is 0.1, and for the part from 0.9 to 0.1. Intervals: 2 s.e. over networks."
    ),
    size=(9.2, 3.8),
)
def iterations(figure: Figure, dataset: xr.Dataset) -> None:
    """Measured against predicted escape times, and exponents."""
    left, right = figure.subplots(1, 2)
    symbols = dict(alpha="α", beta="β", eta="η", delta="δ", q="|q|", K="K", M1="M₁")
    first = dataset.isel(start=0)
    for k, letter in enumerate(dataset.letter.values):
        cells = first.isel(cell=np.flatnonzero(dataset.cell_letter.values == letter)).sel(level=0.5)
        points(left, cells, "time", "escape_theory", k, label=symbols[letter])
    ends = [float(first.escape_theory.min()), float(first.escape_theory.max())]
    equality(left, *ends)
    left.set(xscale="log", yscale="log", xlabel="predicted steps", ylabel="steps until the hinge is ½")
    for axis in (left.xaxis, left.yaxis):
        _plain_ticks(axis)
    left.legend(loc="upper left", ncols=2)
    at, ink = np.arange(dataset.sizes["letter"]), mpl.rcParams["text.color"]
    for law, width, label in (("slope_escape", 0.8, "escape law (long)"), ("slope_stated", 0.4, "stated law (short)")):
        strokes(right, dataset, law, at, width, color=ink, linewidth=4 * width - 0.8, label=label)
    shown = [(phase, start) for start in dataset.start.values for phase in ("to 0.1", "from 0.9 to 0.1")]
    for k, (phase, start) in enumerate(shown):
        offset = (k - (len(shown) - 1) / 2) * 0.15
        points(
            right, dataset.sel(phase=phase, start=start), "slope", at + offset, k, label="{phase}, {start}", fillstyle="none"
        )
    right.set(ylabel="exponent")
    right.set_xticks(at, [symbols[letter] for letter in dataset.letter.values])
    right.legend(loc="upper left", fontsize=8)


def _alt_training_length(dataset: xr.Dataset) -> str:
    steps, lengths = dataset.steps.mean("seed"), dataset.training_length.values
    ends = [int((lengths >= 2).argmax()), -1]
    short, long = (span(steps.isel(training_length=end), ".0f") for end in ends)
    return (
        "Steps against the length of the training prompts, one curve for each share. At "
        f"{lengths[ends[0]]} contexts they are {short}, at {lengths[-1]} they are {long}; a larger share needs fewer at every "
        "length. Prompts of one context, which never train the model, have no marker."
    )


@drawing(
    "li-training-length",
    alt=_alt_training_length,
    caption=(
        "Steps until the hinge on unseen tasks falls to ½, by a line between readings, over the number of contexts in a "
        "training prompt; two standard errors over networks. Dotted, in the colour of its share: 1/α. No marker: not reached. "
        "Thin lines join the markers."
    ),
    size=(6.4, 3.6),
)
def training_length(figure: Figure, dataset: xr.Dataset) -> None:
    """Steps over the length of the training prompts, one series a share."""
    axes = figure.subplots()
    series(axes, dataset, "steps", "training_length", "alpha", label="$\\alpha={alpha:g}$")
    for k, alpha in enumerate(dataset.alpha.values):
        axes.axvline(1 / alpha, color=f"C{k}", linestyle=":", linewidth=1.2)
    lengths = dataset.training_length.values
    axes.set(xscale="log", xlabel="contexts in a training prompt $l_{tr}$", ylabel="steps until the hinge is ½", ylim=(0, None))
    axes.set_xticks(lengths, [str(l) for l in lengths])
    axes.minorticks_off()
    axes.legend(loc="upper right")


def _plain_ticks(axis: Axis) -> None:
    axis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(mpl.ticker.FormatStrFormatter("%d"))
    axis.set_minor_locator(mpl.ticker.NullLocator())


SYMBOLS = {"alpha": "α", "beta": "β", "eta": "η", "M1": "M₁"}


def exponents(dataset: xr.Dataset) -> Table:
    """Return the exponents of the time from a hinge of 0.9 to 0.1, mean over networks, beside those that the paper states."""
    dataset = dataset.assign_coords(letter=[SYMBOLS[name] for name in dataset.letter.values])
    slope = dataset.slope.sel(phase="from 0.9 to 0.1").isel(start=0).mean("seed")
    return Table.by({"letter": "exponent of"}, {"measured": slope, "stated": dataset.slope_stated})
