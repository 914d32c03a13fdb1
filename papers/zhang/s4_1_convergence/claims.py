"""Claims Z7 to Z14: section 4.1, convergence and prediction error."""

import functools

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, relative_error

_claim = functools.partial(Claim, paper="zhang", section="4.1")


# --- Z7: the gradient at the limit --------------------------------------------------------------------------------


def _gradient_at_limit(dataset: xr.Dataset) -> Discrepancy:
    limit, beside = dataset.isel(point=0), dataset.isel(point=1)
    scale = float(abs(beside.gradient).max())
    return Discrepancy(abs(limit.gradient) / scale, 2 * limit.gradient_se / scale)


def _naive_inverse_first(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.isel(point=[2, 1])


def _vector_entries(dataset: xr.Dataset) -> Discrepancy:
    vectors = dataset.entry.str.startswith("u_21") | dataset.entry.str.startswith("u_12")
    return Discrepancy(abs(dataset.gradient.isel(point=0).where(vectors, drop=True)))


Z7a = _claim(
    id="Z7a",
    sentence="The gradient of the population loss is zero at the weights of Theorem 4.1, in every live parameter.",
    confidence="D",
    kind="formula",
    experiment="zhang-stationarity",
    margin=0.25,
    reason="Relative to the gradient with u₋₁ 10% too large: a quarter of it is a 2.5% error in the weights.",
    check=_gradient_at_limit,
    control=_naive_inverse_first,
    control_sentence="Λ⁻¹ in place of Γ⁻¹",
)
Z7b = _claim(
    id="Z7b",
    sentence="With ±w pairs, the gradient in u₁₂ and u₂₁ is zero for every draw, not only on average.",
    confidence="D",
    kind="identity",
    experiment="zhang-stationarity",
    margin=1e-10,
    reason="Exact in exact arithmetic; float64 rounding of sums of size 1 stays below 1e-13.",
    check=_vector_entries,
    control=lambda dataset: dataset.assign(gradient=dataset.gradient_unpaired),
    control_sentence="single prompts, without the pairs",
)


# --- Z8: gradient flow --------------------------------------------------------------------------------------------


Z8 = _claim(
    id="Z8",
    sentence="Theorem 4.1: from Assumption 3.3, gradient flow ends at W_KQ and W_PV built from Γ⁻¹.",
    confidence="V2",
    kind="convergence",
    experiment="zhang-flow",
    margin=1e-6,
    reason="Largest relative error of U₁₁ and u₋₁ at the last time; the integrator's tolerance is 1e-10.",
    check=lambda dataset: Discrepancy(
        np.concatenate([np.ravel(dataset[name].isel(time=-1)) for name in ("distance_U_11", "distance_u_last")])
    ),
    control=lambda dataset: dataset.assign(distance_U_11=dataset.distance_W_KQ_naive),
    control_sentence="Λ⁻¹ in place of Γ⁻¹",
)


# --- Z9: finite steps ---------------------------------------------------------------------------------------------


def _worst(*names: str):
    return lambda dataset: Discrepancy(np.concatenate([np.ravel(dataset[name]) for name in names]))


def _mean_over_seeds(name: str):
    def check(dataset: xr.Dataset) -> Discrepancy:
        values = dataset[name]
        return Discrepancy(float(values.mean()), 2 * float(values.std(ddof=1)) / values.size**0.5)

    return check


Z9a = _claim(
    id="Z9a",
    sentence="Gradient descent on the population loss with finite steps reaches u₋₁U₁₁ = Γ⁻¹ at every learning rate tried.",
    confidence="D",
    kind="convergence",
    experiment="zhang-training",
    margin=1e-6,
    reason="Relative Frobenius error; a fixed point does not depend on the step size, what remains is unfinished training.",
    check=_worst("descent_product"),
    control=lambda dataset: dataset.assign(descent_product=dataset.descent_factor),
    control_sentence="the single factor u₋₁, which does depend on the step size",
)
Z9b = _claim(
    id="Z9b",
    sentence="SGD on fresh minibatches of prompts reaches u₋₁U₁₁ = Γ⁻¹ up to its noise.",
    confidence="D",
    kind="convergence",
    experiment="zhang-training",
    margin=0.03,
    reason="Relative Frobenius error, mean over seeds; Λ⁻¹, the large-N limit, is more than 15% away.",
    check=_mean_over_seeds("sgd_product"),
    control=lambda dataset: dataset.assign(sgd_product=dataset.sgd_product_without_Gamma),
    control_sentence="Λ⁻¹ in place of Γ⁻¹",
)
Z9c = _claim(
    id="Z9c",
    sentence="With steps of 0.01 or less the factors themselves match Theorem 4.1: u₋₁ is right within 0.2%.",
    confidence="D",
    kind="bound",
    experiment="zhang-training",
    margin=0.002,
    reason="Relative; balance breaks in proportion to the step size, and a step of 0.2 costs more than 0.7%.",
    check=lambda dataset: Discrepancy(dataset.descent_factor.where(dataset.rate <= 0.01, drop=True)),
    control=lambda dataset: dataset.assign_coords(rate=dataset.rate.values[::-1]),
    control_sentence="the largest steps in place of the smallest",
)


# --- Z10: Theorem 4.2 ---------------------------------------------------------------------------------------------


def _variance_over_N(dataset: xr.Dataset) -> xr.Dataset:
    wrong = dataset.best_linear + dataset.variance * dataset.M / dataset.N + dataset.bias
    return dataset.assign(risk_theory=wrong)


Z10 = _claim(
    id="Z10",
    sentence="Theorem 4.2: the test error is best linear error + variance/M + bias/N², for linear, noisy and cubic labels.",
    confidence="V2",
    kind="formula",
    experiment="zhang-risk",
    margin=0.15,
    reason="Relative. Cubic labels are heavy-tailed (s.e. 2-3% in quick); a divisor N for M errs by 50% or more.",
    check=relative_error("risk"),
    control=_variance_over_N,
    control_sentence="the variance divided by N instead of M",
)


# --- Z11: the averaged error and its bound ------------------------------------------------------------------------


def _tallest_N_for_all(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(error_theory=dataset.error_theory.isel(N=-1).broadcast_like(dataset.error_theory))


Z11a = _claim(
    id="Z11a",
    sentence="Theorem 4.2 averaged over w ~ N(0, I) is e(N, M) = tr Λ − 2 tr(Λ²Γ_N⁻¹) + tr(Γ_M Λ² Γ_N⁻²).",
    confidence="D",
    kind="identity",
    experiment="zhang-averaged-error",
    margin=1e-10,
    reason="Relative; two closed forms in float64.",
    check=lambda dataset: Discrepancy(abs(dataset.error_by_theorem / dataset.error_theory - 1)),
    control=_tallest_N_for_all,
    control_sentence="one training length for all",
)
Z11b = _claim(
    id="Z11b",
    sentence="Measured on fresh prompts and tasks, the error of the trained model is e(N, M).",
    confidence="D",
    kind="formula",
    experiment="zhang-averaged-error",
    margin=0.08,
    reason="Relative; 5 to 8 standard errors in quick. Using one N for all errs by more than 20%.",
    check=relative_error("error"),
    control=_tallest_N_for_all,
    control_sentence="one training length for all",
)
Z11c = _claim(
    id="Z11c",
    sentence="The averaged error never exceeds (d+1)tr Λ/M + (1+2d+d²κ)tr Λ/N².",
    confidence="V",
    kind="bound",
    experiment="zhang-averaged-error",
    margin=0.0,
    reason="An inequality: (error − bound)/bound must not be positive.",
    check=lambda dataset: Discrepancy(dataset.error_theory / dataset.error_bound - 1),
    control=lambda dataset: dataset.assign(error_bound=dataset.error_bound - dataset.eta),
    control_sentence="the bound without its 1/N² part",
)


# --- Z12: rates ---------------------------------------------------------------------------------------------------


def _slopes(dataset: xr.Dataset) -> Discrepancy:
    gaps = [dataset.slope_M + 1, dataset.slope_N + 2, dataset.slope_both + 1]
    return Discrepancy(np.abs(np.concatenate(gaps)))


Z12 = _claim(
    id="Z12",
    sentence="The error falls as 1/M at infinite N, as 1/N² at infinite M, and as 1/N along N = M.",
    confidence="V",
    kind="rate",
    experiment="zhang-averaged-error",
    margin=0.05,
    reason="Slopes of log e over two decades of lengths far above tr Λ/λ_min (quick from 10³, full from 10⁵).",
    check=_slopes,
    control=lambda dataset: dataset.assign(slope_N=dataset.slope_N_at_fixed_M),
    control_sentence="N grows at a fixed finite M",
)


# --- Z13: longer training prompts can hurt ------------------------------------------------------------------------


Z13a = _claim(
    id="Z13a",
    sentence="At a fixed test length M the error is least at training length N = M, for every covariance tried.",
    confidence="D",
    kind="identity",
    experiment="zhang-averaged-error",
    margin=0.0,
    reason="The best of all N from 1 upwards, in closed form, must be M itself.",
    check=lambda dataset: Discrepancy(abs(dataset.best_N - dataset.M)),
    control=lambda dataset: dataset.assign(best_N=dataset.best_N * 0 + dataset.curve_N[-1]),
    control_sentence="the longest training prompt as the best",
)
Z13b = _claim(
    id="Z13b",
    sentence="Training on much longer prompts than the test's makes the measured error larger, by at least a tenth.",
    confidence="D",
    kind="order",
    experiment="zhang-averaged-error",
    margin=-0.1,
    reason="Minus the paired increase over the error at N = M; the closed form puts it at 25% or more.",
    check=lambda dataset: Discrepancy(
        -dataset.cost_of_long_N / _at_N_equal_M(dataset.error),
        2 * dataset.cost_of_long_N_se / _at_N_equal_M(dataset.error),
    ),
    control=lambda dataset: dataset.assign(cost_of_long_N=-dataset.cost_of_long_N),
    control_sentence="the two training lengths exchanged",
)


def _at_N_equal_M(values: xr.DataArray) -> xr.DataArray:
    return values.sel(N=values.M).drop_vars("N")


# --- Z14: isotropic inputs ----------------------------------------------------------------------------------------


Z14a = _claim(
    id="Z14a",
    sentence="At Λ = I the trained model is averaging times a = 1/(1 + (d+1)/N), prompt by prompt.",
    confidence="D",
    kind="identity",
    experiment="zhang-isotropic",
    margin=1e-10,
    reason="Relative to the largest prediction; float64.",
    check=_worst("shrinkage_gap"),
    control=lambda dataset: dataset.assign(shrinkage_gap=dataset.unshrunk_gap),
    control_sentence="averaging without the factor a",
)
Z14b = _claim(
    id="Z14b",
    sentence="At Λ = I and N = M its error per dimension is s/(1+s) with s = (d+1)/N: far from least squares at finite N.",
    confidence="D",
    kind="formula",
    experiment="zhang-isotropic",
    margin=0.12,
    reason="Relative; 6 standard errors in quick. Averaging without shrinkage is 20% or more away.",
    check=relative_error("lsa"),
    control=lambda dataset: dataset.assign(lsa_theory=dataset.averaging_theory),
    control_sentence="the error of averaging",
)
