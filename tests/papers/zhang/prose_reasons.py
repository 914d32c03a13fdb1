"""What reasons of margins, alternative texts and captions say of the published results beyond what is drawn."""

import numpy as np

from tests.papers.prose import says


@says("Z13b", "the closed form puts it at 18.5% or more ($κ = 1$ and the longest $M$ of full)", "zhang-averaged-error")
def cost_of_long_prompts(d):
    """At the larger dimension; at κ = 1 the error is (1 - α)² + α²(d + 1)/M, α = 1/(1 + (d + 1)/N), over d."""
    n, M = (int(each.max()) for each in (d.d, d.M))
    far, near = ((1 - a) ** 2 + a**2 * (n + 1) / M for a in (1 / (1 + (n + 1) / N) for N in (2000, M)))
    cost = (d.cost_of_long_N / d.error_theory.sel(N=d.M)).sel(d=n)
    return far / near - 1, 1, bool(cost.argmin(...)["kappa"] == 0), bool(cost.argmin(...)["M"] == d.sizes["M"] - 1)


@says("Z15b", "from 0.96 to 1.08 at $M = 160$ to 640 (full)", "zhang-task-shift")
def slopes_over_the_two_longest(d):
    slope = -np.log(d.distance_theory.sel(training="matched")).diff("M") / np.log(d.M).diff("M")
    return slope.isel(M=-1).min(), slope.isel(M=-1).max(), *d.M.values[-2:]


@says("Z17e", "by the formula at most 0.28.", "zhang-garg-prompts")
def zero_over_lsa(d):
    return (d.zero / d.risk_theory.sel(model="LSA")).sel(prompt=["skewed covariance", "orthants"]).max()


@says("Z17f", "by the formula 0.51, 0.55, 0.60 at $k = 10, 20, 40$.", "zhang-garg-prompts")
def usual_over_subspace(d):
    exact = d.risk_theory.sel(model="LSA")
    return *(exact.sel(prompt="no shift") / exact.sel(prompt="half subspace")).values, *d.k.values


@says("Z17g", "by the formula 0.48.", "zhang-garg-prompts")
def zero_over_copied(d):
    return (d.zero / d.risk_theory.sel(model="LSA")).sel(prompt="copied query", k=10)


@says("ZF1", "errs by 0.14 and 0.17 (full profile)", "zhang-gpt2")
def the_worst_of_three(d):
    own = (
        d.risk.sel(trained=trained, test=test, N=10, M=10) for trained, test in (("fixed", "covariance I"), ("random", "c = 1"))
    )
    return [each.max() for each in own]


@says("ZF2a", "Linear self-attention in its place has 1.6 or more.", "zhang-gpt2")
def linear_in_its_place(d):
    return d.lsa.sel(M=d.N, trained="fixed", test="c = 1").min()


@says("zhang-flow", "The largest condition number, 20, takes longest.", "zhang-flow")
def longest(d):
    arrives = d.time.where(d.distance_U_11.isel(start=0) < 1e-4).min("time")
    return float(arrives.idxmax("setting").item().rpartition("=")[2]), bool("κ=20" in arrives.idxmax("setting").item())


@says("zhang-isotropic", "Trained attention lies below averaging and above least squares", "zhang-isotropic")
def between(d):
    return bool((d.ols < d.lsa).all()), bool((d.lsa < d.averaging).all())


@says("zhang-random-covariance", "At scales 4 and 9 all errors stay above 1.", "zhang-random-covariance")
def above_one(d):
    large = (d.risk / d.zero).sel(c=slice(2, None))
    return *large.c.values, 1, bool((large > 1).all())


@says("zhang-dynamics", "which comes within a third of <i>L</i>* of the minimum and climbs again", "zhang-dynamics")
def dip_and_climb(d):
    least = d.loss_towards_plain.min("time") - 1
    return bool(1 / 4 < least.max() < 1 / 3), bool((d.loss_towards_plain.isel(time=-1) - 1 > 1.2 * least).all())


@says("zhang-gpt2", "at <i>c</i> = 4 and 9, where the limit is 25.3 and 387", "zhang-gpt2")
def limits_at_large_scales(d):
    return 4, 9, *d.lsa_limit.sel(test=["c = 4", "c = 9"]).values.ravel()[:2]


@says("zhang-gpt2", "up to N models trained on random covariances lie below", "zhang-gpt2")
def random_below(d):
    means = d.risk.sel(test=["c = 4", "c = 9"], M=slice(1, None)).mean("run").where(d.M <= d.N)
    return bool(
        (means.sel(trained="random") < means.sel(trained="fixed")).where(means.sel(trained="fixed").notnull(), True).all()
    )


@says("zhang-pl", "At d = 2 it falls with the condition number, from d = 4 on it rises.", "zhang-pl")
def slack_and_condition(d):
    steps = d.slack.diff("kappa")
    return 2, 4, bool((steps.sel(d=2) < 0).all()), bool((steps.sel(d=slice(4, None)) > 0).all())
