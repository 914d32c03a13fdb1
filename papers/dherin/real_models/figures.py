"""Figures on classes of language models: errors by class, how many tokens one patch serves, what it answers."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import LINES, Table, across, drawing, each, legend, points, span
from papers.dherin.spread import spread

FLOOR = 1e-16
"""The least value drawn on a logarithmic axis."""
VIEWED = {"in view": ("in view", "D", "full"), "asked": ("patched for", "^", "full"), "neither": ("neither", "v", "none")}
"""Label and marker of each group of pairs when half of them stay in view."""
MARKS = {"no patch": 0, "reads alone": 1, "last alone": 2, "all matrices": 3, "position 0": 4}


def _alt_classes(dataset: xr.Dataset) -> str:
    own, behind = spread(dataset, "own", FLOOR).own, spread(dataset, "stream", FLOOR).stream
    stars = behind.sel(patch="last block", precision="float32")
    error, exact = spread(dataset, "error", FLOOR).error, ["last alone", "all matrices", "position 0"]
    single, half = error.sel(precision="float32"), error.sel(patch="last alone", precision="bfloat16")
    return (
        "Relative error by class of model on a logarithmic axis. Without a patch, and with one of what reads z alone, the "
        f"logits are off by {span(single.sel(patch=['no patch', 'reads alone']), '.1f')}. With the last matrices alone, with "
        f"all matrices, or with another position, they are off by {span(single.sel(patch=exact), '.0e')}; in bfloat16 by "
        f"{span(half, '.1g')}, below the error of bfloat16 itself, {span(own, '.1g')}. With the last block alone patched, "
        f"tokens behind the others are off by {span(stars)}."
    )


@drawing(
    "dherin-model-classes",
    alt=_alt_classes,
    caption=(
        "Largest relative error of the logits over queries, without the context; mean over random models on the logarithmic "
        "axis, bars from the smallest to the largest. Filled: float32. Open: bfloat16, last matrices alone. Crosses: error of "
        "the logits with the context in bfloat16, to those in float32. Stars: the token behind a block, worst of all, when "
        "the last block alone is patched."
    ),
    size=(7.6, 5.0),
)
def classes(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of the logits by class, for each patch and precision."""
    axes, place = figure.subplots(), np.arange(dataset.sizes["model"])
    mean = spread(dataset, "error", FLOOR)
    for patch, k in MARKS.items():
        style = {"elinewidth": 0.8, "label": patch}
        points(axes, mean.sel(patch=patch, precision="float32"), "error", place + 0.12 * (k - 2), k, **style)
    style = {"elinewidth": 0.8, "fillstyle": "none", "label": "last alone, bfloat16"}
    points(axes, mean.sel(patch="last alone", precision="bfloat16"), "error", place, 2, **style)
    own = spread(dataset, "own", FLOOR)
    points(axes, own, "own", place + 0.2, 5, marker="x", elinewidth=0.8, label="bfloat16 itself")
    behind = spread(dataset, "stream", FLOOR).sel(patch="last block", precision="float32")
    points(axes, behind, "stream", place + 0.36, 6, marker="*", elinewidth=0.8, label="last block: stream")
    axes.set(yscale="log", ylim=(3e-8, 30), ylabel="relative error")
    axes.set_xticks(place, dataset.model.values, rotation=40, ha="right")
    legend(axes, columns=3)


def sizes(dataset: xr.Dataset) -> Table:
    """Return by class the largest size of a patch, and the error of one in bfloat16 over that of bfloat16 itself there."""
    most = dataset["size"].sel(precision="float32").max("seed")
    share = np.exp(np.log(dataset.share).mean(("seed", "query")))
    columns = {
        "size, all matrices": most.sel(patch="all matrices"),
        "size, last alone": most.sel(patch="last alone"),
        **across(share, "made", "error, made {}"),
    }
    return Table.by({"model": "class"}, columns)


def _alt_capacity(dataset: xr.Dataset) -> str:
    more = spread(dataset, "stream", FLOOR).stream.isel(tokens=3)
    factor = _median(dataset, "gain_error", ("normed", "seed")).gain_error.sel(gain="one factor", rows=slice(2, None))
    behind = f"one factor on the gain leaves {span(factor)} from two tokens on, " if factor.size else ""
    return (
        "Three panels against the number of tokens. Left: the error is at rounding up to as many tokens as the hidden layer "
        f"is wide, and {span(more, '.1g')} with one token more. Middle: new tokens stay off by "
        f"{span(spread(dataset, 'new', FLOOR).new, '.1f')} times the distance without a patch. Right: behind a norm, {behind}"
        "gains that solve the equations leave rounding."
    )


@drawing(
    "dherin-model-capacity",
    alt=_alt_capacity,
    caption=(
        "One patch for <i>M</i> tokens. Left: largest relative error of a token behind a block, float64; mean "
        "over random models on the logarithmic axis, bars from the smallest to the largest. Middle: distance of the logits to "
        "those with the context on as many new tokens, over that without a patch. Right: classes with a norm behind, float32, "
        "median over all models for one factor, for the equations over those in which a gain that keeps <i>ρ</i> exists, with "
        "the smallest and the largest."
    ),
    size=(8.0, 4.2),
)
def capacity(figure: Figure, dataset: xr.Dataset) -> None:
    """Error of a joint patch by the number of tokens: those it is made for, new ones, and behind a norm."""
    left, middle, right = figure.subplots(1, 3)
    exact, new, place = spread(dataset, "stream", FLOOR), spread(dataset, "new", FLOOR), np.arange(dataset.sizes["tokens"])
    for m, name in enumerate(dataset.model.values):
        for s in range(dataset.sizes["shape"]):
            here, k = {"model": m, "shape": s}, 3 * m + s
            label = f"{name}, $D$ = {int(dataset.D[s])}, $H$ = {int(dataset.H[s])}"
            style = {"linestyle": LINES[k], "linewidth": 0.6, "elinewidth": 0.8, "label": label}
            points(left, exact.isel(here), "stream", place + 0.06 * (k - 2.5), k, **style)
            points(middle, new.isel(here), "new", place + 0.06 * (k - 2.5), k, **style)
    for axes in (left, middle):
        axes.set(yscale="log", xlabel="tokens $M$")
        axes.set_xticks(place, ["$H/2$", "$H-1$", "$H$", "$H+1$", "$2H$", "$3H$"], rotation=60)
        axes.minorticks_off()
    left.set(ylabel="relative error", ylim=(1e-16, 30))
    middle.set(ylabel="left over, new tokens")
    middle.set_yticks([1, 2, 4], ["1", "2", "4"])
    behind = _median(dataset, "gain_error", ("normed", "seed"))
    for k, cell in each(behind, "gain"):
        style = {"linestyle": LINES[k], "linewidth": 0.6, "fillstyle": "none", "label": "{gain}"}
        points(right, cell, "gain_error", "rows", k, **style)
    right.set(xscale="log", yscale="log", xlabel="$M$", ylabel="relative error")
    right.set_xticks(dataset.rows.values, [str(M) for M in dataset.rows.values])
    right.minorticks_off()
    right.legend(fontsize=8.5)
    legend(left, columns=2)


def repeated(dataset: xr.Dataset) -> Table:
    """Return errors and size of Llama's patch, median over models, for a query of one token repeated and for others."""
    middle = dataset[["repeat_error", "repeat_stream", "repeat_size"]].median("seed")
    columns = {
        "error of the logits": middle.repeat_error,
        "behind a block": middle.repeat_stream,
        "size over that of the weights": middle.repeat_size,
    }
    return Table.by({"text": "tokens", "fit": "fit"}, columns, dict(zip(columns, (".1e", ".1e", ".2g"), strict=True)))


def behind(dataset: xr.Dataset) -> Table:
    """Return for how many of the models behind a norm a gain exists, and how large patches are, by the number of tokens."""
    there = dataset.gain_error.sel(gain="equations").notnull()
    models, size = there[..., 0].size, dataset.gain_size.median(("normed", "seed"))
    columns = {
        "a gain that keeps ρ exists in": xr.apply_ufunc(
            "{} of {}".format, there.sum(("normed", "seed")), models, vectorize=True
        ),
        "size, equations": size.sel(gain="equations"),
        "size, one factor": size.sel(gain="one factor"),
    }
    return Table.by({"rows": "tokens"}, columns, ".2g")


@drawing(
    "dherin-recall",
    alt=(
        "Two panels of shares of right answers, for Llama and GPT-2. Left, nothing of the context left: with the context "
        "nearly all are right. With a static patch, of the last matrices or of all, or distilled by gradient, so are those for "
        "the keys that were asked for, and about as many as by guessing for those that were not; the placebo's patch is near "
        "guessing for both. Right, half of the pairs in view: with the patch these are still answered for the most part, "
        "and nearly all when the fit asked for them too; so are those that it was made for, and the others are not."
    ),
    caption=(
        "Share of right answers to new queries, mean over contexts and networks with two standard errors; dashed: guessing. "
        "Left: nothing of the context is left, filled: keys that queries of the fit asked for, open: the other keys. Right: "
        "half of the pairs in view, and a patch for two of the others."
    ),
    size=(8.0, 4.6),
)
def recall(figure: Figure, dataset: xr.Dataset) -> None:
    """Share of right answers by what stands in for the context, and with half of the pairs in view."""
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.3, 1))
    accuracy, kept = (_over_contexts(dataset, name) for name in ("accuracy", "kept"))
    ways, views = np.arange(dataset.sizes["way"]), np.arange(dataset.sizes["view"])
    for m, cell in each(accuracy, "model"):
        for group, fill in (("asked", "full"), ("not asked", "none")):
            style = {"fillstyle": fill, "label": f"{{model}}, {group}"}
            points(left, cell.sel(group=group), "accuracy", ways + 0.16 * (m - 0.5), m, **style)
    for m, cell in each(kept, "model"):
        for k, (seen, (label, marker, fill)) in enumerate(VIEWED.items()):
            style = {"label": f"{{model}}, {label}", "marker": marker, "fillstyle": fill}
            points(right, cell.sel(seen=seen), "kept", views + 0.13 * (2 * k + m - 2.5), m, **style)
    left.set_xticks(ways, dataset.way.values, rotation=35, ha="right")
    right.set_xticks(views, ["no patch", "asked of\nthe others", "asked\nof all"])
    for axes in (left, right):
        axes.axhline(float(dataset.chance.mean()), color="C5", linestyle="--", linewidth=0.9)
    left.set(ylabel="share of right answers", ylim=(-0.03, 1.05))
    legend(left, right, columns=4)


def fitted(dataset: xr.Dataset) -> Table:
    """Return shares of right answers and the size of the change, by model and by what stands in for the context."""
    dataset, seeds = dataset.isel(way=slice(2, None)), ("network", "context")
    columns = across(dataset.accuracy.mean(seeds), "group") | {"size over that of the weights": dataset["size"].median(seeds)}
    return Table.by({"model": "model", "way": "in place of the context"}, columns)


def _over_contexts(dataset: xr.Dataset, name: str) -> xr.Dataset:
    """Return the mean of a variable over contexts and networks, and its standard error."""
    values = dataset[name].astype(float)
    count = values.sizes["network"] * values.sizes["context"]
    error = values.std(("network", "context"), ddof=1) / count**0.5
    return xr.Dataset({name: values.mean(("network", "context")), f"{name}_se": error})


def _median(dataset: xr.Dataset, name: str, over: tuple[str, ...]) -> xr.Dataset:
    """Return the median of a variable where it is a number, with the smallest and the largest as its interval."""
    values = dataset[name].astype(float)
    ends = {name: values.median(over), f"{name}_low": values.min(over), f"{name}_high": values.max(over)}
    return xr.Dataset(ends)
