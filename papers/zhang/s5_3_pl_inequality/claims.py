"""Claims Z23 to Z26: section 5.3, the PL inequality and global convergence."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy


def _fall(dataset: xr.Dataset, dim: str) -> Discrepancy:
    """How far the logarithm of the slack falls from one value of ``dim`` to the next; kappa means nothing at d = 1."""
    return Discrepancy(-np.log(dataset.slack.where(dataset.d > 1, drop=True)).diff(dim))


Z23 = Claim(
    id="Z23",
    paper="zhang",
    section="5.3",
    sentence="Lemma A.3: u₋₁² = ‖U₁₁‖² at all times, from Assumption 3.3.",
    confidence="V",
    kind="identity",
    experiment="zhang-pl",
    margin=1e-6,
    reason="Greatest drift over the flow, relative to ‖Γ⁻¹‖; the integrator's tolerance is 1e-10.",
    check=lambda dataset: Discrepancy(dataset.drift),
    control=lambda dataset: dataset.assign(drift=dataset.drift_unbalanced),
    control_sentence="a start with u₋₁(0) doubled",
)

Z23b = Claim(
    id="Z23b",
    paper="zhang",
    section="5.3",
    sentence="From an unbalanced start δ = u₋₁² − ‖U₁₁‖² fixes the limit: u₋₁² = ½(δ + √(δ² + 4‖Γ⁻¹‖²)).",
    confidence="D",
    kind="formula",
    experiment="zhang-pl",
    margin=1e-6,
    reason="Relative error of u₋₁ at the end of the flow; the slowest mode has then decayed by e⁻²⁵.",
    check=lambda dataset: Discrepancy(dataset.unbalanced_error),
    control=lambda dataset: dataset.assign(unbalanced_error=dataset.unbalanced_error_balanced),
    control_sentence="the balanced limit ‖Γ⁻¹‖^½ for the same flows",
)

Z24 = Claim(
    id="Z24",
    paper="zhang",
    section="5.3",
    sentence="Lemma 5.4: along the flow ‖∇ℓ‖² ≥ μ (ℓ − min ℓ).",
    confidence="V",
    kind="bound",
    experiment="zhang-pl",
    margin=1,
    reason="μ over the least ratio along the flow; the lemma says at most 1.",
    check=lambda dataset: Discrepancy(dataset.pl_constant / dataset.pl_ratio),
    control=lambda dataset: dataset.assign(pl_constant=1 / dataset.pl_constant),
    control_sentence="μ upside down, as one secondary source prints it",
)

Z24b = Claim(
    id="Z24b",
    paper="zhang",
    section="5.3",
    sentence="Lemma A.5: u₋₁(t) stays above a bound set by σ, Θ, Λ and Γ.",
    confidence="V",
    kind="bound",
    experiment="zhang-pl",
    margin=0,
    reason="The bound minus the least u₋₁ along the flow.",
    check=lambda dataset: Discrepancy(dataset.u_last_bound - dataset.u_last_least),
    control=lambda dataset: dataset.assign(u_last_least=dataset.u_last_least_zero_start),
    control_sentence="a start with u₋₁(0) = 0, against Assumption 3.3",
)

Z24c = Claim(
    id="Z24c",
    paper="zhang",
    section="5.3",
    sentence="The PL inequality is loose, and the looser the higher the dimension: its slack grows with d.",
    confidence="N",
    kind="order",
    experiment="zhang-pl",
    margin=0,
    reason="Fall of the log of (least ratio)/μ from one d to the next, at each κ, from ΘΘᵀ = I/√d.",
    check=lambda dataset: _fall(dataset, "d"),
    control=lambda dataset: dataset.isel(d=slice(None, None, -1)),
    control_sentence="the dimensions in falling order",
)

Z24d = Claim(
    id="Z24d",
    paper="zhang",
    section="5.3",
    sentence="The slack of the PL inequality also grows with the condition number κ, at every d.",
    confidence="N",
    kind="order",
    experiment="zhang-pl",
    margin=0,
    reason="Fall of the log of (least ratio)/μ from one κ to the next, at each d > 1, from ΘΘᵀ = I/√d.",
    check=lambda dataset: _fall(dataset, "kappa"),
    control=lambda dataset: dataset.isel(kappa=slice(None, None, -1)),
    control_sentence="the condition numbers in falling order",
    recorded=FAILS,
)

Z25 = Claim(
    id="Z25",
    paper="zhang",
    section="5.3",
    sentence="The condition on σ is sufficient, not necessary: no failure found from far below to far above it.",
    confidence="N",
    kind="convergence",
    experiment="zhang-start-size",
    margin=1e-6,
    reason="Relative distance of u₋₁U₁₁ from Γ⁻¹ at the end; the slowest mode has decayed by e⁻⁴⁰.",
    check=lambda dataset: Discrepancy(dataset.miss),
    control=lambda dataset: dataset.assign(miss=dataset.miss_plain),
    control_sentence="Λ⁻¹ in place of Γ⁻¹ as the end",
)

Z25b = Claim(
    id="Z25b",
    paper="zhang",
    section="5.3",
    sentence="u₋₁ has a positive lower bound for every σ > 0, so the flow converges without the condition on σ.",
    confidence="D",
    kind="bound",
    experiment="zhang-start-size",
    margin=0,
    reason="The bound minus the least u₋₁ along the flow, for all multiples of the largest σ² that is allowed.",
    check=lambda dataset: Discrepancy(dataset.u_last_bound - dataset.u_last_least),
    control=lambda dataset: dataset.assign(u_last_bound=dataset.u_last_bound_start),
    control_sentence="the start value σ as the bound",
)


def _arrived(dataset: xr.Dataset) -> Discrepancy:
    arrived = (dataset.loss < dataset.attrs["at_optimum"]).astype(float)
    share = arrived.mean("start")
    return Discrepancy(share, 2 * np.sqrt(share * (1 - share) / arrived.sizes["start"]))


Z26 = Claim(
    id="Z26",
    paper="zhang",
    section="5.3",
    sentence="From dense starts of all live parameters not every flow is at the optimum by T = 150 (d = 3).",
    confidence="N",
    kind="convergence",
    experiment="zhang-dense-init",
    margin=0.9,
    reason="Share that arrives, with its binomial interval; 'not every' is read as at most nine in ten.",
    check=_arrived,
    control=lambda dataset: dataset.drop_dims("start").assign(loss=dataset.loss_allowed.rename(allowed="start")),
    control_sentence="starts of Assumption 3.3, which all arrive",
)


def _trap(dataset: xr.Dataset) -> Discrepancy:
    saddle = dataset.margin_theory < 0
    wrong = abs(dataset.negative - saddle) + abs(dataset.zero - 1) + (dataset.excess <= 0)
    return Discrepancy(wrong + (dataset.gradient > 1e-10))


Z26b = Claim(
    id="Z26b",
    paper="zhang",
    section="5.3",
    sentence="The full loss has local minima that are not global: the rank-one point is one exactly where "
    "hᵀK⁻¹h < kρ², and a saddle elsewhere.",
    confidence="D",
    kind="identity",
    experiment="zhang-rank-one-trap",
    margin=0,
    reason="Cells where the Hessian's signs, the gradient (1e-10) or the excess loss disagree; exact to rounding.",
    check=_trap,
    control=lambda dataset: dataset.assign(margin_theory=-abs(dataset.margin_theory)),
    control_sentence="every such point taken for a saddle",
)
