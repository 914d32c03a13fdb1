"""What the page on generalization says of the published results."""

import numpy as np

from papers.li.softmax_attention import output_weights
from papers.li.theory.coefficient_sum import mean_gap, mean_losses
from papers.li.theory.prompt_length import label_law, vote_error
from tests.papers.prose import both, says

PAGE = "li_3_3_generalization"
FEW = "β = 1, r = 1"


def at(values, *sums):
    """Return the means over networks at some coefficient sums."""
    return values.mean("seed").sel(S_1=list(sums)).values


@says(PAGE, "markers measured on twelve networks", "li-coefficient-sum")
def networks(d):
    return d.sizes["seed"] == 12


@says(PAGE, "so more of its output rests on the patterns", "li-coefficient-sum")
def rests_on_the_patterns(d):
    ratio = d.ratio.mean("seed")
    return bool(ratio.sel(setting="B") > ratio.sel(setting="A"))


@says(PAGE, "the measured ratio, in the table below the cards, is smaller than either bound", "li-coefficient-sum")
def below_both_bounds(d):
    return bool((d.ratio < np.minimum(d.ratio_theory, 1)).all())


@says(
    PAGE,
    "Theorem 3.4 holds with room in setting A, where sums of 0.9 serve as well; in B the hinge loss there is at the edge of",
    "li-coefficient-sum",
)
def sums_of_a_little_less(d):
    A, B = (d.hinge.sel(setting=name) for name in "AB")
    return 3.4, 0.9, bool(at(A, 0.9, 1, 1.1, 1.3).max() < 0.0004), bool(abs(at(B, 0.9)[0] - 0.0005) < 0.0001)


@says(PAGE, r"That $S_1\ge1$ is needed is not reproduced", "li-coefficient-sum")
def not_needed(d):
    return 1, bool((at(d.error, 0.5) < 0.001).all())


@says(
    PAGE,
    "At fixed norm the measured hinge lies on them or above, most of all in setting B between $S_1=0$ and 1.",
    "li-coefficient-sum",
)
def above_the_lines(d):
    a, above = output_weights(d.sizes["neuron"]).numpy(), {}
    for suffix in ("", "_rescaled"):
        for setting, S_1 in ((setting, S_1) for setting in "AB" for S_1 in d.S_1.values.tolist()):
            cell, line = d.sel(setting=setting, S_1=S_1), []
            for k, gap in enumerate(mean_gap(cell.scores.values).tolist()):
                rows = cell.feature_response.values[k], cell.label_response.values[k]
                law = label_law(S_1**2 * gap if suffix else gap, 0.8, 20)
                line.append(mean_losses(S_1, a, *rows, law)[0])
            off = cell[f"hinge{suffix}"].values - line
            above[suffix, setting, S_1] = off.mean(), 3 * off.std(ddof=1) / len(off) ** 0.5
    most = max(above, key=lambda place: above[place][0])
    return 0, 1, all(off > -error for off, error in above.values()), bool(most[1] == "B" and 0 <= most[2] <= 1)


@says(PAGE, "the error is large at small sums. Here it is gone before 1.", "li-rescaling")
def gone_before_one(d):
    return 1, bool((at(d.error, 0.1, 0.2, 0.3) > 0.2).all()), bool((at(d.error, 0.9, 1) < 0.001).all())


@says(PAGE, "prompts of more than 10 contexts do not help below $S_1=1$, here they do (L7i)", "li-rescaling")
def longer_prompts_help(d):
    error = d.error_length.mean("seed").sel(sum=d["sum"] < 1)
    return 10, 1, bool((error.sel(length=20) < error.sel(length=10) / 2).all())


@says(
    PAGE,
    "They err as the rescaled training patterns do, while the same sums at fixed norm do not raise the error.",
    "li-rescaling",
)
def new_patterns(d):
    return bool(abs(d.error_new - d.error).mean("seed").max() < 0.02), bool(d.error_fixed.mean("seed").max() < 0.001)


@says(
    PAGE,
    "From $S_1=0$ on only few tasks together with short patterns give errors of several per cent, about equal up to 0.5 and "
    "smaller beyond (L7f). There the score gaps of different draws are spread out, most of all at $S_1=0$.",
    "li-sum-reasons",
)
def few_tasks(d):
    error = at(d.error.sel(setting=FEW), 0, 0.5, 0.7, 0.9, 1, 1.1, 1.3)
    others = at(d.error.drop_sel(setting=FEW), 0, 0.5, 0.7, 0.9, 1, 1.1, 1.3)
    spread = d.gap_spread.mean("seed")
    few = spread.sel(setting=FEW)
    smaller = abs(error[1] / error[0] - 1) < 0.1 and error[2:].max() < error[:2].min()
    return (
        0,
        0.5,
        0,
        bool(error.min() > 0.02 and smaller and error[-1] < 0.7 * error[0] and others.max() < 0.001),
        bool(few.min() > 1.5 * spread.drop_sel(setting=FEW).max() and few.idxmax() == 0),
    )


@says(
    PAGE,
    "in the full profile it is as large at $S_1=-1.3$ as at 0, and not as small as at 1.3.",
    "li-sum-reasons",
)
def negative_sums(d):
    low, middle, high = at(d.error.sel(setting=FEW), -1.3, 0, 1.3)
    return -1.3, 0, 1.3, bool(abs(low / middle - 1) < 0.1), bool(high < 0.7 * low)


@says(PAGE, "at the most negative sums, where the error rises to 9% in the full profile", "li-sum-reasons")
def short_label(d):
    return at(d.error.sel(setting="B, |q| = 0.25"), -1.3)[0]


@says(PAGE, "For $M_1=6$ these are 13.4 and 6 of 30 tasks.", "li-task-fraction")
def tasks_asked_for(d):
    return 6, d.tasks_stated, d.tasks.min(), d.tasks.max()


@says(PAGE, "In domain this hardly matters", "li-task-fraction")
def in_domain(d):
    return bool(d.error_in.mean("seed").max() < 0.001)


@says(PAGE, "and an unseen pair still has a positive gap", "li-task-fraction")
def unseen_pairs(d):
    return bool((d.gap_untrained.sel(shifts=1) > 0).all())


@says(
    PAGE,
    "The stated fraction brings the error out of domain below 0.002, a threshold of ours (L8); mere covering leaves more "
    "(L8b). The fraction is not sharp: $r=2$ is below it and errs little.",
    "li-task-fraction",
)
def how_many_tasks(d):
    error = d.error_out.mean("seed")
    enough = (error.where(d.tasks >= d.tasks_stated, 0) < 0.002).all()
    two = error.sel(shifts=2) < 0.002 and d.tasks.sel(shifts=2) < d.tasks_stated
    return 0.002, 2, bool(enough), bool(error.sel(shifts=1) > 0.002), bool(two)


@says(PAGE, "it is near 0 from $S_1=1$ upward. A sum of 1 is no threshold for it.", "li-coefficient-sum")
def hinge_from_one(d):
    near = at(d.hinge, 1, 1.1, 1.3).max() < 0.0005
    return 0, 1, 1, bool(near), bool((at(d.hinge, 0.9) < 0.001).all())


@says(
    PAGE,
    "In the full profile it is at most 0.0008 in setting A from $S_1=0$ on, and in setting B 0.0006 at 0.9, 0.004 at 0.7 and "
    "0.014 at 0.5;",
    "li-coefficient-sum",
)
def hinge_by_setting(d):
    A, B = (d.hinge.sel(setting=name) for name in "AB")
    most = A.sel(S_1=d.S_1 >= 0).mean("seed").max()
    return most, 0, *(x for S_1 in (0.9, 0.7, 0.5) for x in (at(B, S_1)[0], S_1))


@says(
    PAGE,
    "in the full profile it is in settings A and B 0.05 and 0.02 at 0.5, 0.002 and 0.0003 at 0.7, and at $S_1=-1$ below "
    "0.0001, since scores go as",
    "li-coefficient-sum",
)
def rescaled(d):
    half, more, opposite = at(d.error_rescaled, 0.5, 0.7, -1).T
    return *half, 0.5, *more, 0.7, -1, 0.0001, bool((opposite < 0.0001).all())


@says(PAGE, "it is larger at $-1.3$ than at 1.3, for a reason that is not settled", "li-sum-reasons")
def not_even(d):
    low, high = at(d.error.sel(setting=FEW), -1.3, 1.3)
    return -1.3, 1.3, bool(low > high)


@says(
    PAGE,
    "Out of domain the stated fraction of tasks leaves an error below 0.002 (L8), and covering alone one above it (L8b).",
    "li-task-fraction",
)
def out_of_domain(d):
    error = d.error_out.mean("seed")
    return 0.002, bool((error.sel(shifts=[3, 4, 5]) < 0.002).all()), bool(error.sel(shifts=1) > 0.002)


@says(
    PAGE,
    r"in the full profile the exponent is $-1.12$, that of the vote law $-1.13$, and $\alpha'l$ lies between 6.7 and 8.2 for "
    r"$\varepsilon=0.01$.",
    "li-prompt-length",
)
def needed_length(d):
    share = np.log(d.alpha) - np.log(d.alpha).mean()
    slope, law = ((np.log(needed) * share).sum("alpha") / (share**2).sum() for needed in (d.needed, d.needed_theory))
    product = d.needed.mean("seed") * d.alpha
    return slope.mean(), law, product.min(), product.max(), 0.01


@says(
    PAGE,
    "The trained gap is so large that the vote law cannot be told from its floor (L9b). The constant 1 is enough on the "
    "slides' prompts, which guarantee the query's pattern (L9o), and not with independent contexts",
    "li-prompt-length",
)
def constant_of_the_length(d):
    floor = np.array([[vote_error(np.inf, alpha, l) for l in d.length.values.tolist()] for alpha in d.alpha.values.tolist()])
    told = (abs(d.error_counted_theory.values - floor[d.error_theory.values >= 0.05]) / d.error_counted_se.values).max()
    return 1, bool(told < 1), bool(d.error_guaranteed.max() < 0.001), bool(d.error_literal.mean("seed").min() > 0.15)


@says(PAGE, "The models here have a width of 100 and a batch of 256 (128 in the quick profile).")
def width_and_batch():
    ((width, fewer),), ((same, batch),) = ({(each.m, each.B) for each in one.settings} for one in both("li-coefficient-sum"))
    return width, batch, fewer, same == width
