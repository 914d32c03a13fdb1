"""Claims D54 to D56: static patches."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy


def _median(values: xr.DataArray) -> Discrepancy:
    """Return the order-statistics interval of the median over contexts: its middle, and half its width as uncertainty."""
    low, high = (values.sel(part=part, drop=True) for part in ("low", "high"))
    return Discrepancy((low + high) / 2, (high - low) / 2)


def _turned(found: Discrepancy, level: float) -> Discrepancy:
    return Discrepancy(level - found.value, found.two_se)


def _one(dataset: xr.Dataset, fit: str = "least squares") -> xr.DataArray:
    return dataset.error.sel(fit=fit, network="trained", drop=True)


def _at_rank(dataset: xr.Dataset) -> Discrepancy:
    cell = _one(dataset)
    return _median(xr.concat([cell.sel(span=span, K=span, drop=True) for span in dataset.span.values], "case"))


def _below_rank(dataset: xr.Dataset) -> Discrepancy:
    """A fifth of 1/d minus the error of K = d - 1 queries; of none for d = 1, which leaves all."""
    d = int(dataset.span[-1])
    if d == 1:
        return Discrepancy(0.2 - 1.0)
    return _turned(_median(_one(dataset).sel(span=d, K=d - 1)), 0.2 / d)


def _wide(dataset: xr.Dataset, fit: str) -> xr.DataArray:
    """Errors with queries in all directions and more of them than directions."""
    d = int(dataset.span[-1])
    return _one(dataset, fit).sel(span=d, drop=True).where(d < dataset.K, drop=True)


def _knee(excess: xr.DataArray) -> xr.DataArray:
    """The most queries from 10 to 25, where the error is said to have converged."""
    inside = excess.where((excess.K >= 10) & (excess.K <= 25), drop=True)
    return inside.isel(K=slice(-1, None))


def _scaled(dataset: xr.Dataset) -> Discrepancy:
    average, scaled = (_wide(dataset, fit).isel(K=-1) for fit in ("average", "average times rank"))
    left, right = _median(scaled), _median(average)
    return Discrepancy(left.value - 0.5 * right.value, np.hypot(left.two_se, 0.5 * right.two_se))


def _deep(dataset: xr.Dataset, network: int) -> Discrepancy:
    return _median(dataset.error.isel(network=network, K=-1))


def _other_context(dataset: xr.Dataset) -> xr.Dataset:
    wrong = dataset.error_targets.sel(targets="other context", drop=True)
    return dataset.assign(error=wrong.broadcast_like(dataset.error))


def _distance(values: xr.DataArray) -> Discrepancy:
    """Return the interval of the absolute value of a median."""
    low, high = (values.sel(part=part, drop=True) for part in ("low", "high"))
    most, least = np.maximum(abs(low), abs(high)), np.where(low * high > 0, np.minimum(abs(low), abs(high)), 0.0)
    return Discrepancy((least + most) / 2, (most - least) / 2)


D54 = Claim(
    id="D54",
    paper="dherin",
    section="3.4 (v4)",
    sentence="One change of W for all queries does nearly what the context does, once K is the rank of what W reads.",
    confidence="S",
    kind="bound",
    experiment="dherin-static-one-block",
    margin=0.03,
    reason=(
        "Squared distance to in-context predictions on new queries over that without a patch, median over contexts; K = d for "
        "queries in all directions, K = 1 for queries on a line. Left is what is not linear in the query, seen below 0.005."
    ),
    check=_at_rank,
    control=_other_context,
    control_sentence="calibrated on the changes of another context",
)

D54b = Claim(
    id="D54b",
    paper="dherin",
    section="3.4 (v4)",
    sentence="One query less is not enough: with K = d − 1 at least the share 1/(5d) of the distance is left.",
    confidence="D",
    kind="bound",
    experiment="dherin-static-one-block",
    margin=0,
    reason="1/(5d) minus the median: nothing changes in the direction no calibration query has, a share 1/d if all are alike.",
    check=_below_rank,
    control=lambda dataset: dataset.assign(
        error=dataset.error.sel(K=int(dataset.span[-1]), drop=True).broadcast_like(dataset.error)
    ),
    control_sentence="K = d",
)

D54c = Claim(
    id="D54c",
    paper="dherin",
    section="3.4 (v4)",
    sentence="In one block the error on new queries has converged at K = 10 to 25.",
    confidence="S",
    kind="bound",
    experiment="dherin-static-one-block",
    margin=0.3,
    reason="log10 of the error at K = 25, the end of that range, over that with the most queries: within a factor of two.",
    check=lambda dataset: _median(_knee(dataset.excess.sel(fit="least squares", network="trained").isel(span=-1))),
    control=lambda dataset: dataset.assign(excess=dataset.excess.sel(K=1, drop=True).broadcast_like(dataset.excess)),
    control_sentence="K = 1",
)

D55 = Claim(
    id="D55",
    paper="dherin",
    section="3.4 (v4)",
    sentence="The average of the token patches is much worse: at every K > d it leaves a tenth of the distance or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-static-one-block",
    margin=0,
    reason="0.1 minus the median. Averaging keeps 1/d of a linear change if directions are alike, so (1 − 1/d)² is left.",
    check=lambda dataset: _turned(_median(_wide(dataset, "average")), 0.1),
    control=lambda dataset: dataset.assign(
        error=dataset.error.sel(fit=["least squares", "least squares", "average times rank", "affine"]).assign_coords(
            fit=dataset.fit
        )
    ),
    control_sentence="least squares",
)

D55b = Claim(
    id="D55b",
    paper="dherin",
    section="3.4 (v4)",
    sentence="Its fault is mainly the scale: d times the average leaves less than half as much at the largest K.",
    confidence="D",
    kind="bound",
    experiment="dherin-static-one-block",
    margin=0,
    reason="Median error of the scaled average minus half that of the average. Equal shares would leave nothing.",
    check=_scaled,
    control=lambda dataset: dataset.assign(
        error=dataset.error.sel(fit=["least squares", "average", "average", "affine"]).assign_coords(fit=dataset.fit)
    ),
    control_sentence="the average not scaled",
)

D55c = Claim(
    id="D55c",
    paper="dherin",
    section="3.4 (v4)",
    sentence="A change of matrix and bias together does as well, but needs one query more, K = d + 1.",
    confidence="D",
    kind="bound",
    experiment="dherin-static-one-block",
    margin=0.03,
    reason="As D54, at every K > d: an affine fit has d + 1 unknowns a row.",
    check=lambda dataset: _median(_wide(dataset, "affine")),
    control=lambda dataset: dataset.assign(
        error=dataset.error.sel(K=int(dataset.span[-1]), drop=True).broadcast_like(dataset.error)
    ),
    control_sentence="K = d",
)

D56 = Claim(
    id="D56",
    paper="dherin",
    section="3.4 (v4)",
    sentence="Four blocks patched in turn, one ridge fit each, follow the context on new queries at the largest K.",
    confidence="D",
    kind="bound",
    experiment="dherin-static-deep",
    margin=0.05,
    reason="Squared distance over that without a patch, median over contexts, K ≥ 100; down projections, and all matrices.",
    check=lambda dataset: _deep(dataset, 0),
    control=_other_context,
    control_sentence="calibrated on the states under another context",
)

D56b = Claim(
    id="D56b",
    paper="dherin",
    section="3.4 (v4)",
    sentence="The same for ten blocks.",
    confidence="D",
    kind="bound",
    experiment="dherin-static-deep",
    margin=0.05,
    reason="As D56.",
    check=lambda dataset: _deep(dataset, 1),
    control=_other_context,
    control_sentence="calibrated on the states under another context",
)

D56c = Claim(
    id="D56c",
    paper="dherin",
    section="3.4 (v4)",
    sentence="In networks of several blocks the error on new queries has converged at K = 10 to 25.",
    confidence="S",
    kind="bound",
    experiment="dherin-static-deep",
    margin=0.3,
    reason="log10 of the error at K = 25, the end of that range, over that with the most queries: within a factor of two.",
    check=lambda dataset: _median(_knee(dataset.excess)),
    control=lambda dataset: dataset.assign(excess=dataset.excess.sel(K=1, drop=True).broadcast_like(dataset.excess)),
    control_sentence="K = 1",
    recorded=FAILS,
)

D56d = Claim(
    id="D56d",
    paper="dherin",
    section="3.4 (v4)",
    sentence="Cross-validation on the calibration queries gives the error on new ones within a factor of 100, for K ≥ 10.",
    confidence="N",
    kind="bound",
    experiment="dherin-static-deep",
    margin=2,
    reason="|log10 of estimate over error|, median over contexts; down projections. Errors themselves span three decades.",
    check=lambda dataset: _distance(dataset.estimate.where(dataset.K >= 10, drop=True)),
    control=lambda dataset: dataset.assign(estimate=dataset.optimism),
    control_sentence="the error on the fitted queries themselves",
)
