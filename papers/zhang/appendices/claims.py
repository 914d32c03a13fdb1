"""Claims Z10b, Z27 and Z28 to Z28b: appendices B, C and D."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy

FLOW, FOURTH, SIX = "zhang-off-diagonal", "zhang-fourth-moment", "zhang-six-terms"


def _norm(values: xr.DataArray) -> float:
    return float(np.sqrt((values**2).sum()))


def _fourth(dataset: xr.Dataset) -> Discrepancy:
    size = _norm(dataset.moment_theory)
    return Discrepancy(_norm(dataset.moment - dataset.moment_theory) / size, 2 * _norm(dataset.moment_se) / size)


def _as_if_symmetric(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(moment_theory=dataset.moment_symmetric)


def _decay(dataset: xr.Dataset) -> Discrepancy:
    """The largest growth of |u_ij| in a step, how far u_ij crosses zero, and its distance from exp(-zeta_ij tau)."""
    growth = abs(dataset.off).diff("step").max("step")
    crossing = (-dataset.off).max("step")
    return Discrepancy(np.stack([growth, crossing, abs(dataset.off - dataset.off_theory).max("step")]))


def _rotated(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(off=dataset.off_rotated)


def _lower_bound(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy((dataset.u_bound / dataset.u).max("step"))


def _limit_as_bound(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(u_bound=dataset.u_limit)


def _pl(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy((dataset.nu / dataset.pl_ratio).max("step"))


def _fastest(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(nu=dataset.nu_fastest)


def _six(dataset: xr.Dataset) -> Discrepancy:
    total = float(dataset.term_theory.sum())
    return Discrepancy(abs(dataset.term - dataset.term_theory) / total, 2 * dataset.term_se / total)


def _wrong_centre(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(term=dataset.term_wrong)


Z27 = Claim(
    id="Z27",
    paper="zhang",
    section="D",
    sentence="For x ~ N(0, Λ) and any square A: E[xxᵀAxxᵀ] = Λ(A + Aᵀ)Λ + tr(AΛ)Λ.",
    confidence="V",
    kind="formula",
    experiment=FOURTH,
    margin=0.01,
    reason="Relative, Frobenius norm; its standard error is about 0.1% in quick. A is not symmetric, Λ not diagonal.",
    check=_fourth,
    control=_as_if_symmetric,
    control_sentence="2ΛAΛ + tr(AΛ)Λ, which holds for symmetric A only",
)

Z28 = Claim(
    id="Z28",
    paper="zhang",
    section="C",
    sentence="Under random diagonal covariances every off-diagonal entry of U₁₁ decays monotonically to 0 and keeps "
    "its sign: "
    "uᵢⱼ(t) = uᵢⱼ(0) exp(−ζᵢⱼ ∫u₋₁²).",
    confidence="D",
    kind="identity",
    experiment=FLOW,
    margin=1e-7,
    reason="Relative to uᵢⱼ(0); the integrator's tolerances are 1e-10 (relative) and 1e-12 (absolute).",
    check=_decay,
    control=_rotated,
    control_sentence="covariances that are random but not diagonal (Lemma C.1)",
)

Z28a = Claim(
    id="Z28a",
    paper="zhang",
    section="C.3",
    sentence="Lemma C.7: when σ² is below the bound of Theorem 4.5, u₋₁(t) stays above a positive constant.",
    confidence="V",
    kind="bound",
    experiment=FLOW,
    margin=1.0,
    reason="Bound over value, the largest along the flow; 1 is the claim itself.",
    check=_lower_bound,
    control=_limit_as_bound,
    control_sentence="the limit of u₋₁ as its lower bound",
)

Z28b = Claim(
    id="Z28b",
    paper="zhang",
    section="C.3",
    sentence="Lemma C.8: along the flow ‖∇ℓ‖² ≥ ν(ℓ − min ℓ) with ν = ησ²[…]/(√d‖EΛ²‖), η the least of γᵢ, ζᵢⱼ.",
    confidence="D",
    kind="bound",
    experiment=FLOW,
    margin=1.0,
    reason="ν over ratio, the largest along the flow; 1 is the claim itself. The copy we read leaves a factor 2 open; "
    "this is the stronger reading.",
    check=_pl,
    control=_fastest,
    control_sentence="ν from the largest ζᵢⱼ and the limit of u₋₁",
)

Z10b = Claim(
    id="Z10b",
    paper="zhang",
    section="B",
    sentence="In the expansion behind Theorem 4.2 the squares are best linear error, variance and bias, and the three "
    "cross terms vanish.",
    confidence="V",
    kind="formula",
    experiment=SIX,
    margin=0.1,
    reason="Each term over the total error; cubic labels make the standard error up to 1% in quick.",
    check=_six,
    control=_wrong_centre,
    control_sentence="the expansion around ½a in the place of a = Λ⁻¹E[xy]",
)
