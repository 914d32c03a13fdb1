"""Claims Z1: sections 1 and 2, what a plain gradient step cannot do."""

from icl_lib.companion.claim import Discrepancy, claims_of
from icl_lib.companion.controls import put

claim = claims_of("zhang-one-step")


@claim("D", "formula", margin=1e-3, control=lambda dataset: dataset.assign(floor_theory=0 * dataset.floor_theory))
def Z1(dataset):
    """Footnote 2: one gradient step with a scalar step size does not solve the task unless Λ is a multiple of I. Its least
    error, relative to tr Λ, tends to 1 − (tr Λ²)²/(tr Λ · tr Λ³) as M → ∞: 0, 0.083, 0.188, 0.241 for geometric spectra
    with κ = 1, 3, 10, 100 and d = 20.

    Margin: Absolute, at M = 10⁶, where the finite length itself adds about (d + 1)/M = 2e-5.
    Control: the isotropic value 0 for every covariance
    """
    longest = dataset.isel(M_long=-1)
    return Discrepancy(abs(longest.risk_long - longest.floor_theory), 2 * longest.risk_long_se)


@claim("D", "formula", of="risk", margin=0.1, control=put(risk_theory="risk_exact_context"))
def Z1a(dataset):
    """At prompt length M, one step of size η has error tr Λ − 2η tr Λ² + η² tr(Γ_M Λ²), with M in place of N in Γ.

    Margin: Relative. The standard error is 1.2% in quick; without the context's fluctuation it is off by 25%.
    Control: Λ in place of Γ_M: the fluctuation of the context left out
    """


@claim("D", "bound", margin=1e-3, control=put(trained_long="risk_long", trained_long_se="risk_long_se"))
def Z1b(dataset):
    """The trained model has no such floor: at N = M = 10⁶ its error is below 10⁻³ tr Λ for κ = 1, 3, 10, 100.

    Margin: Relative to tr Λ, the margin of Z1; the exact error is about (d + 1)/M = 2e-5.
    Control: the best scalar step in place of the trained model
    """
    longest = dataset.isel(M_long=-1)
    return Discrepancy(longest.trained_long, 2 * longest.trained_long_se)
