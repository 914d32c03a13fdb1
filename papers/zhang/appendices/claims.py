"""Claims Z10b, Z27 and Z28 to Z28c: appendices B, C and D."""

import numpy as np

from icl_lib.companion import FAILS, Discrepancy, claims_of, put

claim = claims_of("zhang-fourth-moment", section="D")


@claim("V", "formula", of="moment", margin=0.0025, quick_margin=0.0036, near=("2 Λ A Λ for Λ(A + Aᵀ)Λ", "tr A for tr(AΛ)"))
def Z27(dataset):
    """For $x ∼ N(0, Λ)$ and any square $A$: $E[xxᵀAxxᵀ] = Λ(A + Aᵀ)Λ$ $+ tr(AΛ)Λ$.

    Margin: Each entry, over the Frobenius norm; a little above q standard errors of the worst. $A$ is not symmetric,
    $Λ$ not diagonal.
    Moved: from 1% on the norm of the difference, when formulas came to be judged at the resolution of their data.
    """


claim = claims_of("zhang-off-diagonal", section="C")


@claim("D", "identity", margin=1e-7, control=put(off_theory="off_near"))
def Z28(dataset):
    """Under random diagonal covariances every off-diagonal entry of $U₁₁$ decays monotonically to 0 and keeps its sign:
    $uᵢⱼ(t)$ $= uᵢⱼ(0) exp(−ζᵢⱼ ∫u₋₁²)$.

    Margin: Relative to $uᵢⱼ(0)$; the integrator's tolerances are 1e-10 (relative) and 1e-12 (absolute). In the end less
    than a hundredth is left.
    Control: $N + 1$ for $N$ in $ζᵢⱼ$
    """
    # The largest growth of |u_ij| in a step, how far u_ij crosses zero, its distance from exp(-zeta_ij tau), and what is left.
    growth = abs(dataset.off).diff("step").max("step", skipna=False)
    crossing = (-dataset.off).max("step", skipna=False)
    left = np.where(abs(dataset.off.isel(step=-1)) < 0.01, 0.0, np.inf)
    return Discrepancy(np.stack([growth, crossing, abs(dataset.off - dataset.off_theory).max("step", skipna=False), left]))


claim = claims_of("zhang-off-diagonal", section="C.3")


@claim("V", "bound", margin=1.0, control=put(u_bound="u_limit"))
def Z28a(dataset):
    """Lemma C.7: when $σ²$ is below the bound of Theorem 4.5, $u₋₁(t)$ stays above a positive constant.

    Margin: Bound over value, the largest along the flow; 1 is the claim itself.
    Slack: A lower bound of a proof, which need not be sharp.
    Control: the limit of $u₋₁$ as its lower bound
    """
    return Discrepancy((dataset.u_bound / dataset.u).max("step"))


@claim("D", "bound", margin=1.0, control=put(nu="nu_limit"))
def Z28b(dataset):
    """After Lemma C.8, in the stronger of two readings: along the flow $‖∇ℓ‖² ≥ ν(ℓ − min ℓ)$ with $ν = ησ²[…]/(√d‖EΛ²‖)$,
    $η$ the least of $γᵢ$, $ζᵢⱼ$.

    Margin: $ν$ over ratio, the largest along the flow; 1 is the claim itself. The copy we read leaves a factor 2 open;
    this is the stronger reading.
    Slack: $ν$ is loose by its proof, like $μ$ of Lemma 5.4.
    Control: $ν$ from the limit of $u₋₁$ in the place of its lower bound
    """
    return Discrepancy((dataset.nu / dataset.pl_ratio).max("step"))


@claim(
    "V",
    "identity",
    margin=1e-12,
    recorded=FAILS,
    control=put(pull_of_mean="pull_of_isotropic"),
    positive=put(pull="pull_of_fixed"),
)
def Z28c(dataset):
    """The proof of Lemma C.6, as far as the copy we read shows, sets $E tr[Λ²ΘΘᵀ] = ‖E[Λ]Θ‖²$. The left-hand side is
    larger unless $ΛΘ$ is constant.

    Margin: Relative; exact moments. The inequality of Jensen between the two is all that the proof needs.
    Control: a multiple of $I$ in the place of $ΘΘᵀ$ on the right-hand side
    Positive: $Λ$ fixed at its mean
    Fails because: the paper: an equality is written where Jensen's inequality belongs. The proof needs no more, so
    Lemma C.6 and Theorem 4.5 hold.
    """
    return Discrepancy(abs(dataset.pull / dataset.pull_of_mean - 1))


claim = claims_of("zhang-six-terms", section="B")


@claim(
    "V",
    "formula",
    of="term",
    margin=0.014,
    quick_margin=0.024,
    near=(
        *("1 + 2/N in Γ", "1 for 1 + 1/N in Γ", "N + 1 for N in Γ"),
        "the bias without the 2 of its cross term",
        "the bias without its term in Λ³",
        "E[y² x xᵀ] for Σ",
        "M + 1 for M",
    ),
)
def Z10b(dataset):
    """In the expansion behind Theorem 4.2 the squares are best linear error, variance and bias, and the three cross terms
    vanish.

    Margin: Each term over the total error; a little above q standard errors of the worst, for cubic labels.
    Moved: from 10%, when formulas came to be judged at the resolution of their data.
    """
