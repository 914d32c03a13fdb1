"""Claims L3 to L6e: section 3.2, data, tasks, Condition 3.2, and the error over prompt length."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Discrepancy, claims_of, distance_over_seeds, over_seeds
from icl_lib.companion.controls import put


def _beyond_missing(dataset: xr.Dataset, name: str) -> Discrepancy:
    """Return what covered sets lose beyond the probability that the query's pattern is missing."""
    return over_seeds(dataset[name].where(dataset.covers == 1, drop=True) - dataset.missing)


def _swap_covers(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(covers=1 - dataset.covers)


claim = claims_of("li-task-sets")


@claim("M", "identity", margin=0, control=put(miscount="miscount_one_sided"))
def L3(dataset):
    """Condition 3.2 is met by r cyclic shifts: each of the M₁ patterns has each label in exactly r of the r·M₁ tasks.

    Margin: Counting whole numbers.
    Control: one-sided tasks, where each pattern has one label
    """
    return Discrepancy(dataset.miscount)


claim = claims_of("li-unseen-tasks")


@claim("S", "bound", margin=0.01, control=_swap_covers)
def L4(dataset):
    """Trained on tasks that meet Condition 3.2, models err on unseen tasks at most 0.01, already for |T_tr| = M₁.

    Margin: Beyond the probability of a missing pattern. One prompt in a hundred; a prototype had 0.003 at most.
    Control: the task sets that violate the condition
    """
    return _beyond_missing(dataset, "error")


@claim("S", "bound", margin=0.05, control=_swap_covers)
def L4b(dataset):
    """The hinge loss, which the theorem bounds, is at most 0.05 on unseen tasks under Condition 3.2.

    Margin: Beyond the probability of a missing pattern; 1 before training. A prototype had 0.010 at most after 1000
    steps.
    Control: the task sets that violate the condition
    """
    return _beyond_missing(dataset, "hinge")


@claim("D", "bound", margin=0.8, control=put(error="error_trained"))
def L5(dataset):
    """The sets of tasks tested here that violate Condition 3.2 leave an error of 0.2 or more on unseen tasks.

    Margin: On the share of right answers, at most 0.8, for sets with a predicted error of 0.25 or more.
    Control: the same models on their training tasks
    """
    return over_seeds(1 - dataset.error.where((dataset.covers == 0) & (dataset.error_theory >= 0.25), drop=True))


@claim("D", "formula", margin=0.25, control=put(error="error_start"))
def L5c(dataset):
    """Uncovered sets err as predicted: the remembered sign on patterns with one label, the start's vote on others.

    Margin: Relative, all uncovered sets. Never-queried patterns vary by a tenth from model to model, and where two
    memories are about equal the error dips by a seventh.
    Moved: sets with a memory between 0 and 2 were left out, a cut without a derivation.
    Control: the models before training
    """
    sets = dataset.where(dataset.covers == 0, drop=True)
    mean = over_seeds(sets.error)
    return Discrepancy(abs(mean.value / sets.error_theory - 1), mean.two_se / sets.error_theory)


claim = claims_of("li-first-push")


@claim("D", "formula", margin=0.35, control=put(miss="miss_swapped"))
def L5f(dataset):
    """The trained W_KᵀW_Q is the first push grown for one effective time, whether or not Condition 3.2 is met.

    Margin: Relative distance of all M₁(M₁+1) entries, one fitted number a model. The push is exact only at uniform
    attention. Three shifts are left out: the push of all tasks comes as near to them (0.19) as their own (0.21).
    Moved: three shifts were judged as well, where the check tells nothing.
    Control: the push of another set of tasks, with its own number
    """
    return over_seeds(dataset.miss.sel(set=[name for name in dataset.set.values if not name.startswith("cyclic 3")]))


claim = claims_of("li-two-memories")


@claim("D", "formula", margin=0.1, control=put(value_error="value_error_start"))
def L5h(dataset):
    """After one-sided training the values themselves contradict a label they never saw exactly when β² > M₁|q|².

    Margin: Difference from a step of height 1. Ratios β²/(M₁|q|²) within a factor 1.35 of 1 are left out: neurons
    differ.
    Control: the models before training
    """
    # The value function misreads a contrary context exactly when value_memory > 1; near 1 nothing is said.
    clear = dataset.where(abs(np.log(dataset.value_memory)) > 0.3, drop=True)
    return distance_over_seeds(clear.value_error, (clear.value_memory > 1))


# --- L6: the error over prompt length --------------------------------------------------------------------------------

RESOLVED = 0.02
"""Cells whose predicted error is smaller are not judged: too few errors to count."""


def _judged(dataset: xr.Dataset) -> xr.Dataset:
    """Keep the models trained on every pair of patterns, and the cells with enough errors."""
    stacked = dataset.isel(tasks=np.flatnonzero(dataset.all_pairs.values)).stack(cell=("alpha", "l"))
    return stacked.isel(cell=np.flatnonzero(stacked.error_theory.values >= RESOLVED))


claim = claims_of("li-floor")


@claim("D", "formula", margin=0.15, control=put(error="error_start"))
def L6(dataset):
    """A trained model errs as the vote law says: 2⁻ˡ Σ C(l,k)(1−α′)^(l−k) over k > l/2, half the term k = l/2.

    Margin: Relative, where the law is 0.02 or more. Other patterns are attended alike to some per cent only.
    Control: the models before training
    """
    cells = _judged(dataset)
    mean = over_seeds(cells.error)
    return Discrepancy(abs(mean.value / cells.error_theory - 1), mean.two_se / cells.error_theory)


@claim("D", "bound", margin=0.95, control=lambda dataset: dataset.assign(best=dataset.error.isel(tasks=0).mean("seed")))
def L6c(dataset):
    """Half of that is no floor for every predictor: one that knows the law of tasks errs less than (1−α′/2)ˡ/2.

    Margin: Error over half the missing probability; exactly (1−α′)/(1−α′/2) at l = 1, which is 0.89 for α′ = 0.2.
    Control: the trained model
    """
    cells = _judged(dataset)
    return Discrepancy(cells.best / (cells.missing / 2), 2 * cells.best_se / (cells.missing / 2))


@claim("S", "bound", margin=0.002, control=put(error_guaranteed="error"))
def L6e(dataset):
    """If at least a share α′/2 of the contexts has the query's pattern, as on the slides, the error is at most 0.002.

    Margin: At every length, from one context on: the share guarantees at least one, so the pattern is never missing.
    Independent contexts err in 0.02 to 0.5 of the same prompts.
    Moved: from l ≥ 2/α′, for which there was no reason.
    Control: independent contexts, which guarantee nothing
    """
    return over_seeds(dataset.error_guaranteed)
