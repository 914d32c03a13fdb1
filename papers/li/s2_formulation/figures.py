"""Figures of section 2."""

import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import LINES, drawing, each, legend, points, series


@drawing(
    "li-start",
    alt=(
        "Two panels against beta. Left: attention mass, markers on rising lines that leave the uniform value slowly. "
        "Right: mean square of the output, markers on rising lines, the one with coin signs above the balanced one."
    ),
    caption=(
        "The untrained network. Lines: closed forms. Markers: networks with their own draw of <i>W<sub>O</sub></i>, mean "
        "with two standard errors. Left: attention on the query's pattern; thin level lines: uniform attention. Right: "
        "<i>E F</i>² at the longest prompt, with as many positive as negative signs in <i>a</i>, and with signs by coins."
    ),
    size=(7.6, 3.6),
)
def start(figure: Figure, dataset: xr.Dataset) -> None:
    """Attention mass and size of the output of the untrained network against the length of the patterns."""
    left, right = figure.subplots(1, 2)
    for k, cell in each(dataset, "length"):
        left.axhline(float(cell.mass_uniform), color=f"C{k}", linewidth=0.7, linestyle=LINES[k])
    series(left, dataset, "mass", "beta", "length", label="$l={length}$", theory=("mass_theory", "beta"))
    longest = dataset.isel(length=-1)
    for k, (name, label) in enumerate((("square", "balanced signs"), ("square_coins", "signs by coins")), start=2):
        series(right, longest, name, "beta", label=label, theory=(f"{name}_theory", "beta"), first=k)
    left.set(xlabel="length of a pattern $\\beta$", ylabel="attention on the query's pattern")
    right.set(xlabel="length of a pattern $\\beta$", ylabel="$E\\,F^2$", yscale="log")
    left.legend(loc="upper left")
    right.legend(loc="lower right")


SETS = {"cyclic 3": "three shifts", "cyclic 1": "one shift"}
"""Names of the sets of training tasks in the legend."""


def _alt_training(dataset: xr.Dataset) -> str:
    course = dataset.hinge_unseen.mean("seed").where(dataset.tasks == "one-sided", drop=True)
    least = f", the one of one-sided tasks never falls below {course.min():.2g}" if course.size else ""
    return (
        "Two panels of curves against the SGD step. Hinge loss: training curves fall from 1 to 0; unseen curves of the two "
        f"covering task sets follow{least}; with W_Q zero it stays at 1. Error: the same picture from 0.5."
    )


@drawing(
    "li-training",
    alt=_alt_training,
    caption=(
        "Along SGD, mean over networks with two standard errors. Filled markers: fresh prompts of training tasks. Open "
        "markers: tasks that were not trained. Three shifts, one shift: sets of training tasks that show every pattern with "
        "both labels. One-sided: each pattern with one label only. Crosses: the networks of three shifts with "
        "<i>W<sub>Q</sub></i> = 0. The step axis is linear up to 20 and logarithmic beyond."
    ),
    size=(8.6, 4.2),
)
def training(figure: Figure, dataset: xr.Dataset) -> None:
    """Hinge loss on training and unseen tasks, and without sight of the query, along training."""
    for axes, what, label in zip(figure.subplots(1, 2), ("hinge", "error"), ("hinge loss", "error"), strict=True):
        for k, cell in each(dataset, "tasks"):
            name = SETS.get(cell.tasks.item(), "{tasks}")
            points(axes, cell, f"{what}_training", "step", k, linestyle=LINES[0], linewidth=0.9, label=name)
            points(axes, cell, f"{what}_unseen", "step", k, linestyle=LINES[1], linewidth=0.9, mfc="none")
        first, style = dataset.isel(tasks=0), dict(marker="x", linestyle=LINES[3], linewidth=0.9)
        points(axes, first, f"{what}_blind", "step", 5, label="$W_Q=0$", **style)
        axes.set(xlabel="step", ylabel=label, xlim=(-1, None), ylim=(-0.02, None))
        axes.set_xscale("symlog", linthresh=20)
        ticks = dataset.step.values[1:] if dataset.sizes["step"] < 7 else [20, 60, 200, 1000]
        axes.set_xticks([0, *ticks], ["0", *(str(tick) for tick in ticks)])
        axes.minorticks_off()
    legend(axes, columns=4)
