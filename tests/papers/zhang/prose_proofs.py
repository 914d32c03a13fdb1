"""What the pages of random covariances, of section 5 and of the appendices say of the published results."""

import numpy as np

from tests.papers.prose import says

# --- 4.3, random covariances ---

PAGE = "zhang_4_3_random_covariances"


@says(
    PAGE,
    r"the flow ends at $A_*$ for every distribution and length tried. $u_{-1}$ ends at the limit **with** squares",
    "zhang-random-covariance-flow",
)
def flow_ends_at_the_minimum(d):
    end = d.isel(step=-1)
    apart = abs(d.u_printed / d.u_theory - 1) > 0.01
    return bool((end.distance < 1e-6).all()), bool((abs(end.u / d.u_theory - 1) < 1e-6).all()), bool(apart.all())


def _gain(d):
    risk = d.risk.sel(d=20)
    return risk.sel(trained="random") / risk.sel(trained="mean")


@says(
    PAGE,
    "For exponential ones the error is about a third or less. For uniform ones, which vary less, it is more than half.",
    "zhang-random-covariance",
)
def gain_by_law(d):
    most = float(_gain(d).sel(law="exponential").max())
    return 0.30 < most < 0.37, bool((_gain(d).sel(law="uniform") > 0.5).all())


@says(
    PAGE,
    "At $c=1$ the ratio rises with the test length for uniform variances, in the full profile to 1.08 at $M=100$",
    "zhang-random-covariance",
)
def gain_at_the_longest(d):
    return 1, _gain(d).sel(law="uniform", c=1, M=100), 100, bool((_gain(d).sel(c=1, law="uniform").diff("M") > 0).all())


@says(
    PAGE,
    r"worse* ($0.2608\pm0.0018$ against $0.2416\pm0.0017$ per dimension, with two standard errors)",
    "zhang-random-covariance",
)
def random_against_mean(d):
    cell = d.sel(d=20, law="uniform", c=1, M=100)
    return [x for kind in ("random", "mean") for x in (cell.risk.sel(trained=kind), 2 * cell.risk_se.sel(trained=kind))]


@says(
    PAGE,
    "At $c=1$, with exponential variances, a third of the label's variance is left however long the prompts are. "
    "At $c=4$ and $c=9$ the model is worse than predicting 0.",
    "zhang-random-covariance",
)
def no_cure(d):
    cell = d.sel(law="exponential", trained="random")
    left, limit = cell.risk / cell.zero, cell.risk_limit / cell.zero
    at_one = bool((abs(limit.sel(c=1) - 1 / 3) < 1e-9).all()) and bool((left.sel(c=1) > 0.33).all())
    return 1, 4, 9, 0, at_one, bool((left.sel(c=[4, 9]) > 1).all()), bool((limit.sel(c=[4, 9]) > 1).all())


@says(PAGE, "climbs towards a third of the target and stops there", "zhang-random-covariance-limit")
def mean_prediction(d):
    mean = d["mean"].sel(task="along the query")
    return bool((mean.diff("N") > 0).all()), bool((abs(mean.isel(N=-1) - 1 / 3) < 0.01).all())


@says(
    PAGE,
    "with a standard deviation above the mean. Longer prompts bring it down to the mean and no further",
    "zhang-random-covariance-limit",
)
def scatter_of_one_prediction(d):
    exact = abs(d.spread / (1 + 4 / d.N) ** 0.5 - 1) < 0.01
    return bool((d.spread > 1).all()), bool((d.spread.diff("N") < 0).all()), bool((d.spread < 1.2).all()), bool(exact.all())


@says(PAGE, "in long prompts one leaves a third of the error of predicting 0, three leave a tenth", "ahn-random-covariances")
def three_layers(d):
    one, three = (float(d.far.sel(layers=layers, long=960)) for layers in (1, 3))
    return 0, bool(0.32 < one < 0.345), bool(0.09 < three < 0.11)


@says(PAGE, "with $u_{-1}$ at the limit with squares, from initialisations of every size tried", "zhang-random-start-size")
def starts_of_every_size(d):
    return bool((d.miss < 1e-6).all()), bool((d.u_miss < 1e-6).all())


# --- 5.1, the quadratic form ---

PAGE = "zhang_5_1_quadratic_form"


@says(PAGE, "which comes without a condition on $N$. The shortest prompts refute it.", "zhang-quadratic-form")
def shortest_prompts(d):
    few = d.negative < d.negative_paper
    return bool((few == (d.N < 6)).all()), bool(few.any())


@says(
    PAGE,
    "In all other directions the loss rises to second order. The origin, by contrast, is a saddle, which shows at each setting",
    "zhang-full-loss",
)
def curvature_at_limit_and_origin(d):
    limit, origin = (d.sel(place=place) for place in ("limit", "origin"))
    return bool((limit.zero == 1).all()), bool((limit.negative == 0).all()), bool((origin.negative > 0).all())


@says(PAGE, "is proved and agrees with the layer to rounding", "zhang-quadratic-form")
def form_agrees(d):
    return bool((abs(d.prediction - d.prediction_theory) < 1e-12 * abs(d.prediction).max()).all())


@says(
    PAGE,
    r"The number of negative directions of one prompt's form is $\min(N,d)+1$; the paper's at least $d+1$ is false for $N<d$.",
    "zhang-quadratic-form",
)
def negative_directions(d):
    paper = d.negative >= d.negative_paper
    return 1, 1, bool((d.negative == np.minimum(d.N, 6) + 1).all()), not bool(paper.where(d.N < 6, False).any())


# --- 5.2, the dynamics ---

PAGE = "zhang_5_2_dynamics"


@says(PAGE, "The two flows part where the fluctuation of the context begins to matter. Without it", "zhang-dynamics")
def flows_part(d):
    apart = d.loss_towards_plain / d.loss - 1
    early, end = abs(apart.where(d.time < 1, drop=True)), d.isel(time=-1)
    return bool((early < 0.01).all()), bool((end.loss < 1.001).all()), bool((end.loss_towards_plain > 1.1).all())


@says(PAGE, "the two rates are nearly equal (the panel of growth rates in the figure at the top)", "zhang-time-course")
def growth_rates(d):
    ratio = d.rate.isel(direction=0) / d.rate.isel(direction=1)
    return bool((ratio.diff("kappa") < 0).all()), bool((ratio.sel(kappa=16) < 1.05).all())


@says(
    PAGE,
    r"in all live entries, to rounding, for small $d$ and $N$; the proof covers all sizes. "
    r"Replacing $E[\hat\Lambda^2]=\Gamma\Lambda$ by $\Lambda^2$ is visible at once.",
    "zhang-dynamics",
)
def velocity_is_the_gradient(d):
    return bool((d.velocity_error < 1e-12).all()), bool((d.velocity_error_mean_context > 1e-3).all())


@says(PAGE, r"from a generic $\Theta$ it is off", "zhang-time-course")
def generic_start(d):
    exact, generic = (abs(loss - d.loss_theory).max() / d.loss_theory.max() for loss in (d.loss, d.loss_generic_start))
    return bool(exact < 1e-6), bool(generic > 0.01)


# --- the appendices ---

PAGE = "zhang_appendices"


@says(
    PAGE,
    r"Around $\frac12a$ the product $T_1T_3$ is not zero and $T_1^2$ is no longer the least linear error.",
    "zhang-six-terms",
)
def another_centre(d):
    product, square = (d.sel(term_name=name) for name in ("I x III", "I"))
    off = abs(product.term_wrong) > 10 * product.term_se
    return bool(off.all()), bool((square.term_wrong > square.term_theory + 10 * square.term_se).all())


@says(PAGE, "to the integrator's precision. In a random basis they do not", "zhang-off-diagonal")
def decay_off_the_diagonal(d):
    rotated = d.off_rotated.isel(step=-1)
    return bool((abs(d.off - d.off_theory) < 1e-9).all()), bool((abs(rotated) > 0.1).all())


@says(PAGE, "Both bounds hold, and the PL constant is loose by more than a factor of ten.", "zhang-off-diagonal")
def bounds_of_the_flow(d):
    return bool((d.u >= d.u_bound).all()), bool((d.pl_ratio > 10 * d.nu).all())
