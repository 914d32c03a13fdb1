"""Claims D13 to D18 with their letters: section 3, the implicit dynamics and the order of the context."""

import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, over_seeds
from papers.dherin.checks import PATHS, POSITION_FREE, at_least, of_nets, put, worst

EXACT = "Rounding of float64; no epsilon anywhere."
UNIT = "Over the largest ‖W_i − W₀‖ of the path. "


def _others(dataset: xr.Dataset) -> xr.Dataset:
    """Give the networks that know an order the names of those that do not, and the other way round."""
    known = dataset.net.isin(POSITION_FREE).values
    names = ["tanh RNN" if each else "softmax attention" for each in known]
    return dataset.assign_coords(net=("case", names))


def _least_end(dataset: xr.Dataset) -> Discrepancy:
    ends = dataset.end.isel(case=~dataset.net.isin(POSITION_FREE).values)
    return Discrepancy(0.01 - ends.groupby("net").median())


def _fall_ratio(dataset: xr.Dataset) -> Discrepancy:
    """How far the fall of the loss with other contexts stays below half of the fall with true labels."""
    true = dataset.fall_tasks.sel(kind="true labels", drop=True)
    return over_seeds(0.5 - dataset.fall_tasks.drop_sel(kind="true labels") / true)


def _real_loss(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(fall_tasks=dataset.error.isel(i=0) - dataset.error.isel(i=-1))


def _error_fall(dataset: xr.Dataset) -> Discrepancy:
    """How far the squared error falls with the other contexts, over its fall with true labels."""
    fall = (dataset.error.isel(i=0) - dataset.error.isel(i=-1)).sel(net="trained")
    return over_seeds(fall.drop_sel(kind="true labels") / fall.sel(kind="true labels"))


D13 = Claim(
    id="D13",
    paper="dherin",
    section="3",
    sentence="W_{i+1} = W_i − hΔ_i with h = 1/‖A(x)‖² and Δ_i = W₀(A(c_1..c_i, x) − A(c_1..c_{i+1}, x))A(x)ᵀ, for every i.",
    confidence="D",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-13,
    reason=UNIT + "W_i is built from the theorem, the step from the formula. " + EXACT,
    check=worst("step"),
    control=put(step="literal"),
    control_sentence="the index as printed, W_i = W_{i−1} − hΔ_i",
)

D13b = Claim(
    id="D13b",
    paper="dherin",
    section="3",
    sentence="The steps add up: W_i = W₀ − h(Δ_0 + ... + Δ_{i−1}).",
    confidence="D",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-12,
    reason=UNIT + "A chain of N steps gathers the rounding of each.",
    check=worst("whole"),
    control=put(whole="ahead_whole"),
    control_sentence="the printed index followed from W₀",
)

D13c = Claim(
    id="D13c",
    paper="dherin",
    section="3",
    sentence="The rate 1/‖A(c_{i+2}..c_N, x)‖², given here by a summary of v4, does not follow the path: off by 5% or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-dynamics",
    margin=0,
    reason="0.05 minus the median error in units of the longest step. The rate is that of the left-consuming dynamics (D19).",
    check=at_least("left_rate", 0.05),
    control=put(left_rate="step"),
    control_sentence="the rate 1/‖A(x)‖²",
)

D14 = Claim(
    id="D14",
    paper="dherin",
    section="3",
    sentence="The gradient of L_i(W) = trace(Δ_iᵀW) is Δ_i.",
    confidence="V",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-13,
    reason="Automatic differentiation against the formula, over the longest Δ_i. " + EXACT,
    check=worst("gradient"),
    control=put(gradient="gradient_transposed"),
    control_sentence="Δ_i transposed (leading square)",
)

D14b = Claim(
    id="D14b",
    paper="dherin",
    section="3",
    sentence="Δ_i must be frozen: made with the moving W, the gradient is W(D + Dᵀ), D = (a_i − a_{i+1})A(x)ᵀ.",
    confidence="D",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-13,
    reason="a_i = A(c_1..c_i, x). Automatic differentiation against the formula, over the longest gradient. " + EXACT,
    check=worst("gradient_moving"),
    control=put(gradient_moving="gradient_moving_frozen"),
    control_sentence="Δ_i itself",
)

D15 = Claim(
    id="D15",
    paper="dherin",
    section="3",
    sentence="Every W_i gives the output of its prefix: f(W_i A(x) + b) = f(W₀ A(c_1..c_i, x) + b), i = 0 to N.",
    confidence="V",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-13,
    reason="Relative, against the block run on the shortened prompt; five lengths from 0 to N. " + EXACT,
    check=lambda dataset: Discrepancy(dataset[["output", "output_end"]].to_dataarray().max()),
    control=put(output="output_late"),
    control_sentence="W_{i−1} in place of W_i",
)

D16 = Claim(
    id="D16",
    paper="dherin",
    section="3",
    sentence="Read literally, W_i = W_{i−1} − h∇L_i(W_{i−1}) misses W_i by at least 10% of the longest step.",
    confidence="D",
    kind="bound",
    experiment="dherin-dynamics",
    margin=0,
    reason="0.1 minus the median error: Δ_i holds token i + 1, and the step to W_i should hold token i.",
    check=at_least("literal", 0.1),
    control=put(literal="step"),
    control_sentence="the index corrected, W_{i+1} = W_i − hΔ_i",
)

D16b = Claim(
    id="D16b",
    paper="dherin",
    section="3",
    sentence="The printed index runs one token ahead and never sees the first: followed from W₀ it reaches W_{i+1} − W_1 + W₀.",
    confidence="D",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-12,
    reason=UNIT + "A chain of N steps.",
    check=worst("ahead"),
    control=put(ahead="ahead_whole"),
    control_sentence="W_{i+1}, the first token kept",
)

D17 = Claim(
    id="D17",
    paper="dherin",
    section="3",
    sentence="Each step lowers its loss by exactly h‖Δ_i‖²: L_i(W_i) − L_i(W_{i+1}) = h‖Δ_i‖², never less than 0.",
    confidence="D",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-12,
    reason="Relative error of the vector of all steps; a difference of two losses that are larger than itself.",
    check=worst("decrease"),
    control=put(decrease="decrease_printed"),
    control_sentence="the printed index",
)

D17b = Claim(
    id="D17b",
    paper="dherin",
    section="3",
    sentence="No step ever raises L_i: not with shuffled labels, not with tokens of noise, not in an untrained network.",
    confidence="D",
    kind="bound",
    experiment="dherin-linear-loss",
    margin=0,
    reason="Share of steps that raise L_i by more than 10⁻¹² of the largest fall.",
    check=worst("up"),
    control=put(up="up_error"),
    control_sentence="the squared error of the prediction",
)

D17c = Claim(
    id="D17c",
    paper="dherin",
    section="3",
    sentence="L_i falls without bound along its gradient: L_i(W_i − thΔ_i) = L_i(W_i) − th‖Δ_i‖², a million steps ahead too.",
    confidence="D",
    kind="identity",
    experiment="dherin-linear-loss",
    margin=1e-12,
    reason="Relative error of the vector of all i, at every declared t.",
    check=worst("slope"),
    control=put(slope="slope_quadratic"),
    control_sentence="the squared distance Q_i, which has a minimum",
)

D17d = Claim(
    id="D17d",
    paper="dherin",
    section="3",
    sentence="With shuffled labels or noise the losses L_i fall at least half as far as with true labels, trained or not.",
    confidence="D",
    kind="bound",
    experiment="dherin-linear-loss",
    margin=0,
    reason="0.5 minus the ratio of the summed falls, mean over networks. A trained network's squared error would not pass.",
    check=_fall_ratio,
    control=_real_loss,
    control_sentence="the squared error of the prediction",
)

D17f = Claim(
    id="D17f",
    paper="dherin",
    section="3",
    sentence="In a trained network the squared error falls with true labels, and a fifth as far at most with the others.",
    confidence="D",
    kind="bound",
    experiment="dherin-linear-loss",
    margin=0.2,
    reason="Fall of the mean over the prompts, from no token to all, over that with true labels; mean over networks.",
    check=_error_fall,
    control=lambda dataset: dataset.assign(error=-dataset.fall),
    control_sentence="the losses L_i in the place of the squared error",
)

D17e = Claim(
    id="D17e",
    paper="dherin",
    section="3",
    sentence="The same step descends the bounded Q_i(W) = ½‖WA(x) − W₀A(c_1..c_{i+1}, x)‖² and solves it: Q_i(W_{i+1}) = 0.",
    confidence="D",
    kind="identity",
    experiment="dherin-dynamics",
    margin=1e-12,
    reason="Gradient at W_i against Δ_i over the longest, and what the step leaves; differences of large numbers.",
    check=lambda dataset: Discrepancy(dataset[["quadratic", "solved"]].to_dataarray().max()),
    control=put(quadratic="quadratic_start"),
    control_sentence="the gradient at W₀ in place of W_i",
)

D18 = Claim(
    id="D18",
    paper="dherin",
    section="3",
    sentence="In attention without positions the end W_N does not depend on the order of the context.",
    confidence="D",
    kind="identity",
    experiment="dherin-order",
    margin=1e-12,
    reason="Over ‖W_N − W₀‖, worst order. Sums over N tokens come in another order, so rounding grows with N.",
    check=lambda dataset: Discrepancy(of_nets(dataset, POSITION_FREE).end.max()),
    control=_others,
    control_sentence="recurrent layers, rotary attention, a second causal block",
)

D18b = Claim(
    id="D18b",
    paper="dherin",
    section="3",
    sentence="The path depends on the order: somewhere on the way two orders are apart by a tenth of how far they have gone.",
    confidence="D",
    kind="bound",
    experiment="dherin-order",
    margin=0,
    reason="0.1 minus the median of ‖W_i − W_i'‖/(‖W_i − W₀‖ + ‖W_i' − W₀‖), worst i and order; attention without positions.",
    check=lambda dataset: Discrepancy(0.1 - of_nets(dataset, PATHS).path.median()),
    control=put(path="end"),
    control_sentence="the same at the end, i = N",
)

D18c = Claim(
    id="D18c",
    paper="dherin",
    section="3",
    sentence="The end depends on the order in recurrent layers, in rotary attention and in the second of two causal blocks.",
    confidence="D",
    kind="bound",
    experiment="dherin-order",
    margin=0,
    reason="0.01 minus the median of ‖W_N − W_N'‖/‖W_N − W₀‖, for each of these networks.",
    check=_least_end,
    control=_others,
    control_sentence="attention without positions; a second block without causal mask",
)
