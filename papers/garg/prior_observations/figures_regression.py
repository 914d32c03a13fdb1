"""Linear functions: errors over prompt length, and what label noise shows of the algorithm."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import LINES, MARKERS, drawing, each, legend, line, points, span

_SMALL = {"markersize": 4, "elinewidth": 0.8}
TOP = 1.4


@drawing(
    "garg-regression",
    alt=(
        "Two panels, for models trained on 10 and on 20 examples: error over d against the number of examples. The model falls "
        "along the line of least squares at first, lies above it near k = d = 5, and is far below LSA, averaging and three "
        "nearest neighbours up to its training length, a vertical line. Beyond that length its error jumps."
    ),
    caption=(
        "Error/<i>d</i> after <i>k</i> examples without noise, <i>d</i> = 5; 1 is the error of predicting 0. Lines: closed "
        "forms; LSA is trained at the same <i>N</i>. Markers: measured on the same prompts, with two standard errors. The "
        "vertical line is the length <i>N</i> of the training prompts; shaded positions were never trained. Errors above "
        f"{TOP} lie outside the panels."
    ),
    size=(7.2, 3.9),
)
def regression(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over the number of examples: the models, the classical predictors and LSA."""
    panels = figure.subplots(1, dataset.sizes["model"], sharey=True, squeeze=False)[0]
    for axes, (_, cell) in zip(panels, each(dataset.sel(label="clean"), "model"), strict=True):
        N = int(cell.N)
        cell = cell.isel(k=slice(0, 2 * N + 1))
        line(axes, cell, "least_squares", "k", 2, linestyle=LINES[0], label="least squares")
        later = cell.isel(k=slice(1, None))
        line(axes, later, "lsa", "k", 1, label="LSA")
        line(axes, later, "averaging", "k", 5, linestyle=LINES[3], label="averaging")
        style = _SMALL | {"marker": MARKERS[4], "markerfacecolor": "none"}
        points(axes, cell.sel(predictor="3 nearest"), "risk", "k", 3, label="{predictor}", **style)
        points(axes, cell.sel(predictor=cell.model), "risk", "k", label="GPT-2", **_SMALL)
        axes.axvline(N, color=mpl.rcParams["text.color"], linewidth=0.8)
        axes.axvspan(N, 2 * N, color=mpl.rcParams["text.color"], alpha=0.07, linewidth=0)
        axes.set(xlabel="examples $k$", ylim=(-0.03, TOP), title=f"trained at $N={N}$")
        axes.set_xticks(range(0, 2 * N + 1, N // 2))
    panels[0].set_ylabel("error / $d$")
    legend(panels[0], columns=5, side="upper", columnspacing=1.0, reverse=True)


def _alt_noise(dataset: xr.Dataset) -> str:
    noisy, nearest = dataset.sel(label="noisy"), dataset.ridge.sel(k=dataset.d).idxmin("penalty")
    above = noisy.risk.sel(predictor=dataset.model, k=dataset.N) / noisy.bayes.sel(k=dataset.N)
    return (
        "Left: error over d under label noise, logarithmic, against the number of examples up to N. Least squares rises "
        f"around k = d = {int(dataset.d)}, where it leaves the panel; the models fall without a bump, at first along the Bayes "
        f"line and then above it, at N by factors of {span(above, '.1f')}. Right: squared distance of the models to ridge at "
        f"k = d over the penalty: a valley near penalty {float(nearest.median()):g}, well below the horizontal lines of the "
        "distance to least squares."
    )


@drawing(
    "garg-regression-noise",
    alt=_alt_noise,
    caption=(
        "Left: error/<i>d</i> against clean labels when the labels of the context carry noise of standard deviation 0.5, up to "
        "each model's <i>N</i>. Line: Bayes error, that of ridge with the noise variance as penalty. Least squares is "
        "measured; at <i>k</i> = 4, 5, 6 its mean is infinite, so its markers there are chance or outside the panel. Right: "
        "without noise at <i>k</i> = <i>d</i>, squared distance/<i>d</i> of the models to ridge by its penalty, and to least "
        "squares (horizontal lines)."
    ),
    size=(7.2, 3.7),
)
def noise(figure: Figure, dataset: xr.Dataset) -> None:
    """Left: errors under label noise. Right: which ridge predictor the models are nearest to."""
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    noisy = dataset.sel(label="noisy", k=dataset.k <= int(dataset.N.max()))
    line(left, noisy, "bayes", "k", 3, linestyle=LINES[0], label="Bayes (ridge)")
    squares = noisy[["risk"]].sel(predictor="least squares")
    points(left, squares, "risk", "k", 2, marker="X", markersize=6, label="{predictor}")
    for j, name in enumerate(dataset.model.values):
        own = noisy.sel(predictor=name, model=name)
        own, at = own.sel(k=own.k <= int(own.N)), dataset.sel(model=name, k=dataset.d)
        points(left, own, "risk", "k", j, label="{predictor}", **_SMALL)
        points(right, at, "ridge", "penalty", j, linestyle=LINES[j], linewidth=0.8)
        right.axhline(float(at.distance.sel(label="clean")), color=f"C{j}", linestyle=LINES[j], linewidth=1.2)
    left.set(yscale="log", ylim=(0.012, 30), xlabel="examples $k$", ylabel="error / $d$, with label noise")
    left.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    left.legend(loc="upper right", fontsize=8.5)
    right.set(xscale="log", ylim=(0, None), xlabel="penalty of ridge", ylabel="squared distance / $d$ at $k=d$")
    right.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    top = float(np.max(dataset.distance.sel(label="clean", k=dataset.d)))
    right.annotate("to least squares", (0.012, top), xytext=(0, 4), textcoords="offset points", fontsize=8.5)
