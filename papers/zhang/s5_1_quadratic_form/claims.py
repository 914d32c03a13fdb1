"""Claims Z19a, Z19b, Z19e and Z20d: section 5.1, the quadratic form and the full loss."""

import numpy as np

from icl_lib.companion import FAILS, Discrepancy, at, claims_of, put

claim = claims_of("zhang-quadratic-form")


@claim("V2", "identity", margin=1e-12, control=put(prediction_theory="prediction_by_rows"))
def Z19a(dataset):
    """Lemma 5.1: the prediction of the layer is $uᵀHu$ with $u = Vec(U)$ and $H = ½ X ⊗ EEᵀ/N$.

    Margin: Relative to the root mean square prediction; exact up to float64 rounding of about 100 operations.
    Control: Vec stacks the rows of $U$ instead of its columns
    """
    size = np.sqrt((dataset.prediction**2).mean("prompt"))
    return Discrepancy(abs(dataset.prediction_theory - dataset.prediction) / size)


@claim("D", "identity", margin=0, control=put(negative="negative_without_query"))
def Z19b(dataset):
    """$H$ has $min(N, d) + 1$ negative and as many positive eigenvalues, for every $N ≥ 1$.

    Margin: A count. Rounding leaves zero eigenvalues near 1e-16 of the largest; the line is drawn at 1e-12.
    Control: the query's token left out of $EEᵀ$
    """
    counts = np.stack([dataset.negative, dataset.positive])
    return Discrepancy(abs(counts - dataset.negative_theory.values[:, None]))


@claim(
    "V",
    "bound",
    margin=0,
    recorded=FAILS,
    control=put(negative="negative_without_query"),
    positive=lambda dataset: dataset.sel(N=dataset.negative_paper <= dataset.N + 1),
)
def Z19e(dataset):
    """$H$ has at least $d + 1$ negative eigenvalues (the sentence of section 5.1, which sets no condition on $N$).

    Margin: A count: $d + 1$ minus the number found. From $N = d$ on it holds (Z19b).
    Control: the query's token left out of $EEᵀ$
    Positive: prompts of $d$ examples and more
    Fails because: the paper: its sentence sets no condition on N and needs N ≥ d. A shorter prompt has N + 1 of them.
    """
    return Discrepancy(dataset.negative_paper - dataset.negative)


claim = claims_of("zhang-full-loss")


@claim("D", "identity", margin=1e-12, control=at(d=slice(1, None)))
def Z20d(dataset):
    """At $d = 1$ a second family is globally optimal: $u₋₁ = U₁₁ = 0$ and $u₁₂u₂₁ = Γ⁻¹$.

    Margin: Excess over the least loss, relative, of the best point with $u₋₁ = U₁₁ = 0$; exact up to rounding.
    Control: $d = 2$, where $u₁₂u₂₁ᵀ$ has too small a rank
    """
    return Discrepancy(abs(dataset.rank_one_excess.isel(d=0)))
