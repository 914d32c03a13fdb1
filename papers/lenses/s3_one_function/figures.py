"""Figures of one convex function of the context."""

import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icl_lib.companion import drawing, each, equality, legend, line, points, series, span


def _alt_tokens(dataset: xr.Dataset) -> str:
    last = dataset.share.isel(d=0, x=-1, N=-1)
    gaussian, patterns = (float(last.sel(tokens=kind)) for kind in ("Gaussian", "patterns"))
    return (
        "Left, the log-partition function of one context of each kind against the length of the key: both follow a parabola "
        "at first and a straight asymptote later. Right, the share of variance that no single patch carries against the number "
        f"of tokens, both axes logarithmic: at the larger of two sizes of the logits it falls to {gaussian:.1g} for Gaussian "
        f"tokens and levels off at {patterns:.1g} for patterns."
    )


@drawing(
    "lenses-token-distribution",
    alt=_alt_tokens,
    caption=(
        "Left: Φ<sub>C</sub> along one axis for a context of each kind (thick), its parabola at 0 "
        "and its asymptote, the largest logit less a constant. Right: share of the output's variance over queries that no "
        "affine map of the query carries, least dimension; <i>x</i> is the variance of a logit. Both kinds of tokens have "
        "covariance <i>I</i>."
    ),
    size=(8.6, 3.9),
)
def token_distribution(figure: Figure, dataset: xr.Dataset) -> None:
    """Phi along a ray, and what one patch leaves against N."""
    left, right = figure.subplots(1, 2)
    for k, kind in each(dataset[["phi", "parabola", "asymptote"]], "tokens"):
        line(left, kind, "phi", "t", k, linewidth=2.4, linestyle="-", label="{tokens}")
        line(left, kind, "parabola", "t", k, linestyle="--", linewidth=1, label="{tokens}, parabola")
        line(left, kind, "asymptote", "t", k, linestyle=":", linewidth=1.2, label="{tokens}, asymptote")
    top = float(dataset.phi.max())
    left.set(xlabel="$t$", ylabel=r"$\Phi_C(t\,e_1)$", ylim=(-0.3 * top, 1.3 * top))
    left.legend(loc="upper left", fontsize=8)
    shares = dataset[["share"]].isel(d=0)
    for k, kind in each(shares, "tokens"):
        series(right, kind, "share", "N", "x", first=2 * k, label="{tokens}, $x$ = {x:g}")
    right.set(xscale="log", yscale="log", xlabel="tokens $N$", ylabel="share no patch carries")
    right.set_xticks(dataset.N.values, [f"{N}" for N in dataset.N.values])
    right.xaxis.set_minor_formatter(NullFormatter())
    legend(right, columns=2)


@drawing(
    "lenses-small-logits",
    alt=(
        "Left, what the series leaves of attention against the size of the logits, both axes logarithmic: with one to four "
        "cumulants four lines, steeper with each term; with four central or raw moments two lines less steep. Right, "
        "coefficients of the fitted map against the mean curvature, on the diagonal, and crosses for that at 0, off it."
    ),
    caption=(
        "Left: what is left of attention's output after so many terms, as a share, against the size of the logits. Right: "
        "coefficients of the best affine map of a Gaussian query, fitted, against two curvatures of Φ<sub>C</sub>; bars: two "
        "standard errors."
    ),
    size=(8.6, 3.9),
)
def small_logits(figure: Figure, dataset: xr.Dataset) -> None:
    """What the series leaves, and the fitted map against curvatures."""
    left, right = figure.subplots(1, 2)
    terms = dataset[["left"]]
    series(left, terms, "left", "small", "terms", label="cumulants, {terms}")
    for k, name, told in ((4, "left_central", "central moments, 4"), (5, "left_raw", "raw moments, 4")):
        series(left, dataset[[name]].isel(terms=-1), name, "small", first=k, label=told)
    left.set(xscale="log", yscale="log", xlabel=r"size of the logits $\epsilon$", ylabel="share left")
    left.set_xticks(dataset.small.values, [f"{each:g}" for each in dataset.small.values])
    left.minorticks_off()
    legend(left, columns=3)
    flat = dataset[["patch", "patch_se", "patch_theory"]].assign(
        patch_near=dataset.patch_near.sel(mistake="curvature at 0", drop=True)
    )
    ends = float(abs(flat.patch_near).max())
    equality(right, -ends, ends)
    points(right, flat, "patch", "patch_near", 1, marker="x", label="curvature at 0")
    points(right, flat, "patch", "patch_theory", 0, markerfacecolor="none", label="mean curvature")
    right.set(xlabel="coefficient by the curvature", ylabel="coefficient of the best map")
    right.legend(loc="upper left")


@drawing(
    "lenses-heads",
    alt=lambda dataset: (
        "Left, risk of two opposite heads over the risk of one step with N examples, against N: markers on the lines of N - 1 "
        "examples, above 1. Right, scaled error of one head against the variance of its logits, for two values of d: markers "
        f"on curves that are lowest near {float(dataset.noise_theory.isel(long=-1).idxmin('x').mean()):g}."
    ),
    caption=(
        "Left: risk of a pair of opposite heads over that of one step with <i>N</i> examples; lines, one step with "
        "<i>N</i> − 1. Right: <i>N</i>/<i>d</i>² times the squared error of one head against its logits' variance <i>x</i>; "
        "lines, (e<sup>x</sup>/<i>x</i>)(1 + <i>x</i>/<i>d</i>). Bars are two standard errors."
    ),
    size=(8.2, 3.8),
)
def heads(figure: Figure, dataset: xr.Dataset) -> None:
    """The pair's risk against N, and the error of one head against the size of its logits."""
    left, right = figure.subplots(1, 2)
    series(left, dataset, "ratio", "N", "d", theory=("ratio_theory", "N"), label="$d$ = {d}")
    left.set(xlabel="examples $N$", ylabel="risk, over that of $N$ examples", ylim=(0.98, None))
    left.set_xticks(dataset.N.values)
    series(right, dataset.isel(long=-1), "noise", "x", "d", theory=("noise_theory", "x"))
    right.set(xlabel="variance of the logits $x$", ylabel="scaled error", ylim=(0, None))
    legend(left, columns=2)


@drawing(
    "lenses-removed-examples",
    alt=(
        "Change of the output when an example is removed against the gradient in its score over 1 minus its attention. After "
        "training the markers lie on the diagonal; at the start many do not."
    ),
    caption=(
        "Change of the output when one example is removed, against its gradient in the example's score, over 1 − "
        "attention; one network. At the start a neuron switches in most removals, after training in few."
    ),
    size=(8.2, 3.9),
)
def removed_examples(figure: Figure, dataset: xr.Dataset) -> None:
    """Removal against the formula, at the start and after training."""
    flat = dataset[["removal", "still_theory"]].isel(network=0)
    flat = flat.stack(place=("prompt", "context")).reset_index("place", drop=True)
    for (k, stage), axes in zip(each(flat, "stage"), figure.subplots(1, 2), strict=True):
        ends = float(abs(stage.removal).max())
        equality(axes, -ends, ends)
        axes.locator_params(nbins=5)
        axes.locator_params(axis="x", nbins=3)  # of five digits each
        points(axes, stage, "removal", "still_theory", k, markersize=3, markerfacecolor="none")
        axes.set(xlabel=r"gradient $/\,(1 - \mathrm{attn}_i)$", ylabel="change of the output", title=str(stage.stage.item()))


def _alt_vote(dataset: xr.Dataset) -> str:
    trained, differ = dataset.rest.sel(stage="trained"), dataset.domain == "other patterns, two sums"
    return (
        "Share of the patch that the weighted vote leaves, logarithmic axis, for three sets of prompts, at the start and after "
        f"training; means over networks. At the start {span(dataset.rest.sel(stage='start'), '.0%')}. After training "
        f"{span(trained.where(~differ), '.2%')} for unseen tasks and for other patterns with one coefficient sum, and "
        f"{float(trained.where(differ).max()):.0%} where the sums differ."
    )


@drawing(
    "lenses-one-vote",
    alt=_alt_vote,
    caption=(
        "Share of |<i>W</i> Δ<i>A</i>|² that the change of the weighted vote leaves when half of the context is removed; mean "
        "over networks, bars from the least to the most."
    ),
    size=(6.8, 3.9),
)
def one_vote(figure: Figure, dataset: xr.Dataset) -> None:
    """What the vote leaves of the patch, by prompts and stage."""
    axes = figure.subplots()
    place = range(dataset.sizes["domain"])
    for k, stage in each(dataset[["rest", "rest_low", "rest_high"]], "stage"):
        points(axes, stage, "rest", [at + 0.12 * (k - 0.5) for at in place], k, label="{stage}")
    axes.set_xticks([*place], [name.replace(", ", ",\n") for name in dataset.domain.values])
    axes.set(yscale="log", ylim=(1e-4, 2), ylabel="share left by the vote")
    axes.legend(loc="lower right")


def _alt_odds(dataset: xr.Dataset) -> str:
    start, trained = (dataset.odds.isel(network=0).sel(stage=stage).median().item() for stage in ("start", "trained"))
    return (
        "Length of the patch of the examples like the query over that of the others, against the formula, both axes "
        f"logarithmic: open markers on the diagonal, at the start with the median {start:.1f}, after training with "
        f"{trained:.0f}. Crosses, without the ratio of lengths, nearly all lie above the diagonal."
    )


@drawing(
    "lenses-own-and-others",
    alt=_alt_odds,
    caption=(
        "Patch of the examples with the query's pattern over the patch of the others, prompt by prompt, one network, against "
        "the odds of the attention. Open markers: times the ratio of lengths. Crosses: the odds alone."
    ),
    size=(5.6, 4.2),
)
def own_and_others(figure: Figure, dataset: xr.Dataset) -> None:
    """Odds of the patches against the formula, with the lengths and without."""
    axes = figure.subplots()
    shown = dataset[["odds", "odds_theory"]].isel(network=0)
    near = dataset.odds_near.isel(network=0).sel(mistake="without the lengths", drop=True)
    equality(axes, 0.1, 300)
    for k, stage in each(shown.assign(odds_near=near), "stage"):
        points(axes, stage, "odds", "odds_near", k, marker="x", markersize=3, label="{stage}, odds alone")
        points(axes, stage, "odds", "odds_theory", k, markersize=4, markerfacecolor="none", label="{stage}")
    axes.set(xscale="log", yscale="log", xlabel="odds of the attention", ylabel="ratio of the patches")
    axes.legend(loc="upper left")
