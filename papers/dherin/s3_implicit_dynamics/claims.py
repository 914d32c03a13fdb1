"""Claims D13 to D20: section 3, the implicit dynamics, the order of the context, and consuming it from the left."""

import xarray as xr

from icl_lib.companion import Discrepancy, claims_of, over_seeds, put

POSITION_FREE = ["softmax attention", "linear attention", "trained softmax attention", "second block, not causal"]
PATHS = POSITION_FREE[:3]
"""Networks of the path experiments whose end does not depend on the order of the context, and those of one block."""


def of_nets(dataset: xr.Dataset, nets: list[str]) -> xr.Dataset:
    """Return the cases of some networks."""
    return dataset.isel(case=dataset.net.isin(nets).values)


def worst(name: str):
    """Return the check of a variable's largest entry."""
    return lambda dataset: Discrepancy(dataset[name].max(skipna=False))


def medians(values: xr.DataArray) -> xr.DataArray:
    """Return the median over the cases of each network."""
    return values.groupby("net").median(skipna=False)


def at_least(name: str, least: float):
    """Return the check of how far the median stays below ``least``, in the network where it is lowest."""
    return lambda dataset: Discrepancy(least - medians(dataset[name]))


def _others(dataset: xr.Dataset) -> xr.Dataset:
    """Give the networks that know an order the names of those that do not, and the other way round."""
    known = dataset.net.isin(POSITION_FREE).values
    names = ["tanh RNN" if each else "softmax attention" for each in known]
    return dataset.assign_coords(net=("case", names))


def _before_the_end(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(path=dataset.distance.isel(i=-2, drop=True) / 2)


def _real_loss(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(fall_tasks=dataset.error.isel(i=0) - dataset.error.isel(i=-1))


def _slipped(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(output=dataset.output_slip.isel(slip=0, drop=True))


claim = claims_of("dherin-dynamics")


@claim("S", "identity", check=worst("step"), margin=1e-13, control=put(step="literal"))
def D13(dataset):
    """$W_{i+1} = W_i − hΔ_i$ with $h = 1/‖A(x)‖²$ and $Δ_i = W₀(A(c_1…c_i, x)$ $− A(c_1…c_{i+1}, x))A(x)ᵀ$, for every $i$.

    Margin: Over the largest $‖W_i − W₀‖$ of the path. $W_i$ is built from the theorem, the step from the formula. Rounding of
    float64; no epsilon anywhere.
    Control: the index as printed, $W_i = W_{i−1} − hΔ_i$
    """


@claim("D", "bound", margin=0, control=put(left_rate="step"))
def D13c(dataset):
    """The rate $1/‖A(c_{i+2}…c_N, x)‖²$, given here by a summary of v4, does not follow the path: in attention it is off, in
    the median over prompts, by 40% or more.

    Margin: 0.4 minus the median over prompts of the largest error, over the longest step, in each kind of attention. The rate
    is that of the left-consuming dynamics (D19).
    Moved: from 0.05, after a look at the results; and from the median over all networks, which hid that tanh RNNs are off by
    less.
    Control: the rate $1/‖A(x)‖²$
    """
    attention = dataset.net.str.contains("attention").values
    return Discrepancy(0.4 - medians(dataset.left_rate.isel(case=attention)))


@claim("Q", "identity", check=worst("gradient"), margin=1e-13, control=put(gradient="gradient_transposed"))
def D14(dataset):
    """The gradient of $L_i(W) = tr(Δ_iᵀW)$ is $Δ_i$.

    Margin: Automatic differentiation against the formula, over the longest $Δ_i$. Rounding of float64; no epsilon anywhere.
    Control: $Δ_i$ transposed (leading square)
    """


@claim("S", "identity", margin=1e-13, control=put(output="output_late"))
def D15(dataset):
    """Every $W_i$ gives the output of its prefix: $f(W_i A(x) + b)$ $= f(W₀ A(c_1…c_i, x) + b)$, $i = 0$ to $N$.

    Margin: Relative, against the block run on the shortened prompt; five lengths from 0 to N. Rounding of float64; no epsilon
    anywhere.
    Control: $W_{i−1}$ in place of $W_i$
    """
    return Discrepancy(dataset[["output", "output_end"]].to_dataarray().max(skipna=False))


@claim("D", "bound", check=at_least("literal", 0.75), margin=0, control=put(literal="step"))
def D16(dataset):
    """Read literally, $W_i = W_{i−1}$ $− h∇L_i(W_{i−1})$ misses $W_i$, in the median over prompts, by three quarters of
    the longest step or more.

    Margin: 0.75 minus the median over prompts of the largest error: $Δ_i$ holds token $i + 1$, and the step to $W_i$ should
    hold token $i$.
    Moved: from 0.1, after a look at the results.
    Control: the index corrected, $W_{i+1} = W_i − hΔ_i$
    """


@claim("D", "identity", check=worst("decrease"), margin=1e-12, control=put(decrease="decrease_printed"))
def D17(dataset):
    """Each step lowers its loss by exactly $h‖Δ_i‖²$: $L_i(W_i) − L_i(W_{i+1})$ $= h‖Δ_i‖²$, never less than 0.

    Margin: Relative error of the vector of all steps; a difference of two losses that are larger than itself.
    Control: the printed index
    """


@claim("D", "identity", margin=1e-12, control=put(quadratic="quadratic_start"))
def D17e(dataset):
    """The same step descends the bounded $Q_i(W) = ½‖W A(x)$ $− W₀A(c_1…c_{i+1}, x)‖²$ and solves it: $Q_i(W_{i+1}) = 0$.

    Margin: Gradient at $W_i$ against $Δ_i$ over the longest, and what the step leaves; differences of large numbers.
    Control: the gradient at $W₀$ in place of $W_i$
    """
    return Discrepancy(dataset[["quadratic", "solved"]].to_dataarray().max(skipna=False))


claim = claims_of("dherin-linear-loss")


@claim("D", "bound", margin=0, control=_real_loss)
def D17d(dataset):
    """With shuffled labels or noise the losses $L_i$ fall at least half as far as with true labels, trained or not.

    Margin: 0.5 minus the ratio of the summed falls, mean over networks. A trained network's squared error would not pass.
    Control: the squared error of the prediction
    """
    # How far the fall of the loss with other contexts stays below half of the fall with true labels.
    true = dataset.fall_tasks.sel(kind="true labels", drop=True)
    return over_seeds(0.5 - dataset.fall_tasks.drop_sel(kind="true labels") / true)


claim = claims_of("dherin-order")


@claim("D", "identity", margin=1e-12, control=_others)
def D18(dataset):
    """In attention without positions the end $W_N$ does not depend on the order of the context.

    Margin: Over $‖W_N − W₀‖$, worst order. Sums over N tokens come in another order, so rounding grows with N.
    Control: recurrent layers, rotary attention, a second causal block
    """
    return Discrepancy(of_nets(dataset, POSITION_FREE).end.max(skipna=False))


@claim("D", "bound", margin=0, control=_before_the_end)
def D18b(dataset):
    """The path depends on the order: somewhere on the way two orders are apart, in the median over prompts, by half of how far
    they have gone or more.

    Margin: 0.5 minus the median of $‖W_i − W_i'‖$ $/(‖W_i − W₀‖ + ‖W_i' − W₀‖)$, worst i and order; for each kind of attention
    without positions.
    Moved: from 0.1, after a look at the results.
    Control: the same one token before the end, over twice the whole change
    """
    return Discrepancy(0.5 - medians(of_nets(dataset, PATHS).path))


@claim("D", "bound", margin=0, control=_others)
def D18c(dataset):
    """The end depends on the order in recurrent layers, in rotary attention and in the second of two causal blocks.

    Margin: 0.1 minus the median of $‖W_N − W_N'‖/‖W_N − W₀‖$, for each of these networks.
    Moved: from 0.01, after a look at the results.
    Control: attention without positions; a second block without causal mask
    """
    ends = dataset.end.isel(case=~dataset.net.isin(POSITION_FREE).values)
    return Discrepancy(0.1 - medians(ends))


claim = claims_of("dherin-left-consuming")


@claim("S", "identity", check=worst("output"), margin=1e-13, control=_slipped)
def D19(dataset):
    """$W_i = W_{i−1}(I + h_i A_i)$ keeps the output: $T_{W_i}(c_{i+1}…c_N, x)$ $= T_{W₀}(c_1…c_N, x)$ for every $i$.

    Margin: $A_i = (A(c_i…c_N, x)$ $− A(c_{i+1}…c_N, x))$ $A(c_{i+1}…c_N, x)ᵀ$, $h_i =$ $1/‖A(c_{i+1}…c_N, x)‖²$. Relative,
    worst i.
    Number: Relative error of the output.
    Control: $W_{i−2}$ in the step, as a note prints it
    """


@claim("D", "bound", check=at_least("skew", 0.1), margin=0, control=put(skew="skew_quadratic"))
def D19c(dataset):
    """The left-consuming step is no gradient: as a function of $W$ its Jacobian is far from symmetric.

    Margin: 0.1 minus the median of $‖J − Jᵀ‖/‖J‖$, J by automatic differentiation; √2 sin of an angle that is 0 only by
    chance.
    Slack: any skew shows it; gradient steps have none, to rounding.
    Control: gradient steps of a squared error
    """


@claim("D", "bound", margin=0, control=put(rank="rank_least"))
def D20(dataset):
    """Its $W_N − W₀$ does not have rank 1: the rank is 2 or more with softmax attention and recurrent layers.

    Margin: 2 minus the smallest rank; singular values above $10⁻¹⁰$ of the largest count. In linear attention
    of one head, with labels without noise, it is at most d.
    Slack: Rank 1 is refuted by any rank of 2; how much larger it is depends on the layer and on N.
    Control: $ΔW(C)$ of Theorem 2.2
    """
    return Discrepancy(2 - dataset["rank"].isel(case=(dataset.net != "linear attention").values).min(skipna=False))


@claim("D", "bound", margin=0, control=put(order="order_least"))
def D20e(dataset):
    """Its end depends on the order of the context even where $W₀ + ΔW(C)$ does not.

    Margin: 0.1 minus the median of $‖W_N − W_N'‖/‖W_N − W₀‖$, the context reversed, for each kind of attention without
    positions.
    Moved: from 0.01 to 0.3 after a look at the results, and to 0.1, as in D18c, when the kinds came to be judged one by
    one: the median over all of them had hidden linear attention.
    Control: $W₀ + ΔW(C)$
    """
    return Discrepancy(0.1 - medians(of_nets(dataset, PATHS).order))
