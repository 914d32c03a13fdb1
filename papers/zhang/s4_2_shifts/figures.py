"""Figures of section 4.2: task, query and covariate shifts."""

import matplotlib as mpl
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from icl_lib.companion import drawing, each, legend, points, series, span
from papers.zhang.lines import plain_logarithms

TICKS = (0.3, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Shares of the error of predicting 0 on a logarithmic axis."""
EDGE = TICKS[0]
"""Where an error of 0 is drawn on it."""


def _lengths(axes: Axes, dataset: xr.Dataset) -> None:
    """A logarithmic axis of prompt lengths, labelled at lengths that were run."""
    axes.set_xscale("log")
    shown = dataset.M.values[:: 2 if dataset.sizes["M"] > 4 else 1]
    axes.set_xticks(shown, [str(M) for M in shown])
    axes.xaxis.set_minor_formatter(NullFormatter())


@drawing(
    "zhang-task-shift",
    alt=(
        "Two log-log panels of the distance to the best linear predictor against prompt length M. Trained at N = M, three "
        "nearly parallel lines for linear, noisy and cubic labels fall like 1/M with the measured markers on them. Trained at "
        "a short N, all three flatten out."
    ),
    caption=(
        "Task shift: mean squared distance of LSA to the best linear predictor, over E y<sup>2</sup>, for one fixed task. "
        "Lines: variance plus bias of Theorem 4.2. Markers: Monte Carlo with two standard errors. Left: trained at <i>N</i> = "
        "<i>M</i>. Right: trained at <i>N</i> = 10, where the bias stays."
    ),
    size=(6.4, 3.8),
)
def task_shift(figure: Figure, dataset: xr.Dataset) -> None:
    """Distance to the best linear predictor over prompt length, trained at N = M and at a short N."""
    dataset = dataset.isel(d=0)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = {"matched": "trained at $N=M$", "short": "trained at $N=10$"}
    for axes, (training, title) in zip(panels, titles.items(), strict=True):
        panel = dataset.sel(training=training)
        series(axes, panel, "distance", "M", "labels", label="{labels} labels", theory=("distance_theory", "M"))
        axes.set(title=title, xlabel="test prompt length $M$", yscale="log")
        _lengths(axes, dataset)
        plain_logarithms(axes.yaxis)
    panels[0].set_ylabel("distance / $E\\,y^2$")
    panels[0].legend(loc="lower left")


@drawing(
    "zhang-query-shift",
    alt=(
        "Two panels of test error against test prompt length M, for a short and a longer training length N. Each has three "
        "lines, for queries as in training, in another basis and on one line; measured markers lie on them. All lines fall "
        "with M; for the longer N they begin higher and end lower."
    ),
    caption=(
        "Query shift: error of LSA when only the query's distribution changes, all of equal trace. Lines: the formula. "
        "Markers: Monte Carlo with two standard errors. What a distribution costs depends on it and on the task. Under every "
        "one of them the error falls with <i>M</i>, and it falls lower for the longer <i>N</i>."
    ),
    size=(6.4, 3.8),
)
def query_shift(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over test length for three query distributions at two training lengths."""
    dataset = dataset.isel(d=0)
    panels = figure.subplots(1, dataset.sizes["N"], sharex=True, sharey=True, squeeze=False)[0]
    for axes, (_, panel) in zip(panels, each(dataset, "N"), strict=True):
        series(axes, panel, "risk", "M", "query", label="{query}", theory=("risk_theory", "M"))
        axes.set(title=f"trained at $N={panel.N.item()}$", xlabel="test prompt length $M$", yscale="log")
        _lengths(axes, dataset)
        plain_logarithms(axes.yaxis)
    panels[0].set_ylabel("test error")
    panels[0].legend(loc="lower left")


def _alt_orthogonal_query(dataset: xr.Dataset) -> str:
    last = dataset.power.sel(query="orthogonal").isel(kappa=-1)
    return (
        "Mean square of the prediction over that of the label against the condition number of the covariance. For contexts in "
        "an invariant subspace it is 0 throughout. For ordinary contexts with an orthogonal query it is 0 at condition number "
        f"1 and rises steadily, to {float(last):.2f} at condition number {float(last.kappa):g}."
    )


@drawing(
    "zhang-orthogonal-query",
    alt=_alt_orthogonal_query,
    caption=(
        "A query orthogonal to every context input: mean square of LSA's prediction, over that of the label, with two standard "
        "errors. The prediction is 0 for isotropic covariance and for a context that spans an invariant subspace, and in "
        "general not. Above the dashed line it is larger than the label itself."
    ),
)
def orthogonal_query(figure: Figure, dataset: xr.Dataset) -> None:
    """Mean square of the prediction over condition number, for orthogonal queries in general and invariant spans."""
    axes = figure.subplots()
    labels = {"orthogonal": "ordinary context", "invariant": "context in an invariant subspace"}
    for k, (query, label) in enumerate(labels.items()):
        style = {"markerfacecolor": ("C0", "none")[k], "markersize": (5, 9)[k]}
        points(axes, dataset.sel(query=query), "power", "kappa", k, label=label, **style)
    axes.axhline(1, color=mpl.rcParams["text.color"], linestyle="--", linewidth=1)
    axes.set(xscale="log", xlabel="condition number $\\kappa$ of $\\Lambda$")
    axes.set_xticks(dataset.kappa.values, [f"{kappa:g}" for kappa in dataset.kappa.values])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("$E\\,\\hat{y}^2 \\,/\\, E\\,y_{query}^2$")
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.95))


def _alt_covariate_shift(dataset: xr.Dataset) -> str:
    longest = (dataset.risk_theory / dataset.zero).isel(d=0, M=-1)
    halved, doubled, tripled = (span(longest.sel(test=f"inputs × {c}")) for c in ("0.5", "2", "3"))
    return (
        "Four panels of error relative to predicting zero against test prompt length M, on one logarithmic axis: inputs "
        "halved, doubled, tripled, and drawn from another covariance. LSA's measured markers lie on the formula's lines, which "
        f"level off away from 0: at {halved} for halved inputs, at {doubled} for doubled and at {tripled} for tripled ones. A "
        "dotted line marks the limit of long prompts. Least squares is at 0 in all panels."
    )


@drawing(
    "zhang-covariate-shift",
    alt=_alt_covariate_shift,
    caption=(
        "Covariate shift: error over that of predicting 0 (horizontal line at 1). Lines: the formula for two training "
        "lengths. Markers: Monte Carlo with two standard errors. Dotted: the limit <i>N</i>, <i>M</i> → ∞. Crosses at the "
        "lower edge: least squares, which is exact."
    ),
    size=(8.0, 3.9),
)
def covariate_shift(figure: Figure, dataset: xr.Dataset) -> None:
    """Error over that of predicting 0 against test length: shrunk and stretched inputs, another covariance."""
    dataset = dataset.isel(d=0)
    panels = figure.subplots(1, dataset.sizes["test"], sharex=True, sharey=True, squeeze=False)[0]
    ink = mpl.rcParams["text.color"]
    share = dataset[["risk", "risk_se", "risk_theory", "limit", "ols"]] / dataset.zero
    for axes, (_, row) in zip(panels, each(share, "test"), strict=True):
        series(axes, row, "risk", "M", "N", label="LSA, $N={N}$", theory=("risk_theory", "M"))
        axes.axhline(row.limit, color=ink, linestyle=":", label="limit")
        axes.axhline(1, color=ink, linewidth=0.8)
        points(axes, row.clip(EDGE), "ols", "M", 2, marker="X", label="least squares", clip_on=False)
        axes.set(title=row.test.item(), xlabel="test length $M$", yscale="log", ylim=(EDGE, 2 * TICKS[-1]))
        _lengths(axes, dataset)
    panels[0].set_yticks(list(TICKS), [f"{share:g}" if share > EDGE else "0" for share in TICKS])
    panels[0].yaxis.set_minor_formatter(NullFormatter())
    panels[0].set_ylabel("error / error of predicting 0")
    legend(panels[0], columns=4)
