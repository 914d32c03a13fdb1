"""Claims Z10b, Z27 and Z28 to Z28c: appendices B, C and D."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Discrepancy, claims_of
from icl_lib.companion.controls import put


def _norm(values: xr.DataArray) -> float:
    return float(np.sqrt((values**2).sum()))


claim = claims_of("zhang-fourth-moment", section="D")


@claim("V", "formula", margin=0.01, control=put(moment_theory="moment_symmetric"))
def Z27(dataset):
    """For x ~ N(0, Λ) and any square A: E[xxᵀAxxᵀ] = Λ(A + Aᵀ)Λ + tr(AΛ)Λ.

    Margin: Relative, Frobenius norm; its standard error is about 0.1% in quick. A is not symmetric, Λ not diagonal.
    Control: 2ΛAΛ + tr(AΛ)Λ, which holds for symmetric A only
    """
    size = _norm(dataset.moment_theory)
    return Discrepancy(_norm(dataset.moment - dataset.moment_theory) / size, 2 * _norm(dataset.moment_se) / size)


claim = claims_of("zhang-off-diagonal", section="C")


@claim("D", "identity", margin=1e-7, control=put(off="off_rotated"))
def Z28(dataset):
    """Under random diagonal covariances every off-diagonal entry of U₁₁ decays monotonically to 0 and keeps its sign:
    uᵢⱼ(t) = uᵢⱼ(0) exp(−ζᵢⱼ ∫u₋₁²).

    Margin: Relative to uᵢⱼ(0); the integrator's tolerances are 1e-10 (relative) and 1e-12 (absolute).
    Control: covariances that are random but not diagonal (Lemma C.1)
    """
    # The largest growth of |u_ij| in a step, how far u_ij crosses zero, and its distance from exp(-zeta_ij tau).
    growth = abs(dataset.off).diff("step").max("step")
    crossing = (-dataset.off).max("step")
    return Discrepancy(np.stack([growth, crossing, abs(dataset.off - dataset.off_theory).max("step")]))


claim = claims_of("zhang-off-diagonal", section="C.3")


@claim("V", "bound", margin=1.0, control=put(u_bound="u_limit"))
def Z28a(dataset):
    """Lemma C.7: when σ² is below the bound of Theorem 4.5, u₋₁(t) stays above a positive constant.

    Margin: Bound over value, the largest along the flow; 1 is the claim itself.
    Control: the limit of u₋₁ as its lower bound
    """
    return Discrepancy((dataset.u_bound / dataset.u).max("step"))


@claim("D", "bound", margin=1.0, control=put(nu="nu_fastest"))
def Z28b(dataset):
    """Lemma C.8: along the flow ‖∇ℓ‖² ≥ ν(ℓ − min ℓ) with ν = ησ²[…]/(√d‖EΛ²‖), η the least of γᵢ, ζᵢⱼ.

    Margin: ν over ratio, the largest along the flow; 1 is the claim itself. The copy we read leaves a factor 2 open;
    this is the stronger reading.
    Control: ν from the largest ζᵢⱼ and the limit of u₋₁
    """
    return Discrepancy((dataset.nu / dataset.pl_ratio).max("step"))


@claim("V", "identity", margin=1e-12, recorded=FAILS, control=put(pull_of_mean="pull_of_isotropic"))
def Z28c(dataset):
    """The proof of Lemma C.6, as far as the copy we read shows, sets E tr[Λ²ΘΘᵀ] = ‖E[Λ]Θ‖². The left-hand side is larger
    unless ΛΘ is constant.

    Margin: Relative; exact moments. The inequality of Jensen between the two is all that the proof needs.
    Control: a multiple of I in the place of ΘΘᵀ on the right-hand side
    """
    return Discrepancy(abs(dataset.pull / dataset.pull_of_mean - 1))


claim = claims_of("zhang-six-terms", section="B")


@claim("V", "formula", margin=0.1, control=put(term="term_wrong"))
def Z10b(dataset):
    """In the expansion behind Theorem 4.2 the squares are best linear error, variance and bias, and the three cross terms
    vanish.

    Margin: Each term over the total error; cubic labels make the standard error up to 1% in quick.
    Control: the expansion around ½a in the place of a = Λ⁻¹E[xy]
    """
    total = float(dataset.term_theory.sum())
    return Discrepancy(abs(dataset.term - dataset.term_theory) / total, 2 * dataset.term_se / total)
