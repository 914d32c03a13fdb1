"""Sparse linear functions: errors over prompt length."""

import matplotlib as mpl
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import drawing, legend, line, points


def _alt(dataset: xr.Dataset) -> str:
    end = float(dataset.risk.sel(predictor="GPT-2", k=dataset.k.max()))
    return (
        "Error over that of predicting zero against the number of examples, 0 to 20. The Bayes predictor drops to zero at 3 "
        "examples, next the Lasso, and least squares in a straight line at 10. The model with the slow curriculum follows "
        f"least squares at first, then falls behind: {end:.2f} is left at the end, where it is at zero. The one with the fast "
        "curriculum stays at 1."
    )


LABELS = {"GPT-2": "GPT-2, slow curriculum"}
"""What the data name otherwise."""


@drawing(
    "garg-sparse",
    alt=_alt,
    caption=(
        "Tasks with 2 of 10 entries: error over that of predicting 0 after <i>k</i> examples. The two GPT-2 models "
        "differ in their curriculum. Line: least squares in closed form. Markers: measured on the same prompts, with two "
        "standard errors. The Lasso's penalty is the best of five for each <i>k</i>, chosen on other prompts. The Bayes "
        "predictor searches all 45 supports; its error is 0 from <i>k</i> = 3 on."
    ),
    size=(6.4, 3.9),
)
def sparse(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over the number of examples: both models, least squares, the Lasso and the Bayes predictor."""
    axes = figure.subplots()
    line(axes, dataset, "least_squares_line", "length", color="C2", label="least squares")
    for name, k, color in (("Lasso", 1, "C1"), ("Bayes", 2, "C3"), ("GPT-2, fast curriculum", 4, "C4"), ("GPT-2", 0, "C0")):
        open_marker = {} if name == "GPT-2" else {"markerfacecolor": "none"}
        style = {"color": color, "linestyle": ":", "linewidth": 0.8, "label": LABELS.get(name, "{predictor}")} | open_marker
        points(axes, dataset.sel(predictor=name), "risk", "k", k, **style)
    axes.axhline(1, color=mpl.rcParams["text.color"], linewidth=0.8)
    axes.set(xlabel="examples $k$", ylabel="error / error of predicting 0", ylim=(-0.03, None))
    axes.set_xticks(range(0, int(dataset.k.max()) + 1, 5))
    legend(axes, columns=3, side="upper", reverse=True)
