"""What the page of the decoders, section 4.3, says of the published results."""

from functools import partial

import numpy as np
import xarray as xr

from tests.papers.prose import says

says = partial(says, "zhang_4_3_gpt2")

CURVES, POSITIONS, SCALE = "zhang-gpt2", "zhang-gpt2-positions", "zhang-gpt2-scale"
NINE = ("run", "N")


def own(values):
    """Return models on the distribution that they were trained on."""
    fixed = values.sel(trained="fixed", test="covariance I", drop=True)
    return xr.concat([fixed, values.sel(trained="random", test="c = 1", drop=True)], "trained").assign_coords(
        trained=values.trained
    )


def relative(d):
    """Return errors at M = N over those of predicting 0."""
    return d.risk.sel(M=d.N) / d.zero


def growth(d):
    """Return by which factor the relative error grows from c = 1 to 9."""
    return relative(d).sel(test="c = 9") / relative(d).sel(test="c = 1")


# --- at the training length -----------------------------------------------------------------------------------------


@says("One of them, at $N=10$, errs two to three times as much as the others on its own distribution.", CURVES)
def bad_training(d):
    errors = own(d.risk).sel(N=10, M=10)
    ratio = errors.sel(run=1) / errors.sel(run=[0, 2])
    return 10, bool(ratio.min() > 1.8), bool(ratio.max() < 3.3)


@says("the models are close to least squares and far below a linear layer trained on the same distribution and length", CURVES)
def far_below_linear(d):
    errors, linear = (own(d[name]).sel(M=d.N) for name in ("risk", "lsa"))
    return bool(((errors / linear).mean(NINE) < 0.25).all())


@says(
    "*Close* is 0.015 to 0.07 in sixteen of the eighteen trainings, in the full profile, and 0.14 and 0.17 in two of $N=10$.",
    CURVES,
)
def close_to_least_squares(d):
    excess = own((d.risk - d.ols).sel(M=d.N))
    ordered = np.sort(excess.values.ravel())
    return ordered[0], ordered[15], *ordered[16:], 10, bool((excess > 0.1).sel(N=10).sum() == 2), bool(len(ordered) == 18)


@says("in the full profile they keep 0.07 of the error of predicting 0 in the mean, those trained on random ones 0.06.", CURVES)
def kept_at_one(d):
    fixed, random = relative(d).sel(test="c = 1").mean(NINE)
    return fixed, 0, random


@says("With $c$ the error grows faster than the labels, in each of the eighteen trainings", CURVES)
def grows_faster(d):
    found = relative(d).sel(test=["c = 1", "c = 4", "c = 9"])
    return bool((found.diff("test") > 0).all()), found.isel(test=0).size == 18


@says(
    """fixed models keep 0.07 of the error of predicting 0 at $c=1$, 0.16 at $c=4$ and 0.32 at $c=9$, in the mean over
    trainings:""",
    CURVES,
)
def fixed_models_keep(d):
    kept = relative(d).sel(trained="fixed").mean(NINE)
    one, four, nine = (kept.sel(test=f"c = {c}") for c in (1, 4, 9))
    return one, 0, 1, four, 4, nine, 9


@says(
    "where the limit of the linear layer trained on random covariances errs 43 times as much as predicting 0",
    CURVES,
)
def limit_of_the_linear_layer(d):
    return (d.lsa_limit / d.zero).sel(test="c = 9"), 0


@says("Nor does the growth tell the two trainings apart.", CURVES)
def growths_overlap(d):
    fixed, random = growth(d)
    return bool(random.max() > fixed.median()), bool(random.median() > fixed.min())


@says(
    """In the full profile the relative error grows from $c=1$ to $c=9$ by factors of 2.3 to 8.2 in the nine trainings of fixed
    models, and of 1.8 to 6.4 in those of random ones.""",
    CURVES,
)
def growths(d):
    fixed, random = growth(d)
    return 1, 9, fixed.min(), fixed.max(), random.min(), random.max(), bool(fixed.size == 9)


@says("Training on random covariances lowers the error at $c=4$ and 9 in each of nine pairs of trainings", CURVES)
def random_ahead(d):
    gain = d.gain.sel(test=["c = 4", "c = 9"])
    return 4, 9, bool((gain > 0).all()), gain.isel(test=0).size == 9


@says("Whether the error then grows less with $c$, nine pairs of trainings leave open.", CURVES)
def random_grow_as_much(d):
    fixed, random = growth(d)
    return bool(0 < (random < fixed).sum() < 9)


@says(
    """With covariances drawn in the place of prompts the intervals become 1.6 to 1.7 times as wide, in the mean over nine
    trainings (full profile, 64 prompts each).""",
    CURVES,
)
def wider_intervals(d):
    width = d.width.sel(test=["c = 1", "c = 4", "c = 9"])
    ratio = (width.sel(by="covariances") / width.sel(by="prompts")).mean(NINE)
    return ratio.min(), ratio.max(), 64


@says("In most cells of the full profile the trainings differ by more than either", CURVES)
def trainings_differ_more(d):
    at_N = d.risk.sel(M=d.N)
    wider = at_N.max("run") - at_N.min("run") > d.width.mean("run").max("by")
    return bool(wider.mean() > 0.5)


@says("in the table above the two trainings differ by four hundredths or less on $I$", CURVES)
def price_of_variety(d):
    fixed, random = relative(d).sel(test="covariance I").mean("run").transpose("trained", "N")
    return bool(abs(random - fixed).max() < 0.045)


# --- beyond the training length -------------------------------------------------------------------------------------


@says("while training has made the others ten times as long", POSITIONS)
def rows_as_long(d):
    lengths = d.row_norm
    return bool(9 < lengths.isel(row=slice(21)).mean() / lengths.isel(row=slice(21, None)).mean() < 11)


@says("Of 84 rows the first $2N+1=21$ have changed and no other, to the last bit (a test).", POSITIONS)
def rows_that_moved(d):
    first, others = d.row_moved.isel(row=slice(21)), d.row_moved.isel(row=slice(21, None))
    return d.sizes["row"], 1, 21, bool((first > 0).all()), bool((others == 0).all())


@says("with zeros the curve is nearly the same (ZF5d)", POSITIONS)
def zeros_do_the_same(d):
    zeros, usual = (d.risk.sel(table=table) for table in ("zeros beyond N", "as trained"))
    return bool((abs(zeros / usual - 1) < 0.1).all()), bool((abs((zeros / usual).mean("M") - 1) < 0.03).all())


@says("On untouched rows even short prompts are answered little better than by 0, or worse", POSITIONS)
def short_prompts_on_untouched_rows(d):
    moved = d.risk.sel(table="untrained rows throughout", M=slice(1, 10)).mean("M")
    return 0, bool(moved.mean() > 0.9), bool((moved > 0.75).all()), bool((moved > 1).any())


@says("On trained rows long prompts are answered as those of length $N$, just above $N$", POSITIONS)
def long_prompts_on_trained_rows(d):
    return bool((abs(d.jump.sel(table="last rows beyond N") - 1) < 0.2).all())


@says("Later the error creeps up, in the full profile to 1.6 to 4 times its value at $N$ when $M=40$.", POSITIONS)
def creeps_up(d):
    ratio = (d.risk.sel(M=40) / d.risk.sel(M=10)).sel(table="last rows beyond N")
    return ratio.min(), ratio.max(), 40


@says("Without positions in training there is no jump at all, and the curve stays flat up to $M=4N$", POSITIONS)
def without_positions(d):
    frozen = d.sel(table="frozen at 0 in training")
    return bool((abs(frozen.jump - 1) < 0.1).all()), bool(
        (abs(frozen.risk / frozen.risk.sel(M=10) - 1).sel(M=slice(10, 40)) < 0.2).all()
    )


@says("the models without positions have 2 to 7 times the error at $M=N$", POSITIONS)
def price_without_positions(d):
    frozen, usual = (d.risk.sel(table=table, M=10) for table in ("frozen at 0 in training", "as trained"))
    return (frozen / usual).min(), (frozen / usual).max()


@says("the error never comes back to what it was at $N$", POSITIONS)
def no_spike(d):
    usual = d.risk.sel(table="as trained")
    return bool((usual.sel(M=slice(11, None)) > 1.5 * usual.sel(M=10)).all())


@says(
    "In all six networks it rises above that of predicting 0, and in five it is still above it at $M=40$ (full profile).",
    POSITIONS,
)
def above_zero(d):
    beyond = d.risk.sel(table="as trained", M=slice(11, None))
    every = bool((beyond.max("M") > 1).all() and beyond.isel(M=0).size == 6)
    return 0, every, bool((beyond.sel(M=40) > 1).sum() == 5), 40


@says(
    "How high the error ends depends less on $N$ than on the training, on what its weights happen to do with rows they have",
    CURVES,
)
def height_by_training(d):
    end = own(d.risk).sel(M=40)
    by_N, by_training = (end.mean(other).max(dim) - end.mean(other).min(dim) for other, dim in (("run", "N"), ("N", "run")))
    return bool((by_training > by_N).all())


@says("at 10 examples the models of $N=20$ have less error than those made for that length", CURVES)
def larger_N_at_ten(d):
    return 10, 20, bool((d.reach.mean(("run", "trained")) < 1).all())


@says(
    """in the full profile, that of $N=20$ has 0.93 to 1.02 times the error of that of $N=10$ in five of six pairs, and 0.71
    times in that of the second training on random covariances.""",
    CURVES,
)
def short_prompts_by_N(d):
    errors = own(d.risk).sel(M=slice(1, 10)).mean("M")
    ratio = errors.sel(N=20) / errors.sel(N=10)
    bad, *others = np.sort(ratio.values.ravel())
    return 20, others[0], others[-1], 10, bad, bool(ratio.sel(trained="random", run=1) == bad)


@says(
    "the fixed model of $N=20$ is worse than that of $N=15$ in the first training, and better in the other two",
    CURVES,
)
def all_lengths(d):
    errors = own(d.risk).sel(trained="fixed", M=slice(1, 40)).mean("M")
    ratio = errors.sel(N=20) / errors.sel(N=15)
    return 20, 15, bool(ratio[0] > 1), bool((ratio[1:] < 1).all())


@says(
    """The jump is smaller at larger scales (ZF8): over that of predicting 0, the error at $N$ is larger there and the height
    above it smaller.""",
    CURVES,
)
def smaller_jump(d):
    large, one = (d.sel(test=test) for test in (["c = 4", "c = 9"], "c = 1"))
    at_N = relative(d)
    height = ((d.jump - 1) * at_N).mean("run")
    higher, lower = (each.sel(test=large.test) > each.sel(test="c = 1") for each in (at_N, -height))
    return 0, bool((large.jump < one.jump).all()), bool(higher.all()), bool(lower.all())


@says("Averaged over all lengths to 40, the jump included, it does not hold for every pair of trainings", CURVES)
def not_in_every_pair(d):
    errors = own(d.risk).sel(M=slice(1, 40)).mean("M")
    return 40, bool((errors.isel(N=-1) > errors.isel(N=-2)).any())


@says("it came out alike in every one", POSITIONS)
def alike_in_every_network(d):
    jump = d.jump
    high, low = ["as trained", "zeros beyond N"], ["last rows beyond N", "frozen at 0 in training"]
    return bool((jump.sel(table=high) > 2).all()), bool((jump.sel(table=low) < 1.25).all())
