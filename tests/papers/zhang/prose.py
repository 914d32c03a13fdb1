"""What the pages of sections 1 to 4.2 say of the published results."""

import numpy as np

from tests.papers.prose import both, says

# --- section 1 ------------------------------------------------------------------------------------------------------

SECTION = "zhang_1_introduction"


@says(SECTION, "it reaches the same product of weights, measured", "zhang-training")
def sgd_reaches_the_product(d):
    return bool((d.sgd_product < 0.01).all())


@says(
    SECTION,
    "In 20 dimensions the two differ by at most 6% at 10 examples, for the noise of the context dominates; at 40 the step "
    "leaves up to 42% more.",
    "zhang-one-step",
)
def step_and_model_on_short_prompts(d):
    more = (d.risk_line / d.trained_line).sel(d=20).max("kappa") - 1
    return 20, more.sel(length=10), 10, 40, more.interp(length=40)


@says(
    SECTION,
    "From a thousand examples on the step is within a fifth of its floor, for every covariance but the isotropic one.",
    "zhang-one-step",
)
def step_near_its_floor(d):
    large = d.sel(d=20).sel(length=slice(999, None))
    near = (large.risk_line / large.floor_theory).sel(kappa=slice(2, None)) < 1.2
    return bool(near.all()), bool((abs(large.floor_theory.sel(kappa=1)) < 1e-9).all())


@says(SECTION, "Trained anew at each length, $N=M$, the model goes on improving", "zhang-one-step")
def trained_model_goes_on(d):
    return bool((d.trained_long.diff("M_long") < 0).all()), bool((d.trained_long.isel(M_long=-1) < 1e-3).all())


@says(SECTION, "about a quarter of the target's variance at condition number 100", "zhang-one-step")
def a_quarter_left(d):
    left = d.risk_long.sel(d=20, kappa=100).isel(M_long=-1)
    return 100, bool(0.225 < left < 0.275)


@says(SECTION, "Formula and simulation agree for condition numbers from 1 to 100 in 20 dimensions", "zhang-one-step")
def step_agrees(d):
    apart = [abs(d[name] - d[f"{name}_theory"]) / d[f"{name}_se"] for name in ("risk", "risk_long")]
    return d.kappa.min(), d.kappa.max(), d.d.max(), bool(max(each.max() for each in apart) < 4)


@says(SECTION, "leave more or less than the 24% that it leaves on the geometric spectrum", "zhang-one-step")
def left_on_the_geometric_spectrum(d):
    return d.risk_long.sel(d=20, kappa=100).isel(M_long=-1)


# --- section 3 ------------------------------------------------------------------------------------------------------

SECTION = "zhang_3_preliminaries"


@says(SECTION, "keep an error that no longer prompt removes", "zhang-two-notions")
def floor_stays(d):
    last = d.isel(M=-1)
    return bool((abs(last.risk / last.floor_theory - 1) < 0.01).all()), bool((last.floor_theory > 0).all())


@says(SECTION, "worse on short prompts: at the left the dotted line lies above all others", "zhang-two-notions")
def without_floor_worse_on_short_prompts(d):
    return bool((d.risk_vanishing > d.risk).isel(M=0).all()), bool((d.risk_vanishing < d.risk).isel(M=-1).all())


@says(SECTION, r"for $d=4$ and $\kappa=1.5$, in the full profile 5.")
def covariance_of_the_losses():
    quick, full = both("zhang-population-loss")
    return full.d[0], quick.kappa, full.kappa


@says(SECTION, "The crosses in the figure show that the checks can see an error", "zhang-attention")
def crosses_see_errors(d):
    names = ("live_entries", "query_row_without_own_token", "rescaling_one_sided")
    return bool(min(d[name].min() for name in names) > 1e-3)


@says(SECTION, "The prediction depends on the weights as {eq}`eq-zhang-query-row` says, to rounding", "zhang-attention")
def query_row_to_rounding(d):
    return bool(max(d[name].max() for name in ("query_row", "dead_entries", "rescaling")) < 1e-14)


@says(SECTION, r"At the shortest prompts $\Lambda^{-1}$ costs more than predicting 0", "zhang-population-loss")
def inverse_covariance_costs_more(d):
    half_trace = 4 / 2
    return 0, bool(d.loss.sel(point="1 / Lambda").isel(N=0) > half_trace)


@says(SECTION, "agree: along multiples of the minimiser the loss is a parabola", "zhang-population-loss")
def half_and_three_halves(d):
    half, more = (d.sel(point=point) for point in ("0.5 / Gamma", "1.5 / Gamma"))
    measured = abs(half.loss - more.loss) < 3 * np.hypot(half.loss_se, more.loss_se)
    return bool(np.allclose(half.loss_theory, more.loss_theory)), bool(measured.all())


@says(
    SECTION,
    "$M=10^6$, in 20 dimensions, for three training lengths and two covariances",
    "zhang-two-notions",
)
def where_the_floor_was_measured(d):
    return d.M.max(), d.d.max(), bool(d.sizes["N"] == 3), bool(d.sizes["kappa"] == 2)


@says(SECTION, "agree with simulation, also for prompts shorter than the dimension", "zhang-population-loss")
def moment_and_loss_agree(d):
    moment, loss = (abs(d[name] - d[f"{name}_theory"]) / d[f"{name}_se"] for name in ("second_moment", "loss"))
    return bool(moment.max() < 4), bool(loss.max() < 4), bool(d.N.min() < d.d.max())


# --- section 4.1 ----------------------------------------------------------------------------------------------------

SECTION = "zhang_4_1_convergence"


@says(SECTION, "which makes the gradient in $u_{12}$ and $u_{21}$ vanish draw by draw", "zhang-stationarity")
def paired_gradient_vanishes(d):
    odd = d.entry.str.startswith("u_12") | d.entry.str.startswith("u_21")
    return bool(abs(d.gradient.where(odd)).max() < 1e-12), bool(abs(d.gradient_unpaired.where(odd)).max() > 1e-3)


@says(SECTION, "at the weights of the theorem and at two points where it is not zero", "zhang-stationarity")
def two_points_off_the_limit(d):
    largest = abs(d.gradient_theory).max("entry")
    return bool(largest[0] < 1e-9), bool((largest[1:] > 0.1).all()), bool(d.sizes["point"] == 3)


@says(SECTION, "The loss falls first and the weights follow. There is no long plateau", "zhang-flow")
def loss_first_and_no_plateau(d):
    gap, distance = (each / each.isel(time=0) for each in (d.loss_gap, d.distance_U_11))
    first, then = (d.time.where(each < 0.1).min("time") for each in (gap, distance))
    return bool((first < then).all()), bool((d.time.where(gap < 0.9).min("time") < 0.1 * first).all())


@says(SECTION, "The setting with the largest condition number has the longest tail", "zhang-flow")
def longest_tail(d):
    end = d.time.where(d.distance_U_11 < 1e-4).min("time").min("start")
    return bool("κ=20" in end.idxmax("setting").item())


@says(SECTION, r"so the total drift is of order $\Delta t$", "zhang-training")
def drift_in_proportion(d):
    drift = (d.descent_factor / d.rate).where(d.rate <= 0.1, drop=True)
    return bool(drift.max() / drift.min() < 1.15)


@says(
    SECTION,
    "The product is right at every step size at which descent converges (Z9a), and for SGD up to its noise (Z9b). The factors "
    "are right only for small step sizes",
    "zhang-training",
)
def product_and_factors(d):
    factor = d.descent_factor.sortby("rate")
    return (
        bool((d.descent_product < 1e-6).all()),
        bool((d.sgd_product < 0.01).all()),
        bool(factor[0] < 1e-3),
        bool(factor[-1] > 0.1),
    )


@says(
    SECTION,
    """The curves for the shortest and the longest training prompts cross. With few test examples the model trained on short
    prompts is better, with many examples the one trained on long prompts.""",
    "zhang-risk",
)
def curves_cross(d):
    short, long = d.risk.isel(N=0), d.risk.isel(N=-1)
    return bool((short < long).isel(M=0).all()), bool((short > long).isel(M=-1).all())


@says(SECTION, "shows the minimum of each curve at $N=M$", "zhang-averaged-error")
def best_training_length(d):
    return bool((d.best_N == d.M).all())


def over_limit(d):
    """Return by how many standard errors the error lies above its limit for large dimensions at N = M."""
    nu = d.d / d.N
    return (d.lsa - nu / (1 + nu)) / d.lsa_se


@says(SECTION, "and lie above $f$ by 4 to 8 standard errors at six of seven lengths;", "zhang-isotropic")
def above_the_limit_at_twenty(d):
    above = np.sort(over_limit(d).sel(d=20))[1:]
    agree = abs(d.lsa - d.lsa_theory).sel(d=20) < 3 * d.lsa_se.sel(d=20)
    return above[0], above[-1], bool(d.sizes["N"] == 7), bool(agree.all())


@says(SECTION, "at $d=5$ by 13 to 24 at all seven", "zhang-isotropic")
def above_the_limit_at_five(d):
    above = over_limit(d).sel(d=5)
    return 5, above.min(), above.max()


@says(SECTION, "least squares has error 0 from 20 noiseless examples on", "zhang-isotropic")
def least_squares_exact(d):
    ols = d.ols.sel(d=20)
    return ols.sel(N=slice(20, None)).max(), 20, bool((ols.sel(N=slice(None, 19)) > 0.1).all())


@says(
    SECTION,
    "reaches them to the integrator's accuracy, and finite steps reach the same product",
    "zhang-flow",
    "zhang-training",
)
def flow_and_steps_arrive(flow, training):
    end = flow.isel(time=-1)
    arrived = max(end.distance_U_11.max(), end.distance_u_last.max())
    return bool(arrived < 1e-8), bool((training.descent_product < 1e-6).all()), bool((training.sgd_product < 0.01).all())


@says(
    SECTION,
    "gives the error for linear, noisy and cubic labels. The paper's bound holds, and each of its two rates is right",
    "zhang-risk",
    "zhang-averaged-error",
)
def error_bound_and_rates(risk, averaged):
    apart = abs(risk.risk - risk.risk_theory) / risk.risk_se
    slope = np.log(averaged.long).diff("end").isel(end=0) / np.log(averaged.end[-1] / averaged.end[0])
    right = [bool((abs(slope.sel(path=path) + power) < 0.05).all()) for path, power in (("M", 1), ("N", 2))]
    return bool(apart.max() < 5), bool((averaged.error - 2 * averaged.error_se <= averaged.error_bound).all()), *right


@says(SECTION, "a handful of covariances and dimensions up to 20", "zhang-averaged-error", "zhang-isotropic", "zhang-risk")
def dimensions_simulated(*datasets):
    return max(d.d.max() for d in datasets)


@says(SECTION, "the averaged error is 6.9, and that of predicting 0 is 20", "zhang-averaged-error")
def averaged_error_at_forty(d):
    return d.error.sel(d=20, kappa=1, M=40, N=40), 0, 20
