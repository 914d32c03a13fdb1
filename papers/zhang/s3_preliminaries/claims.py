"""Claims Z2 to Z6: section 3, definitions, linear self-attention, training procedure."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, relative_error

_ROUNDING = "Relative to the largest |ŷ|: float64 rounding with dense weights and d up to 20."


def _longest_prompt(dataset: xr.Dataset) -> Discrepancy:
    longest = dataset.isel(M=-1)
    return Discrepancy(abs(longest.risk / longest.floor_theory - 1), 2 * longest.risk_se / longest.floor_theory)


def _isotropic_floor(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(abs(dataset.floor_theory.sel(kappa=1) / (1 - dataset.shrinkage) ** 2 - 1))


def _second_moment(dataset: xr.Dataset) -> Discrepancy:
    size = _norm(dataset.second_moment_theory)
    miss = _norm(dataset.second_moment - dataset.second_moment_theory)
    return Discrepancy(miss / size, 2 * _norm(dataset.second_moment_se) / size)


def _norm(matrices: xr.DataArray) -> xr.DataArray:
    return np.sqrt((matrices**2).sum(("i", "j")))


def _two_forms(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(abs(dataset.loss_minimum_by_length / dataset.loss_minimum - 1))


def _least(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy((dataset.loss_minimum - dataset.loss_nearby) / dataset.loss_minimum)


Z2 = Claim(
    id="Z2",
    paper="zhang",
    section="3.1",
    sentence=(
        "The two notions differ: a model trained at finite N keeps an error η > 0 however long the test prompt. "
        "At M = 10⁶ its error is e(N, ∞), which for Λ = I is (1 − a)² per dimension with a = 1/(1 + (d + 1)/N)."
    ),
    confidence="D",
    kind="formula",
    experiment="zhang-two-notions",
    margin=0.02,
    reason="Relative, for κ = 1 and 10. The finite M adds at most 0.1%, the standard error is below 0.1%.",
    check=_longest_prompt,
    control=lambda dataset: dataset.assign(risk=dataset.risk_vanishing),
    control_sentence="the error of the model with N = ∞ (weights Λ⁻¹), which vanishes with M",
)

Z2a = Claim(
    id="Z2a",
    paper="zhang",
    section="3.1",
    sentence="For Λ = I the general formula for e(N, ∞) reduces to d (1 − a)².",
    confidence="D",
    kind="identity",
    experiment="zhang-two-notions",
    margin=1e-10,
    reason="Relative; two closed forms in float64.",
    check=_isotropic_floor,
    control=lambda dataset: dataset.assign(shrinkage=dataset.shrinkage_without_trace_term),
    control_sentence="the term tr(Λ)/N dropped from Γ, so a = 1/(1 + 1/N)",
)

Z2b = Claim(
    id="Z2b",
    paper="zhang",
    section="3.1",
    sentence="The attention layer, fed example by example at M = 200, has the error e(N, M).",
    confidence="D",
    kind="formula",
    experiment="zhang-two-notions",
    margin=0.1,
    reason="Relative; the standard error is about 1.6% in quick and 0.7% in full.",
    check=relative_error("attention"),
    control=lambda dataset: dataset.assign(attention_theory=dataset.attention_exchanged),
    control_sentence="N and M exchanged",
)

Z3 = Claim(
    id="Z3",
    paper="zhang",
    section="3.2",
    sentence="Only the last row of W_PV and the first d columns of W_KQ enter the prediction, and the residual adds 0.",
    confidence="V2",
    kind="identity",
    experiment="zhang-attention",
    margin=1e-12,
    reason=_ROUNDING,
    check=lambda dataset: Discrepancy(dataset.dead_entries),
    control=lambda dataset: dataset.assign(dead_entries=dataset.live_entries),
    control_sentence="the last row of those d columns redrawn as well",
)

Z3a = Claim(
    id="Z3a",
    paper="zhang",
    section="3.2",
    sentence="The prediction computed from the query's column alone equals entry (d+1, M+1) of the layer as printed.",
    confidence="V2",
    kind="identity",
    experiment="zhang-attention",
    margin=1e-12,
    reason=_ROUNDING,
    check=lambda dataset: Discrepancy(dataset.query_row),
    control=lambda dataset: dataset.assign(query_row=dataset.query_row_without_own_token),
    control_sentence="the query's own token left out of E Eᵀ",
)

Z4 = Claim(
    id="Z4",
    paper="zhang",
    section="3.2",
    sentence="The weights (c W_PV, W_KQ / c) give the same prediction as (W_PV, W_KQ).",
    confidence="V",
    kind="identity",
    experiment="zhang-attention",
    margin=1e-12,
    reason=_ROUNDING,
    check=lambda dataset: Discrepancy(dataset.rescaling),
    control=lambda dataset: dataset.assign(rescaling=dataset.rescaling_one_sided),
    control_sentence="both weights multiplied by c",
)

Z5 = Claim(
    id="Z5",
    paper="zhang",
    section="3.3",
    sentence="The empirical covariance S of N inputs has E[S²] = ΓΛ = (1 + 1/N) Λ² + (1/N) tr(Λ) Λ, for N < d too.",
    confidence="V",
    kind="formula",
    experiment="zhang-population-loss",
    margin=5e-3,
    reason="Relative Frobenius norm; its own sampling error is about 1.1e-3 in quick and 5e-4 in full.",
    check=_second_moment,
    control=lambda dataset: dataset.assign(second_moment_theory=dataset.second_moment_of_mean),
    control_sentence="Λ², the square of the mean",
)

Z6 = Claim(
    id="Z6",
    paper="zhang",
    section="3.3",
    sentence=(
        "With zero off-diagonal blocks and A = u U₁₁ the population loss is "
        "½ [tr Λ − 2 tr(Λ²A) + tr(ΓΛAΛAᵀ)], at the initialisation, at the minimum and at a dense A."
    ),
    confidence="D",
    kind="formula",
    experiment="zhang-population-loss",
    margin=0.05,
    reason="Relative; the standard error is below 0.9% in quick and 0.3% in full.",
    check=relative_error("loss"),
    control=lambda dataset: dataset.assign(loss_theory=dataset.loss_exact_context),
    control_sentence="Λ in place of Γ: the context taken to be infinite",
)

Z6a = Claim(
    id="Z6a",
    paper="zhang",
    section="3.3",
    sentence="The minimum ½ tr(Λ − Λ²Γ⁻¹) equals (1/2N) tr[ΛΓ⁻¹(Λ + tr(Λ) I)], so it is positive at every finite N.",
    confidence="D",
    kind="identity",
    experiment="zhang-population-loss",
    margin=1e-10,
    reason="Relative; two closed forms in float64.",
    check=_two_forms,
    control=lambda dataset: dataset.assign(loss_minimum=dataset.loss_at_inverse_covariance),
    control_sentence="the loss at A = Λ⁻¹ in place of A = Γ⁻¹",
)

Z6b = Claim(
    id="Z6b",
    paper="zhang",
    section="3.3",
    sentence="No A at any tried distance from Γ⁻¹ has a loss below that minimum.",
    confidence="V2",
    kind="bound",
    experiment="zhang-population-loss",
    margin=1e-10,
    reason="Relative excess of the minimum over the least loss found; exact formula, so rounding only.",
    check=_least,
    control=lambda dataset: dataset.assign(loss_minimum=dataset.loss_at_inverse_covariance),
    control_sentence="Λ⁻¹ claimed as the minimiser",
)
