"""Claims ZF1 to ZF5a, ZF6 to ZF8: section 4.3 and appendix E, the curves of Figure 1. Errors are per dimension.

The thresholds of ZF1, ZF2, ZF3, ZF5a and ZF6 were fixed for models of this size before any was trained, those of ZF1b, ZF4,
ZF7 and ZF8 when one had been seen (fixed, N = 10), that of ZF7b when three had.
"""

import functools

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy
from papers.dherin.checks import exchanged
from papers.zhang.s4_3_gpt2.cells import ERRORS, TRAINING_LAWS, after, at_N, mean_over, over_jump, own_law, ratio

_claim = functools.partial(Claim, paper="zhang", section="4.3", experiment="zhang-gpt2")


# --- at the training length -----------------------------------------------------------------------------------------


def _near_least_squares(dataset: xr.Dataset) -> Discrepancy:
    found = own_law(at_N(dataset[[*ERRORS, "ols"]]))
    return Discrepancy(found.risk - found.ols, 2 * found.risk_se)


ZF1 = _claim(
    id="ZF1",
    sentence="On its own training law and at its own length, M = N, every model is within 0.1 of least squares, "
    "which has error 0.",
    confidence="D",
    kind="bound",
    margin=0.1,
    reason="Error per dimension less that of least squares. Predicting 0 has 1. At the paper's scale 0.01 would be asked.",
    check=_near_least_squares,
    control=after(3),
    control_sentence="the errors after 3 examples, fewer than d",
)


def _over_linear(dataset: xr.Dataset) -> Discrepancy:
    found = own_law(at_N(dataset[[*ERRORS, "lsa"]]))
    return Discrepancy(found.risk / found.lsa, 2 * found.risk_se / found.lsa)


ZF1b = _claim(
    id="ZF1b",
    sentence="There every model has at most half the error of linear self-attention trained on the same law and length.",
    confidence="D",
    kind="bound",
    margin=0.5,
    reason="Ratio to the exact error of Theorems 4.1 and 4.5. Just below 1 would do for “better”; half leaves no doubt.",
    check=_over_linear,
    control=after(1),
    control_sentence="the errors after one example",
)


def _fixed_over_zero(dataset: xr.Dataset, test: str) -> xr.Dataset:
    found = at_N(dataset[[*ERRORS]]).sel(trained="fixed", test=test, drop=True)
    return found / dataset.zero.sel(test=test, drop=True)


def _does_well(dataset: xr.Dataset) -> Discrepancy:
    found = _fixed_over_zero(dataset, "c = 1")
    return Discrepancy(found.risk, 2 * found.risk_se)


ZF2a = _claim(
    id="ZF2a",
    sentence="Models trained on the fixed covariance do well on random covariances at c = 1: error below 0.3 of that of "
    "predicting 0, at M = N.",
    confidence="V",
    kind="bound",
    margin=0.3,
    reason="The paper says it in words; the threshold is ours. Linear self-attention in its place is far above 1.",
    check=_does_well,
    control=after(1),
    control_sentence="the errors after one example",
)

ZF2b = _claim(
    id="ZF2b",
    sentence="Models trained on the fixed covariance fail at c = 9: error over that of predicting 0 is more than 3 times "
    "what it is at c = 1, at M = N.",
    confidence="V",
    kind="order",
    margin=1.0,
    reason="3 times the relative error at c = 1 over that at c = 9. The paper says fail; the factor is ours.",
    check=lambda dataset: ratio(_fixed_over_zero(dataset, "c = 1"), _fixed_over_zero(dataset, "c = 9"), 3.0),
    control=exchanged("test", "c = 1", "c = 9"),
    control_sentence="c = 1 and c = 9 exchanged",
)


def _gain(dataset: xr.Dataset) -> Discrepancy:
    cells = dataset.sel(test=["c = 4", "c = 9"])
    return Discrepancy(*xr.broadcast(-cells.gain, cells.gain - cells.gain_lower))


def _models_exchanged(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(gain=-dataset.gain, gain_lower=-dataset.gain_upper, gain_upper=-dataset.gain_lower)


ZF3 = _claim(
    id="ZF3",
    sentence="Models trained on random covariances are better than those trained on the fixed one at c = 4 and 9, for "
    "every N, at M = N.",
    confidence="V",
    kind="order",
    margin=0.0,
    reason="Paired difference on the same prompts: the 90% interval excludes 0, resampling prompts and resampling covariances.",
    check=_gain,
    control=_models_exchanged,
    control_sentence="the two trainings exchanged",
)


def _above_least_squares(dataset: xr.Dataset) -> Discrepancy:
    cell, zero = dataset.sel(trained="random", test="c = 9"), dataset.zero.sel(test="c = 9")
    excess = (cell.risk - cell.ols) / zero
    return Discrepancy(0.01 - at_N(excess), 2 * at_N(cell.risk_se) / zero)


ZF4 = _claim(
    id="ZF4",
    sentence="Models trained on random covariances stay above least squares at c = 9, M = N: by 1% of the label variance or "
    "more.",
    confidence="V",
    kind="bound",
    margin=0.0,
    reason="0.01 less the excess over that of predicting 0. More than 0 alone would say nothing: a squared error is positive.",
    check=_above_least_squares,
    control=lambda dataset: dataset.assign(risk=dataset.ols.broadcast_like(dataset.risk), risk_se=0 * dataset.risk_se),
    control_sentence="least squares in the place of the models",
)


def _below_limit(dataset: xr.Dataset) -> Discrepancy:
    found = at_N(dataset[[*ERRORS]]).sel(trained="random", test="c = 1")
    return Discrepancy(found.risk, 2 * found.risk_se)


ZF6 = _claim(
    id="ZF6",
    sentence="Under random covariances, c = 1 and M = N, models trained on them are below 1/3, the error per dimension that "
    "linear self-attention keeps as N and M grow without bound.",
    confidence="V",
    kind="bound",
    margin=1 / 3,
    reason="The limit of (4.13) for Exp(1) variances, 1/3 per dimension.",
    check=_below_limit,
    control=after(1),
    control_sentence="the errors after one example",
)


# --- beyond the training length -------------------------------------------------------------------------------------


def _risen(dataset: xr.Dataset) -> Discrepancy:
    return over_jump(dataset.sel(test=list(TRAINING_LAWS.values())), 2.0)


def _below(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the jump replaced by the error as far below N over that at N."""
    near = (dataset.M < dataset.N) & (dataset.M >= 0.8 * dataset.N)
    below = dataset.risk.where(near).mean("M") / at_N(dataset.risk)
    return dataset.assign(jump=below, jump_se=dataset.jump_se / dataset.jump * below)


ZF5a = _claim(
    id="ZF5a",
    sentence="The error jumps where M exceeds N: just above N it is more than twice that at N, for both trainings, every N, "
    "on covariance I and on random covariances at c = 1.",
    confidence="V",
    kind="order",
    margin=1.0,
    reason="2 times the error at N over the mean error for N < M ≤ 1.2 N. The paper shows a spike; the factor is ours.",
    check=_risen,
    control=_below,
    control_sentence="the lengths just below N in their place",
)


def _larger_N(dataset: xr.Dataset) -> Discrepancy:
    found = mean_over(dataset[[*ERRORS]], dataset.M >= 1)
    return ratio(found.isel(N=slice(1, None)).drop_vars("N"), found.isel(N=slice(-1)).drop_vars("N"))


ZF7 = _claim(
    id="ZF7",
    sentence="Larger N is better, read over all lengths: averaged over M = 1 to 40 the error falls from N = 10 to 15 to 20, "
    "for both trainings and on all four test laws.",
    confidence="V",
    kind="order",
    margin=1.0,
    reason="Error over that of the next smaller N. How the paper averages, if it does, is not known.",
    check=_larger_N,
    recorded=FAILS,
    control=lambda dataset: dataset.isel(N=slice(None, None, -1)),
    control_sentence="the lengths in reverse",
)


ZF7b = _claim(
    id="ZF7b",
    sentence="Larger N is better within reach: at M = 10, a length on which all were trained, the model of N = 20 is better "
    "than that of N = 10, each on its training law.",
    confidence="D",
    kind="order",
    margin=1.0,
    reason="Error of N = 20 over that of N = 10, on the same prompts. Written after a look at the random models.",
    check=lambda dataset: Discrepancy(own_law(dataset.reach), 2 * own_law(dataset.reach_se)),
    control=lambda dataset: dataset.assign(reach=1 / dataset.reach, reach_se=dataset.reach_se / dataset.reach**2),
    control_sentence="the two models exchanged",
)


def _smaller_jump(dataset: xr.Dataset) -> Discrepancy:
    """Return the jump at larger scales over that at c = 1."""
    large, one = ({"test": test} for test in (["c = 4", "c = 9"], "c = 1"))
    value, relative = dataset.jump.sel(large) / dataset.jump.sel(one), dataset.jump_se / dataset.jump
    return Discrepancy(value, 2 * value * np.hypot(relative.sel(large), relative.sel(one)))


ZF8 = _claim(
    id="ZF8",
    sentence="The jump above N is smaller when the test covariance is larger: the error just above N over that at N is "
    "smaller at c = 4 and c = 9 than at c = 1, for all models.",
    confidence="V",
    kind="order",
    margin=1.0,
    reason="The ratio at c = 4 and 9 over that at c = 1. That the paper means the ratio, and not the height, is our reading.",
    check=_smaller_jump,
    control=exchanged("test", "c = 1", "c = 9"),
    control_sentence="c = 1 and c = 9 exchanged",
)
