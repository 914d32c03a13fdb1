"""Figures of section 3.3."""

import matplotlib as mpl
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import LINES, Table, at_most, band, drawing, each, legend, line, points, series

CONVENTIONS = (("fixed norm", ""), ("rescaling", "_rescaled"))
SMALLEST = 1e-5
"""Errors below are drawn here: no wrong answer among that many prompts."""


def _lifted(dataset: xr.Dataset, *names: str) -> xr.Dataset:
    """Return a dataset in which these errors are at least ``SMALLEST``."""
    return dataset.assign({name: dataset[name].clip(SMALLEST) for name in names})


def _alt_sum(dataset: xr.Dataset) -> str:
    sums, means = dataset.S_1.values, dataset[["error", "error_rescaled", "hinge", "hinge_rescaled"]].mean("seed")
    beyond = float(means.error.sel(S_1=slice(0, None)).max())
    hinges = " and ".join(f"{float(hinge):.1f}" for hinge in means.hinge.sel(S_1=-1))
    return (
        f"Two rows of three panels over the coefficient sum from {sums[0]:g} to {sums[-1]:g}. Left: 0-1 error, logarithmic. "
        f"At fixed norm it is at most {at_most(beyond, '.1g')} from 0 on; when the sum rescales the patterns it is "
        f"{float(means.error_rescaled.sel(S_1=0).min()):.1f} at 0 and near 0 from 1 on. Middle: at fixed norm the "
        f"hinge falls towards 0, from {hinges} at -1; under rescaling it peaks at "
        f"{float(means.hinge_rescaled.sel(S_1=0).max()):.1f} where the sum is 0. Right: the mean margin rises along a line "
        "that the markers follow."
    )


@drawing(
    "li-coefficient-sum",
    alt=_alt_sum,
    caption=(
        "New patterns of coefficient sum <i>S</i><sub>1</sub>, for each setting 0-1 error, hinge and mean margin. Error and "
        "hinge: at fixed norm and with <i>S</i><sub>1</sub> as a rescaling; no error is drawn at 10<sup>−5</sup>, the level "
        "line is at 0.01. Margin: at fixed norm; line: predicted from the trained weights. The upright dotted line is at 1. "
        "Intervals: 2 s.e. over networks."
    ),
    size=(9.2, 5.4),
)
def coefficient_sum(figure: Figure, dataset: xr.Dataset) -> None:
    """0-1 error, hinge and margin over S_1, one row a setting."""
    grid = figure.subplots(dataset.sizes["setting"], 3, sharex=True, squeeze=False)
    ink = mpl.rcParams["text.color"]
    shown = _lifted(dataset, "error", "error_rescaled")
    for (error, hinge, margin), (_, cell) in zip(grid, each(shown, "setting"), strict=True):
        for k, (name, suffix) in enumerate(CONVENTIONS):
            series(error, cell, f"error{suffix}", "S_1", label=name, first=k)
            series(hinge, cell, f"hinge{suffix}", "S_1", label=name, first=k)
        series(margin, cell, "margin", "S_1", label="fixed norm", theory=("margin_theory", "S_1"))
        error.axhline(0.01, color=ink, linewidth=0.8)
        error.set(yscale="log", ylim=(SMALLEST / 2, 1), ylabel="0-1 error")
        hinge.set(ylabel="hinge", ylim=(-0.03, None))
        margin.set(ylabel="mean margin $zF$", ylim=(0, None))
        for axes in (error, hinge, margin):
            axes.axvline(1, color=ink, linewidth=1.2, linestyle=":")
            axes.set_title(f"setting {cell.setting.item()}")
    for axes in grid[-1]:
        axes.set_xlabel("coefficient sum $S_1$")
    legend(grid[0, 0], columns=2, side="upper")


def _alt_rescaling(dataset: xr.Dataset) -> str:
    sums, means = dataset.S_1.values, dataset[["error", "mass", "hinge_fixed"]].mean("seed")
    error, mass, low = means.error.values, means.mass.values, means.error.sel(S_1=0.7, method="nearest")
    return (
        f"Three panels over the coefficient sum from {sums[0]:g} to {sums[-1]:g}. The error falls from {error[0]:.1f} to "
        f"{low:.1g} at {low.S_1:g}, the attention rises from {mass[0]:.1f} to {mass[-1]:.1f}; markers lie on the lines "
        "of the squared sum or a little above. The "
        f"hinge falls from one to zero; at fixed norm it is {at_most(means.hinge_fixed.max(), '.1g')} at most."
    )


@drawing(
    "li-rescaling",
    alt=_alt_rescaling,
    caption=(
        "<i>S</i><sub>1</sub> as a rescaling, μ′ = <i>S</i><sub>1</sub>μ. Lines: the vote law and the attention at score "
        "gap <i>S</i><sub>1</sub>²γ, γ from the trained weights, and at <i>S</i><sub>1</sub>γ. Right: the hinge in both "
        "conventions. Intervals: 2 s.e. over seeds."
    ),
    size=(9.2, 3.1),
)
def rescaling(figure: Figure, dataset: xr.Dataset) -> None:
    """Error, attention and hinge over S_1 when it rescales the patterns."""
    left, middle, right = figure.subplots(1, 3)
    for axes, name, what in ((left, "error", "0-1 error"), (middle, "mass", "attention mass")):
        line(axes, dataset, f"{name}_theory", "S_1", 1, linestyle=LINES[0], label="gap $S_1^2\\gamma$")
        line(axes, dataset, f"{name}_linear", "S_1", 2, linestyle=LINES[1], label="gap $S_1\\gamma$")
        points(axes, dataset, name, "S_1", 1, label="rescaling")
        axes.set_ylabel(what)
    series(right, dataset, "hinge_fixed", "S_1", label="fixed norm")
    series(right, dataset, "hinge", "S_1", label="rescaling", first=1)
    right.set_ylabel("hinge")
    for axes in (left, middle, right):
        axes.set(xlabel="$S_1$", ylim=(0, None))
        axes.axvline(1, color=mpl.rcParams["text.color"], linewidth=1.2, linestyle=":")
    legend(left, right, columns=4, side="upper")


def _alt_sum_reasons(dataset: xr.Dataset) -> str:
    errors, spread = dataset.error.mean("seed"), dataset.gap_spread.mean("seed")
    from_0 = errors.sel(S_1=slice(0, None))
    worst = from_0.mean("S_1").idxmax("setting").item()
    others = from_0.drop_sel(setting=worst)
    widest = spread.mean("setting").idxmax("S_1").item()
    return (
        f"Two panels over the coefficient sum. Left: where it is not negative the error is largest in the setting {worst}, "
        f"{at_most(from_0.sel(setting=worst).max())} at most; in each other setting it is at most "
        f"{at_most(others.max())} there. Right: the spread of the score gap, largest at a sum of "
        f"{widest:g}."
    )


@drawing(
    "li-sum-reasons",
    alt=_alt_sum_reasons,
    caption=(
        "Fixed norm, settings that change one thing at a time (<i>r</i> = 1: six training tasks). Left: 0-1 error; zero is "
        "drawn at 10<sup>−5</sup>. "
        "Right: standard deviation of the score gap over ODR draws and pairs. Intervals: 2 s.e. over seeds."
    ),
    size=(9.2, 3.6),
)
def sum_reasons(figure: Figure, dataset: xr.Dataset) -> None:
    """0-1 error and spread of the score gap over S_1 at fixed norm, for several settings."""
    left, right = figure.subplots(1, 2)
    series(left, _lifted(dataset, "error"), "error", "S_1", "setting", label="{setting}")
    series(right, dataset, "gap_spread", "S_1", "setting", label="{setting}")
    left.set(xlabel="$S_1$", ylabel="0-1 error", yscale="log")
    right.set(xlabel="$S_1$", ylabel="spread of the score gap", ylim=(0, None))
    legend(left, columns=3)


def _alt_fraction(dataset: xr.Dataset) -> str:
    means, tasks = dataset[["error_in", "error_out", "error_worst"]].mean("seed"), dataset.tasks.values
    few, most = means.isel(shifts=0), at_most(max(float(means.error_out.isel(shifts=-1)), 1e-4), ".1g")
    return (
        "Left: errors against the number of training tasks, logarithmic. In domain the error is at most "
        f"{at_most(means.error_in.max())}. Out of domain it is {float(few.error_out):.2g} at {tasks[0]:g} tasks, with a "
        f"worst draw of {float(few.error_worst):.2g}, and at most {most} at {tasks[-1]:g}. "
        f"Right: score gaps, far apart at {tasks[0]:g} tasks; those of trained pairs and of new patterns are equal at "
        f"{tasks[-1]:g}."
    )


@drawing(
    "li-task-fraction",
    alt=_alt_fraction,
    caption=(
        "Left: 0-1 error over the number of covering training tasks; in domain on unseen tasks, or on all where none is "
        "unseen; zero is drawn at 10<sup>−5</sup>; dotted: the stated (<i>M</i><sub>1</sub>−1)<sup>−1/2</sup>|<i>T</i>|. "
        "Right: scores of the query's pattern above another: the mean γ (line), over ODR draws with one standard deviation "
        "over draws and pairs, and over trained and untrained pairs. Other intervals: two standard errors over models."
    ),
    size=(9.2, 3.5),
)
def task_fraction(figure: Figure, dataset: xr.Dataset) -> None:
    """Errors and score gaps over the number of training tasks."""
    left, right = figure.subplots(1, 2)
    shown = (("error_in", "in domain"), ("error_out", "out of domain, mean"), ("error_worst", "worst ODR draw"))
    for k, (name, label) in enumerate(shown):
        series(left, _lifted(dataset, name), name, "tasks", label=label, first=k)
    left.axvline(float(dataset.tasks_stated), ymax=0.65, color=mpl.rcParams["text.color"], linewidth=1.2, linestyle=":")
    left.set(yscale="log", xlabel="training tasks $|\\mathcal{T}_{tr}|$", ylabel="0-1 error", ylim=(SMALLEST / 2, 8))
    left.legend(loc="upper right")
    line(right, dataset, "gap_theory", "tasks", 3, linestyle="-", label="$\\gamma$")
    points(right, dataset.mean("seed"), "gap_out", "tasks", 3, capsize=3, markersize=4, label="ODR draws, spread")
    series(right, dataset, "gap_trained", "tasks", label="trained pairs", first=4)
    series(right, dataset, "gap_untrained", "tasks", label="untrained pairs", first=5)
    right.set(xlabel="training tasks $|\\mathcal{T}_{tr}|$", ylabel="score gap", ylim=(0, None))
    right.legend(loc="lower right")


@drawing(
    "li-prompt-length",
    alt=(
        "Left: error against prompt length on a logarithmic axis, one falling curve for each share; markers lie on lines. "
        "Right: the needed length against the share, both logarithmic: markers on a line that falls like one over the "
        "share, inside a band, far above the dotted line 1/share."
    ),
    caption=(
        "Left: out-of-domain 0-1 error over the prompt length; lines: the vote law. Right: length at which the error "
        "passes 0.01; line: the vote law; band: (2/α′−1) ln 50 to (2/α′) ln 100; dotted: 1/α′. Intervals: 2 s.e."
    ),
    size=(9.2, 3.6),
)
def prompt_length(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over the prompt length, and the length that an error of eps takes."""
    left, right = figure.subplots(1, 2)
    seen = dataset.assign(error=dataset.error.where(dataset.error.mean("seed") > 2 * SMALLEST))
    series(left, seen, "error", "length", "alpha", label="$\\alpha'={alpha:g}$", theory=("error_theory", "length"))
    left.set(yscale="log", ylim=(1e-4, 0.7), xlabel="prompt length $l$", ylabel="0-1 error")
    left.legend(loc="upper right")
    k = dataset.sizes["alpha"]
    band(right, dataset, "needed_theory", "alpha", k)
    line(right, dataset, "needed_theory", "alpha", k, linestyle="-", label="vote law")
    points(right, dataset, "needed", "alpha", k, label="measured")
    line(right, dataset, "needed_stated", "alpha", color=mpl.rcParams["text.color"], linestyle=":", label="$1/\\alpha'$")
    right.set(xscale="log", yscale="log", xlabel="share $\\alpha'$", ylabel="length for an error of 0.01")
    right.set_xticks(dataset.alpha.values, [f"{alpha:g}" for alpha in dataset.alpha.values], minor=False)
    right.minorticks_off()
    right.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    right.legend(loc="upper right")


def ratios(dataset: xr.Dataset) -> Table:
    """Return the response to features over that to labels, and what it would be were rows aligned, means over networks."""
    mean = dataset[["ratio", "ratio_theory"]].mean("seed")
    columns = {"feature over label response": mean.ratio, "the same if rows were aligned": mean.ratio_theory}
    return Table.by({"setting": "setting"}, columns)
