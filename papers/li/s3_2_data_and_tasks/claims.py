"""Claims L3 to L6e: section 3.2, data, tasks, Condition 3.2, and the error over prompt length."""

import numpy as np
import xarray as xr

from icl_lib.companion import Discrepancy, all_known, claims_of, distance_over_seeds, over_seeds, put

RESOLVED = 0.02
"""Errors by the law from which on they are counted, as in li-floor."""


def _beyond_missing(dataset: xr.Dataset, name: str) -> Discrepancy:
    """Return what covered sets lose beyond the probability that the query's pattern is missing."""
    return over_seeds(dataset[name].where(dataset.covers == 1, drop=True) - dataset.missing)


def _swap_covers(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(covers=1 - dataset.covers)


claim = claims_of("li-task-sets")


@claim("D", "identity", margin=0, control=put(miscount="miscount_one_sided"))
def L3(dataset):
    """Condition 3.2, as remembered, is met by $r$ cyclic shifts: each of the $M₁$ patterns has each label in exactly $r$ of the
    $r·M₁$ tasks.

    Margin: Counting whole numbers.
    Slack: a count is met or it is not; one task too many fails.
    Control: one-sided tasks, where each pattern has one label
    """
    return Discrepancy(dataset.miscount)


claim = claims_of("li-unseen-tasks")


@claim("S", "bound", margin=0.01, control=_swap_covers)
def L4(dataset):
    """Trained on tasks that meet Condition 3.2, models err on unseen tasks at most 0.01, already for $|T_tr| = M₁$.

    Margin: Beyond the probability of a missing pattern. One prompt in a hundred; a trial run had 0.003 at most.
    Control: the task sets that violate the condition
    """
    return _beyond_missing(dataset, "error")


@claim("S", "bound", part_of="L4", margin=0.05, control=_swap_covers)
def L4b(dataset):
    """The hinge loss, which the theorem bounds, is at most 0.05 on unseen tasks under Condition 3.2.

    Margin: Beyond the probability of a missing pattern; 1 before training. A trial run had 0.010 at most after 1000
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
    return over_seeds(1 - dataset.error.where((dataset.covers == 0) & ~(dataset.error_theory < 0.25), drop=True))


def _from_prediction(sets: xr.Dataset) -> Discrepancy:
    mean = over_seeds(sets.error)
    return Discrepancy(abs(mean.value / sets.error_theory - 1), mean.two_se / sets.error_theory)


@claim("D", "approximation", margin=0.08, quick_margin=0.25, control=put(error_theory="error_all"))
def L5c(dataset):
    """Uncovered sets err as predicted: the remembered sign on patterns with one label, the start's vote on others.

    Margin: Relative, all uncovered sets. In quick training is short, and where two memories are about equal the error dips
    by a seventh.
    Moved: from 0.25 in both profiles; sets with a memory between 0 and 2 were left out, a cut without a derivation.
    Neglects: what the neurons remember of other patterns while a pattern that was never queried is voted on: 7% for the
    single task, which leaves four such patterns beside two memories, and less than 0.1% elsewhere (L5i).
    Control: the error over all tasks for that over unseen ones
    """
    return _from_prediction(dataset.where(dataset.covers == 0, drop=True))


@claim("D", "approximation", margin=0.01, quick_margin=0.15, control=put(error_theory="error_all"))
def L5i(dataset):
    """The prediction is exact to 1% where every pattern is queried or none has a memory: one-sided tasks, half of the patterns.

    Margin: Relative, $β = 1$; a draw of 400,000 prompts leaves 0.2%. Quick has 12,000 prompts and short training.
    Neglects: what training has not yet settled: the error of half the patterns is 0.27 after 160 steps (quick) and 0.257
    after 1000 (full), as predicted.
    Control: the error over all tasks for that over unseen ones
    """
    alone = dataset["set"].str.startswith("one-sided, β=1,") | dataset["set"].str.startswith("first half, β=1,")
    return _from_prediction(dataset.isel({"set": np.flatnonzero(alone)}))


claim = claims_of("li-first-push")


@claim("D", "approximation", margin=0.2, quick_margin=0.35, control=put(miss="miss_swapped"))
def L5f(dataset):
    """The trained $W_KᵀW_Q$ is the first push grown for one effective time, for every set of tasks tried, covering or not,
    but three cyclic shifts.

    Margin: Relative distance of all $M₁(M₁+1)$ entries, one fitted number a model. The push is exact only at uniform
    attention. Three shifts tell nothing: the push of all tasks comes as near to them (0.19) as their own (0.21).
    Moved: from 0.35 in both profiles; three shifts were judged as well, where the check tells nothing.
    Neglects: the change of the push with attention, once it is no longer uniform, and the noise of the batches. While it
    is uniform each mode of the scores grows as the push says; in setting A the earlier, the nearer (L14f).
    Control: the push of another set of tasks, with its own number
    """
    return over_seeds(dataset.miss.sel(set=[name for name in dataset.set.values if not name.startswith("cyclic 3")]))


claim = claims_of("li-two-memories")


@claim("D", "approximation", margin=0.1, control=put(value_memory="value_memory_double"))
def L5h(dataset):
    """After one-sided training the values themselves contradict a label they never saw when $β²$ is above $M₁|q|²$ by a factor
    of 1.35 or more, and not when it is as far below.

    Margin: Difference from a step of height 1, read on 6 patterns: one wrong pattern makes 0.17.
    Neglects: the differences between neurons, which smooth the step: ratios $β²/(M₁|q|²)$ within a factor 1.35 of 1 are left
    out. At 1.04 the models err on 0.33 to 0.83 of the patterns, at 0.84 on 0.02 in the mean.
    Control: twice the ratio, as if each pattern were queried in every task with its one label
    """
    # The value function misreads a contrary context exactly when value_memory > 1; near 1 nothing is said.
    clear = dataset.where(~(abs(np.log(dataset.value_step)) <= np.log(1.35)), drop=True)
    return distance_over_seeds(clear.value_error, (clear.value_memory > 1) + all_known(clear.value_memory))


# --- L6: the error over prompt length --------------------------------------------------------------------------------


def _judged(dataset: xr.Dataset) -> xr.Dataset:
    """Keep the models trained on every pair of patterns, and the cells with enough errors."""
    stacked = dataset.isel(tasks=np.flatnonzero(dataset.all_pairs.values)).stack(cell=("alpha", "l"))
    return stacked.isel(cell=np.flatnonzero(~(stacked.error_theory.values < RESOLVED)))


claim = claims_of("li-floor")


@claim("D", "formula", of="error_counted", margin=0.065, quick_margin=0.2, near=("l − 1 for l", "the term k = l/2 in full"))
def L6(dataset):
    """Trained on all tasks a model errs as the vote law says: $2⁻ˡ ∑ C(l,k)(1−α′)^(l−k)$ over $k > l/2$, half the term
    $k = l/2$.

    Margin: Relative, where the law is 0.02 or more, all models together: 300,000 prompts a cell in full, 20,000 in quick.
    Moved: from 0.15 in both profiles for models of three shifts too, which are 15 standard errors off (L6f).
    """


@claim("D", "approximation", margin=0.06, quick_margin=0.15, control=put(error_theory="error_shorter"))
def L6f(dataset):
    """Trained on three cyclic shifts, which pair opposite patterns twice as often as others, it errs as the vote law says.

    Margin: Relative, where the law is 0.02 or more.
    Moved: from 0.15 in both profiles, where it was judged as a formula with L6.
    Neglects: the unequal attention among the patterns that are not the query's; up to 4.5% (full) at even lengths, where
    ties are broken by it, and less than 0.5% at $l = 1$ and 3. Trained on all tasks they are alike, and the law is exact (L6).
    Control: $l − 1$ for $l$
    """
    cells = _judged(dataset.sel(tasks=["cyclic 3"]))
    mean = over_seeds(cells.error)
    return Discrepancy(abs(mean.value / cells.error_theory - 1), mean.two_se / cells.error_theory)


@claim("D", "bound", margin=0.95, control=lambda dataset: dataset.assign(best=dataset.error.isel(tasks=0).mean("seed")))
def L6c(dataset):
    """Half the probability of a missing pattern is no floor for every predictor: one that knows the distribution of tasks errs
    less than $(1−α′/2)ˡ/2$.

    Margin: Error over half the missing probability; exactly $(1−α′)/(1−α′/2)$ at $l = 1$, which is 0.89 for $α′ = 0.2$.
    Control: the trained model
    """
    cells = _judged(dataset)
    ratio = cells.best / (cells.missing / 2) + all_known(cells.error_theory)
    return Discrepancy(ratio, 2 * cells.best_se / (cells.missing / 2))


@claim("D", "bound", margin=0.002, control=put(error_guaranteed="error"))
def L6e(dataset):
    """If at least a share $α′/2$ of the contexts has the query's pattern, as on the slides, the error is at most 0.002.

    Margin: At every length, from one context on: the share guarantees at least one, so the pattern is never missing.
    Over all prompts of the same draw, with independent contexts, models err on up to half.
    Number: 0-1 error.
    Moved: from $l ≥ 2/α′$, for which there was no reason.
    Slack: with independent contexts the same models err on up to a half; the bound only says that such errors are gone.
    Control: independent contexts, which guarantee nothing
    """
    return over_seeds(dataset.error_guaranteed)
