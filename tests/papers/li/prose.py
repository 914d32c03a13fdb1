"""What the pages of this part say of the published results: introduction, formulation, data and tasks."""

import numpy as np

from tests.papers.prose import says

# --- 1 Introduction ---------------------------------------------------------------------------------------------------

ATTENTION, MLP = ("softmax", "linear"), ("ReLU", "linear")


def by_network(values):
    """Return the means over networks by attention (rows) and MLP (columns)."""
    mean = values.mean("seed")
    return np.array([[mean.sel(variant=f"{first}, {second}").values for second in MLP] for first in ATTENTION])


@says("li_1_introduction", "none did, and all four keep the largest step", "li-nonlinearity")
def no_run_diverges(d):
    return bool(np.isfinite(d.loss_end).all() and (d.eta == d.step_size.max()).all())


@says("li_1_introduction", "*The ReLU* buys no accuracy here.", "li-nonlinearity")
def no_accuracy(d):
    errors = by_network(d.error)
    return bool((errors[:, 0] > errors[:, 1] - 1e-4).all())


@says(
    "li_1_introduction",
    "In the full profile the paper's network has a hinge loss of 0.2 at $S_1=-1$, and the one with a linear MLP almost none.",
    "li-nonlinearity",
)
def hinge_at_the_opposite_sum(d):
    hinge = by_network(d.hinge_S_1.sel(S_1=-1))
    return hinge[0, 0], -1, bool(hinge[0, 1] < 0.001)


@says(
    "li_1_introduction",
    r"Under linear attention the feature part is much smaller. A fifth network shows why: with $\frac1l$ added to each weight"
    " of linear attention it comes near that under the softmax (last line above; in the full profile 0.50 beside 0.48).",
    "li-nonlinearity",
)
def feature_part(d):
    feature = by_network(d.feature)
    shifted = d.feature_shifted.mean()
    near = bool(0.75 < shifted / feature[0, 0] < 1.25)
    return bool(feature[1, 0] < feature[0, 0] / 3), near, shifted, feature[0, 0]


@says(
    "li_1_introduction",
    r"In the full profile linear attention has at the smallest $\alpha'$ 27 times the hinge loss with the ReLU and 21 times "
    "with the linear MLP, with mean errors below 1%.",
    "li-nonlinearity",
)
def few_relevant_contexts(d):
    hinge, error = (by_network(values.isel(alpha=0)) for values in (d.hinge_alpha, d.error_alpha))
    times = hinge[1] / hinge[0]
    return times[0], times[1], 0.01, bool(error.max() < 0.01)


@says("li_1_introduction", "*The softmax costs* accuracy on short prompts", "li-nonlinearity")
def short_prompts(d):
    error = by_network(d.error_short)
    return bool((error[0] > 2 * error[1]).all())


@says(
    "li_1_introduction",
    "With the same MLP and step size the two kinds of attention reach loss ½ after a similar number of steps, and the linear "
    "MLP is faster than the ReLU.",
    "li-nonlinearity",
)
def steps_to_half(d):
    half = by_network(d.half)
    return bool((abs(np.log(half[1] / half[0])) < np.log(1.25)).all()), bool((half[:, 1] < half[:, 0]).all())


@says("li_1_introduction", "On this task neither nonlinearity is needed for a small error.", "li-nonlinearity")
def small_error(d):
    return bool(by_network(d.error).max() < 0.001)


@says("li_1_introduction", "In the full profile the rise is 3.5% larger", "li-nonlinearity")
def rise_over_prediction(d):
    d = d.sel(variant="softmax, ReLU")
    rise, predicted = (
        (values.isel(S_1=-1) - values.isel(S_1=0)).mean() for values in (d.margin_S_1, d.feature * d.S_1 * d.total_S_1)
    )
    return rise / predicted - 1


@says("li_1_introduction", "Linear attention errs more than the lower line", "li-nonlinearity")
def above_the_lower_line(d):
    return bool((by_network(d.error_short)[1] > d.absent_error.sel(sign=-1).values).all())


# --- 2 Problem formulation --------------------------------------------------------------------------------------------

COVERING = ["cyclic 3", "cyclic 1"]


@says("li_2_formulation", r"The output is of order $\xi\delta|\bar p|$, about $10^{-3}$ here.", "li-start")
def size_of_the_output(d):
    size = d.square.mean("seed") ** 0.5
    return size.sel(beta=2, length=20), bool((abs(np.log10(size) + 3) < 0.6).all())


@says("li_2_formulation", r"$\delta\beta$ between 0.3 and 0.4 gives a mass of 0.42 to 0.44", "li-start")
def mass_at_the_start(d):
    ends = d.sel(beta=[1.5, 2], length=20)
    return *ends.query_norm.values, *ends.mass.mean("seed").values, bool((abs(ends.mass_theory - [0.42, 0.44]) < 0.005).all())


@says(
    "li_2_formulation",
    "the untrained network is at chance: error ½ and hinge loss 1 (a test). The small preference of its attention for the "
    "query's pattern",
    "li-start",
)
def at_chance(d):
    mean = d.mean("seed")
    lead = (mean["mass"] / d.mass_uniform).sel(beta=2)
    return (
        mean.hinge.mean(),
        bool((abs(mean.error - 0.5) < 0.01).all() and (abs(mean.hinge - 1) < 0.001).all()),
        bool((lead > 1).all() and (lead < 1.15).all()),
    )


@says("li_2_formulation", "Then it drops within a few tens of steps", "li-training")
def the_loss_drops(d):
    loss = d.hinge_training.mean("seed").sel(tasks=COVERING)
    return bool((loss.sel(step=30) > 0.95).all() and (loss.sel(step=60) < 0.05).all())


@says("li_2_formulation", "The error falls first: signs become right while margins are still far below 1.", "li-training")
def the_error_falls_first(d):
    at = d.mean("seed").sel(tasks=COVERING, step=30)
    return 1, bool((at.error_training < 0.35).all() and (at.hinge_training > 0.95).all())


@says(
    "li_2_formulation",
    "Unseen tasks follow the training tasks, closely with 18 tasks and later with 6. The one-sided set is learnt fastest and "
    "does not carry over.",
    "li-training",
)
def unseen_tasks_follow(d):
    mean = d.mean("seed")
    many, few, sided = (mean.sel(tasks=name) for name in (*COVERING, "one-sided"))
    later = few.sel(step=60).hinge_unseen > 5 * few.sel(step=60).hinge_training
    return (
        18,
        6,
        bool((abs(many.hinge_unseen - many.hinge_training) < 0.02).all()),
        bool(later and few.isel(step=-1).hinge_unseen < 0.01),
        bool(sided.sel(step=30).hinge_training < 0.5 * mean.hinge_training.sel(tasks=COVERING, step=30).min()),
        bool(sided.isel(step=-1).error_unseen > 0.4),
    )


@says("li_2_formulation", "its training error cannot be small without attention either", "li-training")
def without_attention(d):
    return bool((abs(d.error_blind.mean("seed").sel(tasks="one-sided") - 0.5) < 0.01).all())


@says("li_2_formulation", "changes the size of $F$ at the initialisation by a fifth", "li-start")
def coins_for_signs(d):
    ratio = (d.square / d.square_coins).mean() ** 0.5
    return bool(0.16 < 1 - ratio < 0.24)


@says(
    "li_2_formulation",
    r"With $\delta=0.2$ and patterns of length $\beta=2$ the untrained attention on the query's pattern is 0.44.",
    "li-start",
)
def untrained_attention(d):
    return 0.2, 2, d["mass"].sel(beta=2, length=20).mean()
