"""Claims Z1: sections 1 and 2, what a plain gradient step cannot do."""

import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, relative_error


def _floor(dataset: xr.Dataset) -> Discrepancy:
    longest = dataset.isel(M_long=-1)
    return Discrepancy(abs(longest.risk_long - longest.floor_theory), 2 * longest.risk_long_se)


def _trained(dataset: xr.Dataset) -> Discrepancy:
    longest = dataset.isel(M_long=-1)
    return Discrepancy(longest.trained_long, 2 * longest.trained_long_se)


Z1 = Claim(
    id="Z1",
    paper="zhang",
    section="1",
    sentence=(
        "Footnote 2: one gradient step with a scalar step size does not solve the task unless Λ is a multiple of I. "
        "Its least error, relative to tr Λ, tends to 1 − (tr Λ²)²/(tr Λ · tr Λ³) as M → ∞: 0, 0.083, 0.188, 0.241 for "
        "geometric spectra with κ = 1, 3, 10, 100 and d = 20."
    ),
    confidence="D",
    kind="formula",
    experiment="zhang-one-step",
    margin=1e-3,
    reason="Absolute, at M = 10⁶, where the finite length itself adds about (d + 1)/M = 2e-5.",
    check=_floor,
    control=lambda dataset: dataset.assign(floor_theory=0 * dataset.floor_theory),
    control_sentence="the isotropic value 0 for every covariance",
)

Z1a = Claim(
    id="Z1a",
    paper="zhang",
    section="1",
    sentence=("At prompt length M, one step of size η has error tr Λ − 2η tr Λ² + η² tr(Γ_M Λ²), with M in place of N in Γ."),
    confidence="D",
    kind="formula",
    experiment="zhang-one-step",
    margin=0.1,
    reason="Relative. The standard error is 1.2% in quick; without the context's fluctuation it is off by 25%.",
    check=relative_error("risk"),
    control=lambda dataset: dataset.assign(risk_theory=dataset.risk_exact_context),
    control_sentence="Λ in place of Γ_M: the fluctuation of the context left out",
)

Z1b = Claim(
    id="Z1b",
    paper="zhang",
    section="1",
    sentence="The trained model has no such floor: at N = M = 10⁶ its error is below 10⁻³ tr Λ for κ = 1, 3, 10, 100.",
    confidence="D",
    kind="bound",
    experiment="zhang-one-step",
    margin=1e-3,
    reason="Relative to tr Λ, the margin of Z1; the exact error is about (d + 1)/M = 2e-5.",
    check=_trained,
    control=lambda dataset: dataset.assign(trained_long=dataset.risk_long, trained_long_se=dataset.risk_long_se),
    control_sentence="the best scalar step in place of the trained model",
)
