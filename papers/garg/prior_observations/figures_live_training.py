"""A training of seconds: the loss on its way, and the errors at its end."""

import matplotlib as mpl
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import drawing, each, legend, line, points

REFERENCES = (("zero", "predicting 0", "C3", ":"), ("lsa", "LSA", "C1", "--"), ("least_squares", "least squares", "C2", "-"))


@drawing(
    "garg-live-training",
    alt=(
        "Left: training loss over d against steps for each model. It stays near the error of predicting zero for a while, then "
        "falls below the line of LSA towards that of least squares. Right: error against the number of examples after "
        "training; from one example on, markers lie well below the line of LSA and above that of least squares."
    ),
    caption=(
        "Left: loss/<i>d</i>, the mean over all prefixes, of which a curriculum begins with the shorter ones, in windows of "
        "steps, one curve a model. Horizontal lines: the mean over those of full prompts for predicting 0, for LSA trained at "
        "<i>N</i>, and for least squares. Right: error/<i>d</i> on fresh prompts after <i>k</i> examples, one marker a model: "
        "circles with curriculum or the only kind, triangles without. Lines: closed forms."
    ),
    size=(7.2, 3.7),
)
def live_training(figure: Figure, dataset: xr.Dataset) -> None:
    """Left: training loss over steps. Right: error over the number of examples at the end."""
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    dataset = dataset[["loss", "risk", "lsa", "least_squares"]].assign(zero=1 + 0 * dataset.lsa)
    label = "GPT-2" if dataset.sizes["curriculum"] == 1 else "{curriculum} curriculum"
    for j, models in each(dataset, "curriculum"):
        color = ("C0", "C4")[j]
        for s, model in each(models, "seed"):
            line(left, model, "loss", "step", 2 * j, color=color, linewidth=0.8, label=None if s else label)
            style = {"color": color, "markersize": 4, "markerfacecolor": "none"}
            points(right, model, "risk", model.k.values + 0.16 * j, 3 * j, **style)
    for name, text, color, dashes in REFERENCES:
        left.axhline(float(dataset[name].mean()), color=color, linestyle=dashes, label=text)
        line(right, dataset, name, "k", color=color, linestyle=dashes)
    left.set(xlabel="training step", ylabel="loss / $d$", ylim=(0, None))
    right.set(xlabel="examples $k$", ylabel="error / $d$ at the end", ylim=(0, None))
    right.axhline(0, color=mpl.rcParams["text.color"], linewidth=0.8)
    legend(left, columns=5, side="upper", columnspacing=1.0)
