"""Claims Z15 to Z17: section 4.2, behaviour under distribution shifts. ``garg_prompts`` has Z17d to Z17i."""

import functools

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy, relative_error

_claim = functools.partial(Claim, paper="zhang", section="4.2")

# --- Z15: task shift ----------------------------------------------------------------------------------------------


def _training_length_ignored(dataset: xr.Dataset) -> xr.Dataset:
    matched = dataset.distance_theory.sel(training="matched", drop=True)
    return dataset.assign(distance_theory=matched.broadcast_like(dataset.distance))


Z15a = _claim(
    id="Z15a",
    sentence="Task shift: for one fixed linear, noisy or cubic task the excess error over the best linear predictor is "
    "the variance term plus the bias term of Theorem 4.2.",
    confidence="V2",
    kind="formula",
    experiment="zhang-task-shift",
    margin=0.15,
    reason="Relative. Cubic labels are heavy-tailed (s.e. up to 6% in quick); a wrong N errs by factors at large M.",
    check=relative_error("distance"),
    control=_training_length_ignored,
    control_sentence="the formula for N = M expected of a model trained at N = 10",
)


def _distance_slope(dataset: xr.Dataset) -> Discrepancy:
    last = dataset.sel(training="matched").isel(M=[-2, -1])
    run = np.log(last.M.values[1] / last.M.values[0])
    slope = np.diff(np.log(last.distance.values), axis=1)[:, 0] / run
    error = np.sqrt(((last.distance_se / last.distance) ** 2).sum("M").values) / run
    return Discrepancy(abs(slope + 1), 2 * error)


def _short_training(dataset: xr.Dataset) -> xr.Dataset:
    short = dataset.sel(training=["short"])
    return dataset.sel(training=["matched"]).assign(
        distance=short.distance.assign_coords(training=["matched"]),
        distance_se=short.distance_se.assign_coords(training=["matched"]),
    )


Z15b = _claim(
    id="Z15b",
    sentence="Task shift is tolerated: with N = M the excess over the best linear predictor vanishes like 1/M, for "
    "linear, noisy and cubic tasks.",
    confidence="V",
    kind="rate",
    experiment="zhang-task-shift",
    margin=0.25,
    reason="On the log-log slope over the two longest prompts; by the formula it is still 0.86 to 0.92 at M = 40 to 160.",
    check=_distance_slope,
    control=_short_training,
    control_sentence="training at N = 10 while M grows: the bias stays",
)


def _scale_dependence(dataset: xr.Dataset) -> Discrepancy:
    relative = dataset.scaled_error.sel(noise="none")
    return Discrepancy(abs(relative / relative.sel(scale=1.0) - 1))


def _unscaled_noise(dataset: xr.Dataset) -> xr.Dataset:
    fixed = dataset.scaled_error.sel(noise=["fixed"]).assign_coords(noise=["none"])
    return dataset.drop_vars("scaled_error").drop_dims("noise").assign(scaled_error=fixed)


Z15c = _claim(
    id="Z15c",
    sentence="Weights scaled by c change nothing but the unit: the noiseless error divided by c² is the same for c = "
    "1/3, 1/2, 1, 2, 3, because LSA is linear in the labels.",
    confidence="D",
    kind="identity",
    experiment="zhang-task-shift",
    margin=1e-10,
    reason="Exact on the same prompts in float64; rounding is near 1e-16.",
    check=_scale_dependence,
    control=_unscaled_noise,
    control_sentence="label noise that does not scale with the weights",
)

# --- Z16: query shift ---------------------------------------------------------------------------------------------


def _query_law_ignored(dataset: xr.Dataset) -> xr.Dataset:
    trained = dataset.risk_theory.sel(query="as in training", drop=True)
    return dataset.assign(risk_theory=trained.broadcast_like(dataset.risk))


Z16a = _claim(
    id="Z16a",
    sentence="Query shift: for a query with second moment Q the error is tr[Q Γ⁻¹ΣΓ⁻¹]/M + ‖(Γ⁻¹Λ − I)w‖² in the norm of Q.",
    confidence="D",
    kind="formula",
    experiment="zhang-query-shift",
    margin=0.15,
    reason="Relative; s.e. up to 3% in quick. A forgotten Q errs by 30% or more.",
    check=relative_error("risk"),
    control=_query_law_ignored,
    control_sentence="the error of Theorem 4.2, which expects queries as in training",
)


def _long_slope(dataset: xr.Dataset) -> Discrepancy:
    ends = dataset.long_theory.sel(training="matched").isel(length=[0, -1])
    run = np.log(ends.length.values[1] / ends.length.values[0])
    return Discrepancy(abs(np.diff(np.log(ends.values), axis=1)[:, 0] / run + 1))


def _short_training_long(dataset: xr.Dataset) -> xr.Dataset:
    short = dataset.long_theory.sel(training=["short"]).assign_coords(training=["matched"])
    return dataset.drop_dims("training").assign(long_theory=short)


Z16d = _claim(
    id="Z16d",
    sentence="Query shift is tolerated: for a query law independent of the context the error vanishes like 1/M along "
    "N = M, even when all queries lie on one line.",
    confidence="V",
    kind="rate",
    experiment="zhang-query-shift",
    margin=0.05,
    reason="On the log-log slope of the formula between N = M = 10⁴ and 10⁶; the bias adds a term in 1/N².",
    check=_long_slope,
    control=_short_training_long,
    control_sentence="training at N = 10 while M grows: the bias stays",
)


def _isotropic_power(dataset: xr.Dataset) -> Discrepancy:
    isotropic = dataset.power.sel(query="orthogonal", kappa=1.0).values
    return Discrepancy(np.append(dataset.power.sel(query="invariant").values, isotropic))


def _anisotropic(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(power=dataset.power.where(dataset.kappa > 1, dataset.power.sel(kappa=20.0)))


Z16b = _claim(
    id="Z16b",
    sentence="A query orthogonal to every context input is predicted as exactly 0 when Λ ∝ I, or when the context "
    "spans an invariant subspace of Λ.",
    confidence="D",
    kind="identity",
    experiment="zhang-orthogonal-query",
    margin=1e-20,
    reason="Mean square of the prediction over that of the label; squared rounding is near 1e-30.",
    check=_isotropic_power,
    control=_anisotropic,
    control_sentence="condition number 20 in place of 1",
)


def _any_power(dataset: xr.Dataset) -> Discrepancy:
    orthogonal = dataset.sel(query="orthogonal")
    return Discrepancy(orthogonal.power, 2 * orthogonal.power_se)


def _ordinary_query(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.sel(query=["ordinary"]).assign_coords(query=["orthogonal"])


Z16c = _claim(
    id="Z16c",
    sentence="A query orthogonal to every context input is predicted as 0 whatever Λ is (the paper's sentence, read "
    "without a condition on Λ).",
    confidence="V",
    kind="identity",
    experiment="zhang-orthogonal-query",
    margin=0.01,
    reason="Mean square of the prediction over that of the label; 1% would pass as 0, condition number 5 gives far more.",
    check=_any_power,
    control=_ordinary_query,
    control_sentence="an ordinary query",
    recorded=FAILS,
)

# --- Z17: covariate shift -----------------------------------------------------------------------------------------


def _unshifted_query(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(risk_theory=dataset.unshifted_query_theory)


Z17a = _claim(
    id="Z17a",
    sentence="Covariate shift: for test covariance Λ′ the error is tr[Λ′ Γ⁻¹Σ′Γ⁻¹]/M + ‖(Γ⁻¹Λ′ − I)w‖² in the norm of "
    "Λ′, with Γ still that of training.",
    confidence="D",
    kind="formula",
    experiment="zhang-covariate-shift",
    margin=0.15,
    reason="Relative; s.e. up to 3% in quick. A query left unshifted errs by the factor c².",
    check=relative_error("risk"),
    control=_unshifted_query,
    control_sentence="the context shifted, the query not",
)


def _distance_from_limit(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(abs(dataset.long_theory.isel(length=-1) / dataset.scaling_limit - 1))


def _covariance_scaled_by_c(dataset: xr.Dataset) -> xr.Dataset:
    c = dataset.c
    return dataset.assign(scaling_limit=dataset.scaling_limit * c * (c - 1) ** 2 / (c**2 * (c**2 - 1) ** 2))


Z17b = _claim(
    id="Z17b",
    sentence="Inputs scaled by c: the error tends to c²(c² − 1)²‖w‖² in the norm of Λ as N, M → ∞, the error of the "
    "paper's limit c²wᵀx_query of the prediction.",
    confidence="D",
    kind="convergence",
    experiment="zhang-covariate-shift",
    margin=1e-3,
    reason="Relative, by the formula at N = M = 10⁶; the corrections are of order d·κ/N.",
    check=_distance_from_limit,
    control=_covariance_scaled_by_c,
    control_sentence="c as the scale of the covariance, as in Figure 1 of the paper",
)


def _ols_over_zero(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(dataset.ols / dataset.zero)


def _lsa_for_ols(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(ols=dataset.risk.isel(N=-1))


Z17c = _claim(
    id="Z17c",
    sentence="Least squares is unaffected by a covariate shift: with M ≥ d noiseless examples its error is 0 whatever "
    "the test covariance.",
    confidence="V",
    kind="identity",
    experiment="zhang-covariate-shift",
    margin=1e-15,
    reason="Error over that of predicting 0; squared rounding times a squared condition number of the sample.",
    check=_ols_over_zero,
    control=_lsa_for_ols,
    control_sentence="LSA in the place of least squares",
)


def _zero_over_risk(dataset: xr.Dataset) -> Discrepancy:
    stretched = dataset.sel(test=_stretched(dataset))
    ratio = stretched.zero / stretched.risk
    return Discrepancy(ratio, 2 * ratio * stretched.risk_se / stretched.risk)


def _stretched(dataset: xr.Dataset) -> list[str]:
    return [f"inputs × {c:g}" for c in dataset.c.values if c**2 > 2]


def _shrunk_inputs(dataset: xr.Dataset) -> xr.Dataset:
    names = _stretched(dataset)
    return dataset.sel(test=["inputs × 0.5"] * len(names)).assign_coords(test=names)


Z17j = _claim(
    id="Z17j",
    sentence="LSA is not unaffected: with inputs scaled by 2 or 3 it does worse than predicting 0, at least twice as "
    "bad at every N and M tried.",
    confidence="D",
    kind="order",
    experiment="zhang-covariate-shift",
    margin=0.5,
    reason="Error of predicting 0 over that of LSA; its limit is 1/(c² − 1)², that is 1/9 and 1/64.",
    check=_zero_over_risk,
    control=_shrunk_inputs,
    control_sentence="inputs scaled by 1/2, where LSA still beats 0",
)
