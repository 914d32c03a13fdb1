"""Claims Z19, Z19d, Z21 and Z22: section 5.2, the dynamics."""

import xarray as xr

from icl_lib.companion import Discrepancy, claims_of, put

claim = claims_of("zhang-dynamics")


@claim("V2", "identity", margin=1e-10, control=put(velocity_error="velocity_error_mean_context"))
def Z19(dataset):
    """Lemma 5.2: its right-hand side is minus the gradient of the layer's population loss, and $u₁₂$, $u₂₁$ do not move.

    Margin: Relative to the largest entry. The gradient is taken through the layer, averaged by exact quadrature.
    Control: $Λ²$ in place of $E[Λ̂²] = ΓΛ$
    """
    return Discrepancy(dataset.velocity_error)


@claim("V2", "identity", margin=1e-10, control=put(gap_error="gap_error_unweighted"))
def Z19d(dataset):
    """Corollary A.2: the reduced loss exceeds its minimum by $½‖Γ^½(u₋₁Λ^½U₁₁Λ^½ − ΛΓ⁻¹)‖²$.

    Margin: Relative; exact up to rounding.
    Control: the norm without the weight $Γ^½$
    """
    return Discrepancy(dataset.gap_error)


claim = claims_of("zhang-time-course")


def _exchanged_rates(dataset: xr.Dataset) -> xr.Dataset:
    largest = dataset.isel(kappa=[-2, -1])
    return largest.assign(rate_theory=largest.rate_theory.roll(direction=1))


@claim("D", "rate", margin=0.01, control=_exchanged_rates)
def Z21(dataset):
    """Near the origin $(U₁₁, u₋₁)$ grows at rate $‖Λ²‖$ (Frobenius), and $(u₁₂, u₂₁)$ at the rate $‖Λ‖²$ (operator),
    which is slower for $d ≥ 2$.

    Margin: Relative. Fitted at amplitudes 1e-4 to 1e-2, where the cubic terms change the rate by 1e-4 at most.
    Control: the two rates exchanged, at the two largest condition numbers, where they are closest
    """
    return Discrepancy(abs(dataset.rate / dataset.rate_theory - 1))


@claim("D", "formula", of="loss", margin=1e-6, near=("N + 1 for N",), control=put(loss="loss_generic_start"))
def Z22(dataset):
    """For $Λ = λI$ and $ΘΘᵀ = I/√d$ the flow is a logistic curve in closed form: one sigmoidal drop of the loss.

    Margin: Relative, on loss; the numerical error: integration at relative tolerance 1e-10 over a long escape from the origin.
    Control: a generic $Θ$ of the same norm
    """
