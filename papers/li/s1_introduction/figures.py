"""Figure of section 1."""

import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import Table, drawing, each, legend, line, points, series


@drawing(
    "li-nonlinearity",
    alt=(
        "Three panels for four networks. Mean margin against S1: a rising line for softmax with ReLU, a nearly level one "
        "for linear attention with ReLU, level ones for both linear MLPs. Mean margin against alpha prime: lines through "
        "the origin for linear attention, curves that flatten early for softmax. Error on short prompts: both softmax "
        "networks near the upper line, both linear ones near the lower line."
    ),
    caption=(
        "Four networks, named by attention, MLP; means over networks with two standard errors. Left: mean margin on new "
        "patterns with coefficient sum S₁. Lines: what the feature parts of the neurons predict from the reading at the "
        "largest S₁ (L0c). Middle: mean margin on long prompts over the share α′ of relevant contexts. Dotted line: closed "
        "form (L0b); thin lines join the markers. Right: error on short prompts. Grey lines: the errors that prompts without "
        "the query's pattern make, for a rule with the majority of their labels and for one against it. The markers of a "
        "pair are drawn side by side; they would coincide."
    ),
    size=(9.6, 4.2),
)
def nonlinearity(figure: Figure, dataset: xr.Dataset) -> None:
    """Margin against S_1 and alpha', error on short prompts, for the four variants."""
    left, middle, right = figure.subplots(1, 3)
    series(left, dataset, "margin_S_1", "S_1", "variant", label="{variant}", theory=("margin_predicted", "S_1"))
    for k, cell in each(dataset, "variant"):
        points(middle, cell, "margin_alpha", "alpha", k)
        points(right, cell, "error_short", cell.short + 0.12 * (k - 1.5), k)
    line(middle, dataset, "margin_alpha_theory", "alpha", 3)
    for k, cell in each(dataset.isel(variant=slice(3)), "variant"):
        line(middle, cell, "margin_alpha", "alpha", k, linestyle="-", linewidth=0.5)
    for k, cell in each(dataset, "sign"):
        line(right, cell, "absent_error", "short", k, color="C5", label=("with the majority", "against it")[k])
    left.set(xlabel="$S_1$", ylabel="mean margin $zF$", ylim=(0, None))
    middle.set(xlabel="share of relevant contexts $\\alpha'$", xlim=(0, None), ylim=(0, None))
    right.set(xlabel="contexts $l$", ylabel="error", yscale="log")
    right.set_xticks(dataset.short.values, [str(l) for l in dataset.short.values])
    right.minorticks_off()
    right.legend(loc="lower left")
    legend(left, columns=4)


def parts(dataset: xr.Dataset) -> Table:
    """Return how each network learns and how it fails out of domain, means over networks."""
    mean = dataset.mean("seed")
    columns = {
        "step size": mean.eta,
        "steps to ½": mean.half,
        "feature part": mean.feature,
        "hinge, small α′": mean.hinge_alpha.isel(alpha=0),
        "error, small α′": mean.error_alpha.isel(alpha=0),
        "hinge, small S₁": mean.hinge_S_1.isel(S_1=0),
    }
    return Table.by({"variant": "network"}, columns, ".3f")
