"""Claims ZF1 to ZF5a, ZF6 to ZF8: section 4.3 and appendix E, the curves of Figure 1. Errors are per dimension.

A model is a law and an N; each is trained three times, and the claims are about the mean of the three. The thresholds of ZF1,
ZF2, ZF3, ZF5a and ZF6 were fixed for models of this size before any was trained, those of ZF1b and ZF8
when one had been seen (fixed, N = 10), those of ZF4, ZF7 and ZF7b when all had.
"""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import claims_of
from icl_lib.companion.controls import at, exchanged, replaced
from papers.zhang.s4_3_gpt2.cells import ERRORS, TRAINING_LAWS, after, at_N, mean_over, over_jump, over_runs, own_law, ratio

# --- at the training length -----------------------------------------------------------------------------------------

claim = claims_of("zhang-gpt2")


@claim("D", "bound", margin=0.1, control=after(3))
def ZF1(dataset):
    """On its own training law and at its own length, M = N, every model is within 0.1 of least squares, which has error 0.

    Margin: Error per dimension less that of least squares. Predicting 0 has 1. At the paper's scale 0.01 would be asked.
    Control: the errors after 3 examples, fewer than d
    """
    found = own_law(at_N(dataset[[*ERRORS, "ols"]]))
    return over_runs(found.risk - found.ols, 2 * found.risk_se)


@claim("D", "bound", margin=0.5, control=after(1))
def ZF1b(dataset):
    """There every model has at most half the error of linear self-attention trained on the same law and length.

    Margin: Ratio to the exact error of Theorems 4.1 and 4.5. Just below 1 would do for “better”; half leaves no doubt. Set
    when one model had been seen.
    Control: the errors after one example
    """
    found = own_law(at_N(dataset[[*ERRORS, "lsa"]]))
    return over_runs(found.risk / found.lsa, 2 * found.risk_se / found.lsa)


def _fixed_over_zero(dataset: xr.Dataset, test: str) -> xr.Dataset:
    found = at_N(dataset[[*ERRORS]]).sel(trained="fixed", test=test, drop=True)
    return found / dataset.zero.sel(test=test, drop=True)


@claim("V", "bound", margin=0.3, control=after(1))
def ZF2a(dataset):
    """Models trained on the fixed covariance do well on random covariances at c = 1: error below 0.3 of that of predicting
    0, at M = N.

    Margin: The paper says it in words; the threshold is ours. Linear self-attention in its place is far above 1.
    Control: the errors after one example
    """
    found = _fixed_over_zero(dataset, "c = 1")
    return over_runs(found.risk, 2 * found.risk_se)


@claim("V", "order", margin=1.0, control=replaced("test", "c = 1", "c = 9"))
def ZF2b(dataset):
    """Models trained on the fixed covariance fail at c = 9: error over that of predicting 0 is more than 3 times what it
    is at c = 1, at M = N.

    Margin: 3 times the relative error at c = 1 over that at c = 9. The paper says fail; the factor is ours. Models trained on
    random covariances lose as much at N = 15 and 20: the factor does not set the two trainings apart, ZF3 does.
    Control: c = 1 in the place of c = 9
    """
    return ratio(_fixed_over_zero(dataset, "c = 1"), _fixed_over_zero(dataset, "c = 9"), 3.0)


def _models_exchanged(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(gain=-dataset.gain, gain_lower=-dataset.gain_upper, gain_upper=-dataset.gain_lower)


@claim("V", "order", margin=0.0, control=_models_exchanged)
def ZF3(dataset):
    """Models trained on random covariances are better than those trained on the fixed one at c = 4 and 9, for every N, at M =
    N.

    Margin: Paired difference on the same prompts: the 90% interval excludes 0, resampling prompts and resampling covariances.
    Control: the two trainings exchanged
    """
    cells = dataset.sel(test=["c = 4", "c = 9"])
    return over_runs(*xr.broadcast(-cells.gain, cells.gain - cells.gain_lower))


@claim("V", "order", margin=1.0, control=replaced("test", "c = 1", "c = 9"))
def ZF4(dataset):
    """Models trained on random covariances stay above least squares at c = 9, M = N: relative to predicting 0 their excess is
    more than twice what it is on the training law.

    Margin: 2 times the relative excess at c = 1 over that at c = 9. More than 0 alone would say nothing: it is so on every law.
    The factor was set when all models had been seen (3.6 to 6.4).
    Control: the training law in the place of c = 9
    """
    random = at_N(dataset[[*ERRORS, "ols"]]).sel(trained="random")
    excess = random.assign(risk=random.risk - random.ols)[[*ERRORS]] / dataset.zero
    return ratio(excess.sel(test="c = 1", drop=True), excess.sel(test="c = 9", drop=True), 2.0)


@claim("V", "bound", margin=1 / 3, control=after(1))
def ZF6(dataset):
    """Under random covariances, c = 1 and M = N, models trained on them are below 1/3, the error per dimension that linear
    self-attention keeps as N and M grow without bound.

    Margin: The limit of (4.13) for Exp(1) variances, 1/3 per dimension.
    Control: the errors after one example
    """
    found = at_N(dataset[[*ERRORS]]).sel(trained="random", test="c = 1")
    return over_runs(found.risk, 2 * found.risk_se)


# --- beyond the training length -------------------------------------------------------------------------------------


def _below(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the jump replaced by the error as far below N over that at N."""
    near = (dataset.M < dataset.N) & (dataset.M >= 0.8 * dataset.N)
    below = dataset.risk.where(near).mean("M") / at_N(dataset.risk)
    return dataset.assign(jump=below, jump_se=dataset.jump_se / dataset.jump * below)


@claim("V", "order", margin=1.0, control=_below)
def ZF5a(dataset):
    """The error jumps where M exceeds N: just above N it is more than twice that at N, for both trainings, every N, on
    covariance I and on random covariances at c = 1.

    Margin: 2 times the error at N over the mean error for N < M ≤ 1.2 N. The paper shows a spike; the factor is ours.
    Control: the lengths just below N in their place
    """
    return over_jump(dataset.sel(test=list(TRAINING_LAWS.values())), 2.0)


@claim("D", "order", margin=1.0, control=at(N=slice(2)))
def ZF7(dataset):
    """Once lengths beyond N count, larger N need not be better: averaged over M = 1 to 40 on its training law, the fixed model
    of the largest N errs more than that of the next smaller N.

    Margin: Error of the smaller N over that of the larger. Written when the curves had been seen; how high the error jumps is
    likely to differ from one training to the next.
    Control: the two smallest N
    """
    found = mean_over(dataset[[*ERRORS]], dataset.M >= 1).sel(trained="fixed", test="covariance I")
    return ratio(found.isel(N=-2, drop=True), found.isel(N=-1, drop=True))


def _half_the_examples(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the models of the largest N asked after half the examples."""
    top, bottom = dataset.isel(N=-1), dataset.isel(N=0).sel(M=dataset.N[0])
    reach = top.risk.sel(M=dataset.N[0] // 2) / bottom.risk
    return dataset.assign(reach=reach, reach_se=dataset.reach_se / dataset.reach * reach)


@claim("V", "order", margin=1.0, control=_half_the_examples)
def ZF7b(dataset):
    """Larger N is better, at lengths within reach: at M = 10, on which all were trained, the models of N = 20 are better than
    those of N = 10, for both trainings and on all four test laws.

    Margin: Error of N = 20 over that of N = 10, on the same prompts. The caption says smaller error with larger training
    contexts, but a spike beyond them. Written when the curves had been seen.
    Control: the models of N = 20 after half as many examples
    """
    return over_runs(dataset.reach, 2 * dataset.reach_se)


@claim("V", "order", margin=1.0, control=exchanged("test", "c = 1", "c = 9"))
def ZF8(dataset):
    """The jump above N is smaller when the test covariance is larger: the error just above N over that at N is smaller at c = 4
    and c = 9 than at c = 1, for all models.

    Margin: The ratio at c = 4 and 9 over that at c = 1. That the paper means the ratio, and not the height, is our reading. Set
    when one model had been seen.
    Control: c = 1 and c = 9 exchanged
    """
    # Return the jump at larger scales over that at c = 1.
    large, one = ({"test": test} for test in (["c = 4", "c = 9"], "c = 1"))
    value, relative = dataset.jump.sel(large) / dataset.jump.sel(one), dataset.jump_se / dataset.jump
    return over_runs(value, 2 * value * np.hypot(relative.sel(large), relative.sel(one)))
