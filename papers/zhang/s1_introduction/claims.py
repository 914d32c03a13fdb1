"""Claim Z1: sections 1 and 2, what a plain gradient step cannot do."""

from icl_lib.companion.claim import Discrepancy, claims_of

claim = claims_of("zhang-one-step")


@claim("D", "formula", margin=1e-3, control=lambda dataset: dataset.assign(floor_theory=0 * dataset.floor_theory))
def Z1(dataset):
    """One gradient step with a scalar step size (footnote 2) does not solve the task unless Λ is a multiple of I. Its least
    error, relative to tr Λ, tends to 1 − (tr Λ²)²/(tr Λ · tr Λ³) as M → ∞: 0, 0.083, 0.188, 0.241 for geometric spectra
    with κ = 1, 3, 10, 100 and d = 20.

    Margin: Absolute, at M = 10⁶, where the finite length itself adds about (d + 1)/M = 2e-5.
    Control: the isotropic value 0 for every covariance
    """
    longest = dataset.isel(M_long=-1)
    return Discrepancy(abs(longest.risk_long - longest.floor_theory), 2 * longest.risk_long_se)
