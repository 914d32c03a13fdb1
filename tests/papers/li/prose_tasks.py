"""What the page on data and tasks says of the published results."""

import numpy as np

from tests.papers.prose import says

PAGE = "li_3_2_data_and_tasks"
RESOLVED = 0.02
"""The law is judged where it predicts at least this."""
BOTH, SIDED, SINGLE = (f"{name}, β=1, |q|=1" for name in ("both directions", "one-sided", "single"))


def over_the_law(d, tasks):
    """Return the error over the vote law less 1, mean over networks, by share and length."""
    return (d.error.sel(tasks=tasks).mean("seed") / d.error_theory - 1).where(d.error_theory >= RESOLVED)


@says(
    PAGE,
    "this is the difference between 6 tasks and 18: the share asks for 13.4 tasks, and three shifts are the fewest that have "
    "as many",
    "li-task-sets",
)
def two_requirements(d):
    d = d.sel(M1=6)
    return 6 * d.shifts_count, 6 * d.shifts_share, d.tasks / 5**0.5, bool(d.shifts_share == 3)


@says(PAGE, "Every model is right on the tasks it was trained on", "li-unseen-tasks")
def right_on_trained_tasks(d):
    return bool(d.error_trained.max() < 0.001)


@says(
    PAGE,
    "In one-sided sets, as in the set of both directions, each pattern is paired with one other, and yet the one-sided models "
    "err in about half of the unseen cases.",
    "li-unseen-tasks",
)
def same_pairs(d):
    error = d.error.mean("seed")
    return bool(0.45 < error.sel(set=SIDED) < 0.6), bool(error.sel(set=BOTH) < 0.01)


@says(
    PAGE,
    "pairs that were never trained together are *attracted* at distance two. And for every balanced set the columns of $A$ "
    r"keep the sum $\delta^2$",
    "li-first-push",
)
def what_grows(d):
    form = d.form.isel(row=slice(6))
    cycle, two = form.sel(set=["cyclic 1, β=2", "cyclic 1, β=1"]).values, [(k, (k + h) % 6) for k in range(6) for h in (2, 4)]
    attracted = all(one[pair] > 0 for one in cycle for pair in two)
    balanced = [not name.startswith(("one-sided", "single")) for name in d.set.values]
    return attracted, bool((abs(form.isel(set=np.flatnonzero(balanced)).sum("row") / 0.04 - 1) < 0.1).all())


@says(
    PAGE,
    "On the left the model attends to the query's pattern almost as a covered model does, and still gives the remembered "
    "answer.",
    "li-two-memories",
    "li-unseen-tasks",
)
def attends_and_remembers(d, covered):
    left = d.isel(ratio=0).mean("seed")
    near = left["mass"] > 0.95 * covered["mass"].sel(set="cyclic 1, β=3, |q|=1").mean()
    return bool(near), bool(left.value_error > 0.99)


@says(PAGE, "and follows the law to the resolution of the data", "li-floor")
def all_tasks_follow_the_law(d):
    off = (d.error_counted - d.error_counted_theory) / d.error_counted_se
    return bool((off**2).mean() < 1.5), bool(abs(off).max() < 3.5)


@says(
    PAGE,
    "After three shifts the error is in the full profile up to 4.5% larger at even lengths, and within 0.5% of the law at "
    "$l=1$ and 3.",
    "li-floor",
)
def three_shifts(d):
    off = over_the_law(d, "cyclic 3")
    return off.sel(l=d.l % 2 == 0).max(), 0.005, 1, 3, bool(abs(off.sel(l=[1, 3])).max() < 0.005)


@says(
    PAGE,
    "the partners of unseen tasks are repelled less than half as much as the pairs at shift three, which are trained twice",
    "li-first-push",
)
def partners_of_unseen_tasks(d):
    form = d.form.sel(set="cyclic 3, β=2").values
    partners, opposite = (np.mean([form[k, (k + h) % 6] for k in range(6) for h in each]) for each in ((1, 2, 4, 5), (3,)))
    return bool(partners < 0), bool(partners / opposite < 0.5)


@says(
    PAGE,
    "A single cycle leaves the law on long prompts. The query's pattern is present, but a partner that is attracted can "
    "outnumber it.",
    "li-floor",
)
def a_single_cycle(d):
    at = d.sel(tasks="cyclic 1", alpha=d.alpha >= 0.6, l=20)
    error = at.error.mean("seed")
    return bool((error > 2 * at.error_theory).all()), bool((error > at.missing).all())


@says(PAGE, "the measured error all but vanishes at every length, from one context on (L6e)", "li-floor")
def with_a_guaranteed_share(d):
    return bool(d.error_guaranteed.mean("seed").max() < 1e-4 and d.l[0] == 1)


@says(
    PAGE,
    r"Sets that meet the condition give small error on unseen tasks, down to $|\mathcal T_{tr}|=M_1$.",
    "li-unseen-tasks",
)
def covering_sets(d):
    covering = d.isel(set=np.flatnonzero(d.covers))
    return bool(covering.error.mean("seed").max() < 0.01 and covering.trained_tasks.min() == 6)


@says(PAGE, "In the full profile it misses by 4 to 21%, most where pairs are trained unequally often.", "li-first-push")
def grown_push(d):
    miss = d.miss.mean("seed")
    return 100 * miss.min(), miss.max(), miss.idxmax().item().startswith("cyclic 3")


@says(PAGE, "comes as close to the map of three shifts (0.19) as their own push (0.21)", "li-first-push")
def push_of_all_tasks(d):
    one = d.sel(set="cyclic 3, β=2").mean("seed")
    return one.miss_swapped, one.miss


@says(PAGE, "near equality both kinds of memory mix and the error dips", "li-two-memories")
def memories_mix(d):
    mean = d.mean("seed")
    between = mean.sel(ratio=(d.ratio > d.key_threshold) & (d.ratio <= d.value_threshold))
    lowest = mean.error.idxmin()
    mixed = ((between.value_error > 0.1) & (between.value_error < 0.9)).any()
    return bool(mixed), bool(0.4 <= lowest <= 0.5 and mean.error.min() < 0.9 * d.error_theory)


@says(PAGE, "give 0.46, and 0.49 is measured in the full profile", "li-unseen-tasks")
def a_single_task(d):
    one = d.sel(set=SINGLE)
    return one.error_theory, one.error.mean()


@says(
    PAGE,
    r"Among the sets with $\beta=1$ that is their largest miss. One-sided sets with two memories of about equal strength miss "
    "more: there the error is in the full profile up to 19% lower than predicted.",
    "li-unseen-tasks",
    "li-two-memories",
)
def the_largest_miss(d, memories):
    off = abs(d.error.mean("seed") - d.error_theory)
    off = off.isel(set=["β=1," in name for name in d.set.values])
    lower = 1 - memories.error.mean("seed") / memories.error_theory
    return 1, bool(off.sel(set=SINGLE) == off.max()), lower.max()


@says(PAGE, "Trained on all tasks the models follow it to the resolution of the data (L6)", "li-floor")
def the_law_of_all_tasks(d):
    return bool(abs((d.error_counted - d.error_counted_theory) / d.error_counted_se).max() < 3.5)


@says(PAGE, "and in the full profile the error is off by up to 4.5% (L6f)", "li-floor")
def three_shifts_off(d):
    return abs(over_the_law(d, "cyclic 3")).max()
