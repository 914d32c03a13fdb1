"""Claims Z19a, Z19b, Z19e and Z20 to Z20d: section 5.1, the quadratic form and the full loss."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy


def _quadratic(dataset: xr.Dataset) -> Discrepancy:
    size = np.sqrt((dataset.prediction**2).mean("prompt"))
    return Discrepancy(abs(dataset.prediction_theory - dataset.prediction) / size)


def _count(dataset: xr.Dataset) -> Discrepancy:
    counts = np.stack([dataset.negative, dataset.positive])
    return Discrepancy(abs(counts - dataset.negative_theory.values[:, None]))


def _count_missing(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(dataset.negative_paper - dataset.negative)


def _without_query(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(negative=dataset.negative_without_query)


Z19a = Claim(
    id="Z19a",
    paper="zhang",
    section="5.1",
    sentence="Lemma 5.1: the prediction of the layer is uᵀHu with u = Vec(U) and H = ½ X ⊗ EEᵀ/N.",
    confidence="V2",
    kind="identity",
    experiment="zhang-quadratic-form",
    margin=1e-12,
    reason="Relative to the root mean square prediction; exact up to float64 rounding of about 100 operations.",
    check=_quadratic,
    control=lambda dataset: dataset.assign(prediction_theory=dataset.prediction_by_rows),
    control_sentence="Vec stacks the rows of U instead of its columns",
)

Z19b = Claim(
    id="Z19b",
    paper="zhang",
    section="5.1",
    sentence="H has min(N, d) + 1 negative and as many positive eigenvalues, so the loss is not convex for any N ≥ 1.",
    confidence="D",
    kind="identity",
    experiment="zhang-quadratic-form",
    margin=0,
    reason="A count. Rounding leaves zero eigenvalues near 1e-16 of the largest; the line is drawn at 1e-12.",
    check=_count,
    control=_without_query,
    control_sentence="the query's token left out of EEᵀ",
)

Z19e = Claim(
    id="Z19e",
    paper="zhang",
    section="5.1",
    sentence="H has at least d + 1 negative eigenvalues, with no condition on N.",
    confidence="D",
    kind="bound",
    experiment="zhang-quadratic-form",
    margin=0,
    reason="A count: d + 1 minus the number found.",
    check=_count_missing,
    control=_without_query,
    control_sentence="the query's token left out of EEᵀ",
    recorded=FAILS,
)


def _split(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(abs(dataset.loss_theory - dataset.loss) / dataset.loss.sum("parity"))


def _odd_only(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(loss_theory=dataset.loss_theory.where(dataset.parity == "odd", 0.0))


def _zero_modes(dataset: xr.Dataset) -> Discrepancy:
    at_limit = dataset.sel(place="limit")
    return Discrepancy(at_limit.negative + abs(at_limit.zero - 1))


Z20 = Claim(
    id="Z20",
    paper="zhang",
    section="5.1",
    sentence="Over all live parameters the loss is odd part + even part under w → −w, each an exact polynomial.",
    confidence="D",
    kind="identity",
    experiment="zhang-full-loss",
    margin=1e-10,
    reason="Relative to the loss. The layer's loss is averaged by a quadrature that is exact for its degree.",
    check=_split,
    control=_odd_only,
    control_sentence="the even part left out, as on the slice u₁₂ = u₂₁ = 0",
)

Z20b = Claim(
    id="Z20b",
    paper="zhang",
    section="5.1",
    sentence="The limit of Theorem 4.1 minimises the full loss: no sampled parameter point lies below it.",
    confidence="D",
    kind="bound",
    experiment="zhang-full-loss",
    margin=1e-12,
    reason="Depth below L*, relative; the proof says 0, rounding leaves about 1e-15.",
    check=lambda dataset: Discrepancy(-dataset.excess),
    control=lambda dataset: dataset.assign(excess=dataset.excess_over_plain),
    control_sentence="Λ⁻¹ in place of Γ⁻¹ as the minimiser",
)

Z20c = Claim(
    id="Z20c",
    paper="zhang",
    section="5.1",
    sentence="The Hessian of the full loss at that limit is positive semi-definite with exactly one zero mode.",
    confidence="D",
    kind="identity",
    experiment="zhang-full-loss",
    margin=0,
    reason="Counts of eigenvalues beyond 1e-10 of the largest; the Hessian is exact to rounding.",
    check=_zero_modes,
    control=lambda dataset: dataset.assign(
        {name: dataset[name].isel(place=[1]).assign_coords(place=["limit"]) for name in ("negative", "zero")}
    ),
    control_sentence="the Hessian at the origin, a saddle",
)

Z20d = Claim(
    id="Z20d",
    paper="zhang",
    section="5.1",
    sentence="At d = 1 a second family is globally optimal: u₋₁ = U₁₁ = 0 and u₁₂u₂₁ = Γ⁻¹.",
    confidence="D",
    kind="identity",
    experiment="zhang-full-loss",
    margin=1e-12,
    reason="Excess over L*, relative, of the best point with u₋₁ = U₁₁ = 0; exact up to rounding.",
    check=lambda dataset: Discrepancy(abs(dataset.rank_one_excess.isel(d=0))),
    control=lambda dataset: dataset.isel(d=slice(1, None)),
    control_sentence="d = 2, where u₁₂u₂₁ᵀ has too small a rank",
)
