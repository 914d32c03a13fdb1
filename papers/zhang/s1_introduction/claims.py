"""Claim Z1: sections 1 and 2, what a plain gradient step cannot do."""

from icl_lib.companion import claims_of

claim = claims_of("zhang-one-step")


@claim(
    "D",
    "formula",
    of="risk_long",
    margin=0.0075,
    quick_margin=0.045,
    near=("1 + 2/N in Γ", "1 for 1 + 1/N in Γ", "N + 1 for N in Γ", "M = ∞ for the longest M, κ > 1"),
)
def Z1(dataset):
    """One gradient step with the best scalar step size (footnote 2) does not solve the task unless $Λ$ is a multiple of $I$.
    On $M$ examples its error, relative to $tr Λ$, is $1$ $− (tr Λ²)²/(tr Λ · tr(Γ_MΛ²))$, $Γ_M$ with $M$ in the place of $N$.
    As $M → ∞$ it tends to $1$ $− (tr Λ²)²/(tr Λ · tr Λ³)$: 0, 0.083, 0.188, 0.240 for geometric spectra with
    $κ = 1, 3, 10, 100$ and $d = 20$.

    Margin: Relative, a little above q standard errors of the worst cell, $M = 100$ to $10⁶$.
    Moved: from 1e-3, absolute, around the limit alone, from which the data at $M = 10⁶$ are up to 770 standard errors away
    ($κ = 1$).
    """
