"""Claims Z18a to Z18g: section 4.3, training on random covariances."""

import numpy as np
import xarray as xr

from icl_lib.companion import FAILS, Discrepancy, claims_of, put

DIMENSIONS = ("d + 4 for d + 5", "2d + 2 for d + 5", "d + 2 for d + 5, a λ³/N dropped", "N + 1 for N")
"""Near misses of 3 + (d + 5)/N."""

claim = claims_of("zhang-random-covariance-flow")


@claim("V2", "convergence", margin=1e-6, control=put(u_theory="u_printed"))
def Z18a(dataset):
    """Theorem 4.5: gradient flow on random diagonal covariances drives $u₋₁U₁₁$ to
    $A_* = (E[ΓΛ²])⁻¹E[Λ²]$ and $u₋₁$ to $(∑ ξᵢ²/γᵢ²)^¼ = ‖A_*‖^½$.

    Margin: Relative. The integrator's tolerance is 1e-10 and the slowest mode has decayed by $e⁻³⁰$.
    Control: the limit of $u₋₁$ as (C.15) prints it, without squares
    """
    # Relative distance of u U from A_* (Frobenius) and of u from its limit, per distribution and length.
    squares = (dataset["product"] - dataset.product_theory) ** 2, dataset.product_theory**2
    difference, whole = (each.sum(["i", "j"], skipna=False) for each in squares)
    matrix = np.sqrt(difference / whole)
    return Discrepancy(np.stack([matrix, abs(dataset.u.isel(step=-1) / dataset.u_theory - 1)]))


claim = claims_of("zhang-random-covariance")


@claim(
    "D",
    "formula",
    of="risk",
    margin=0.085,
    quick_margin=0.22,
    near=(
        *("E λᵢ² E Σ λⱼ for E λᵢ² Σ λⱼ", "1 for 1 + 1/M", "one of the two λᵢ²λⱼ of ζᵢⱼ/M dropped"),
        *("ζⱼᵢ for ζᵢⱼ", "M + 1 for M", "M for N"),
    ),
)
def Z18b(dataset):
    """With weights $A$, triangular ones too, the error on a random spectrum is $∑ᵢ Eλᵢ − 2 ∑ᵢ Aᵢᵢ Eλᵢ²$ $+ ∑ᵢⱼ Aᵢⱼ² ζᵢⱼ(M)$, at
    every test length $M$ and covariance scale $c = 1, 4, 9$, for exponential and uniform variances.

    Margin: Relative; a little above q standard errors of the worst cell. At $c = 4$ and 9 the squared error is heavy-tailed.
    Moved: from 15%, when formulas came to be judged at the resolution of their data, and from 5.6%, when $d = 8$ and dense
    weights came in: to 8%, and to 8.5% when the data had been seen. The dense weights were symmetric, which does not tell
    $ζᵢⱼ$ from $ζⱼᵢ$; a triangle has their place. The near miss $M$ for $N$ was $N + 1$ for $N$, which these data turned out
    not to tell from $N$.
    """


claim = claims_of("zhang-random-covariance-limit")


@claim("D", "formula", of="mean", margin=0.008, quick_margin=0.014, near=DIMENSIONS)
def Z18c(dataset):
    """Exp(1) variances: for a query drawn apart from the prompt's covariance, $E[ŷ | x_query, w]$ $= wᵀx_query/(3 + (d +
    5)/N)$, which tends to one third of the target: the trained model fails.

    Margin: For unit $x_query$ and $w$, along and across each other, over $1/(3 + (d + 5)/N)$, $d = 3$ and 6; a little above q
    standard errors of the worst cell.
    Moved: from 0.015, absolute, when formulas came to be judged at the resolution of their data.
    """


claim = claims_of("zhang-random-covariance-flow", section="C.3")


@claim(
    "V",
    "convergence",
    margin=1e-6,
    recorded=FAILS,
    control=lambda d: d.assign(u_printed=(d.product_mean**2).sum(["i", "j"]) ** 0.25),
    positive=put(u_printed="u_theory"),
)
def Z18d(dataset):
    """(C.15), as far as the copy we read shows: $u₋₁$ tends to $(∑ ξᵢ/γᵢ)^¼$, without squares.

    Margin: Relative, as for Z18a.
    Control: Theorem 4.1 at the mean covariance in the place of the random ones
    Positive: the limit with squares, (C.17)
    Fails because: the paper: the squares are missing in (C.15), as far as the copy we read shows. (C.17) and Theorem
    4.5 have them, and the flow ends there.
    """
    return Discrepancy(abs(dataset.u.isel(step=-1) / dataset.u_printed - 1))


claim = claims_of("zhang-random-covariance-limit")


@claim(
    "D",
    "formula",
    of="own",
    margin=0.019,
    quick_margin=0.037,
    near=DIMENSIONS,
    control=put(own_theory="own_middle"),
)
def Z18e(dataset):
    """Exp(1) variances: for a query drawn with the prompt's own covariance, $E[ŷ | x_query, w]$ $= ∑ wᵢxᵢ(½ + |xᵢ|/√2)$ $/ (3 +
    (d + 5)/N)$, not a fixed fraction of the target.

    Margin: Relative, on the factor in five bins of $|xᵢ|$; a little above q standard errors of the worst.
    Moved: from 0.025, absolute, when formulas came to be judged at the resolution of their data, and from 1.4%, when $d = 6$
    came in at half the prompts.
    Control: the middle of a bin for its mean $|xᵢ|$
    """


claim = claims_of("zhang-random-start-size")


@claim("D", "convergence", margin=1e-6, control=put(miss="miss_near"))
def Z18f(dataset):
    """The limit of Theorem 4.5 is reached from every $σ$: $u₋₁U₁₁$ tends to $A_*$ and $u₋₁$ to $‖A_*‖^½$ for $σ²$ from 0.01
    to 1000 times the bound.

    Margin: As for Z18a, the larger of the two relative distances.
    Number: The larger of the two relative distances.
    Control: $A_*$ with $N + 1$ in the place of $N$
    """
    return Discrepancy(np.stack([dataset.miss, dataset.u_miss]))


def _second_entries(dataset: xr.Dataset) -> xr.Dataset:
    below = dataset.sel(multiple=dataset.multiple < 1).isel(multiple=[-1])
    return below.assign(u_bound=below.u_bound_rising)


@claim("D", "bound", margin=1.0, control=_second_entries)
def Z18g(dataset):
    """On these flows $u₋₁$ stays above a positive bound that needs no condition on $σ$.

    Margin: The bound over the least $u₋₁$ on the way.
    Control: the bound with its second entries alone, at the largest multiple below 1: the initial value is below them
    """
    return Discrepancy(dataset.u_bound / dataset.u_least)
