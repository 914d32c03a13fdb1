"""Claims Z19, Z19c, Z19d, Z21 and Z22: section 5.2, the dynamics."""

from icl_lib.companion.claim import Claim, Discrepancy

Z19 = Claim(
    id="Z19",
    paper="zhang",
    section="5.2",
    sentence="Lemma 5.2: its right-hand side is minus the gradient of the layer's population loss, and u₁₂, u₂₁ do not move.",
    confidence="V2",
    kind="identity",
    experiment="zhang-dynamics",
    margin=1e-10,
    reason="Relative to the largest entry. The gradient is taken through the layer, averaged by exact quadrature.",
    check=lambda dataset: Discrepancy(dataset.velocity_error),
    control=lambda dataset: dataset.assign(velocity_error=dataset.velocity_error_mean_context),
    control_sentence="Λ² in place of E[Λ̂²] = ΓΛ",
)

Z19c = Claim(
    id="Z19c",
    paper="zhang",
    section="5.2",
    sentence="The loss never rises along the flow of Lemma 5.2.",
    confidence="N",
    kind="bound",
    experiment="zhang-dynamics",
    margin=1e-8,
    reason="Largest rise between neighbouring times, over L*; the integrator's relative tolerance is 1e-10.",
    check=lambda dataset: Discrepancy(dataset.loss.diff("time")),
    control=lambda dataset: dataset.assign(loss=dataset.loss_towards_plain),
    control_sentence="the flow with Λ in place of Γ, which passes Γ⁻¹ and climbs to Λ⁻¹",
)

Z19d = Claim(
    id="Z19d",
    paper="zhang",
    section="5.2",
    sentence="Corollary A.2: the reduced loss exceeds its minimum by ½‖Γ^½(u₋₁Λ^½U₁₁Λ^½ − ΛΓ⁻¹)‖².",
    confidence="V2",
    kind="identity",
    experiment="zhang-dynamics",
    margin=1e-10,
    reason="Relative; exact up to rounding.",
    check=lambda dataset: Discrepancy(dataset.gap_error),
    control=lambda dataset: dataset.assign(gap_error=dataset.gap_error_unweighted),
    control_sentence="the norm without the weight Γ^½",
)

Z21 = Claim(
    id="Z21",
    paper="zhang",
    section="5.2",
    sentence="Near the origin (U₁₁, u₋₁) grows at rate ‖Λ²‖ (Frobenius), and (u₁₂, u₂₁) at the slower rate ‖Λ‖² (operator).",
    confidence="D",
    kind="rate",
    experiment="zhang-time-course",
    margin=0.01,
    reason="Relative. Fitted at amplitudes 1e-4 to 1e-2, where the cubic terms change the rate by about 1e-4.",
    check=lambda dataset: Discrepancy(abs(dataset.rate / dataset.rate_theory - 1)),
    control=lambda dataset: dataset.assign(rate_theory=dataset.rate_theory.copy(data=dataset.rate_theory.values[::-1])),
    control_sentence="the two rates exchanged",
)

Z22 = Claim(
    id="Z22",
    paper="zhang",
    section="5.2",
    sentence="For Λ = λI and ΘΘᵀ = I/√d the flow is a logistic curve in closed form: one sigmoidal drop of the loss.",
    confidence="D",
    kind="formula",
    experiment="zhang-time-course",
    margin=1e-6,
    reason="Relative, on loss; integration at relative tolerance 1e-10 over a long escape from the origin.",
    check=lambda dataset: Discrepancy(abs(dataset.loss / dataset.loss_theory - 1)),
    control=lambda dataset: dataset.assign(loss=dataset.loss_generic_start),
    control_sentence="a generic Θ of the same norm",
)
