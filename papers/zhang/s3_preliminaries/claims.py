"""Claims Z2 to Z5: section 3, definitions, linear self-attention, training procedure."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Discrepancy, claims_of
from icl_lib.companion.controls import put


def _norm(matrices: xr.DataArray) -> xr.DataArray:
    return np.sqrt((matrices**2).sum(("i", "j")))


claim = claims_of("zhang-two-notions", section="3.1")


@claim("D", "formula", margin=0.02, control=put(risk="risk_vanishing"))
def Z2(dataset):
    """The two notions differ: a model trained at finite N keeps an error η > 0 however long the test prompt. At M = 10⁶
    its error is e(N, ∞), which for Λ = I is (1 − a)² per dimension with a = 1/(1 + (d + 1)/N).

    Margin: Relative, for κ = 1 and 10. The finite M adds at most 0.1%, the standard error is below 0.1%.
    Control: the error of the model with N = ∞ (weights Λ⁻¹), which vanishes with M
    """
    longest = dataset.isel(M=-1)
    return Discrepancy(abs(longest.risk / longest.floor_theory - 1), 2 * longest.risk_se / longest.floor_theory)


claim = claims_of("zhang-attention", section="3.2")


@claim("V2", "identity", margin=1e-12, control=put(dead_entries="live_entries"))
def Z3(dataset):
    """Only the last row of W_PV and the first d columns of W_KQ enter the prediction, and the residual adds 0.

    Margin: Relative to the largest |ŷ|: float64 rounding with dense weights and d up to 20.
    Control: the last row of those d columns redrawn as well
    """
    return Discrepancy(dataset.dead_entries)


@claim("V", "identity", margin=1e-12, control=put(rescaling="rescaling_one_sided"))
def Z4(dataset):
    """The weights (c W_PV, W_KQ / c) give the same prediction as (W_PV, W_KQ).

    Margin: Relative to the largest |ŷ|: float64 rounding with dense weights and d up to 20.
    Control: both weights multiplied by c
    """
    return Discrepancy(dataset.rescaling)


claim = claims_of("zhang-population-loss", section="3.3")


@claim("V", "formula", margin=5e-3, control=put(second_moment_theory="second_moment_of_mean"))
def Z5(dataset):
    """The empirical covariance S of N inputs has E[S²] = ΓΛ = (1 + 1/N) Λ² + (1/N) tr(Λ) Λ, for N < d too.

    Margin: Relative Frobenius norm; its own sampling error is about 1.1e-3 in quick and 5e-4 in full.
    Control: Λ², the square of the mean
    """
    size = _norm(dataset.second_moment_theory)
    miss = _norm(dataset.second_moment - dataset.second_moment_theory)
    return Discrepancy(miss / size, 2 * _norm(dataset.second_moment_se) / size)
