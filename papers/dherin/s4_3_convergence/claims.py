"""Claims D26 to D29: section 4.3, how the update settles, and whether falling updates say anything about learning."""

import numpy as np
import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, Discrepancy, claims_of, distance_over_seeds, exchanged, over_seeds, put, replaced

SUMMING, AVERAGING = "no normalisation", "softmax attention"
UNTRAINED = exchanged("state", "trained", "untrained")
UNTILTED = put(constant="constant_untilted", constant_se="constant_untilted_se")


def _slope(case: str):
    """Return the check of a rate: |mean slope over networks + 1|."""
    return lambda dataset: distance_over_seeds(dataset.slope.sel(case=case), -1.0)


def _off(cell: xr.Dataset) -> Discrepancy:
    """Return how far the constants are from 1 in the mean over networks, each with trials of its own."""
    error = (cell.constant_se**2).sum("seed", skipna=False) ** 0.5 / cell.sizes["seed"]
    return Discrepancy(abs(cell.constant.mean("seed", skipna=False) - 1), 2 * error)


def _constant(motion: str):
    """Return the check of a motion's constant at n > N/2."""
    return lambda dataset: _off(dataset.sel(motion=motion, part="late"))


def _worse(layer: str):
    """Return the check: attention's mean error minus that of each network of this layer, over mean y^2; below 0 if worse."""

    def check(dataset: xr.Dataset) -> Discrepancy:
        cell = dataset.sel(state="trained")
        own, other = cell.sel(layer=layer), cell.sel(layer=AVERAGING)
        error = (own.loss_end_se**2 + (other.loss_end_se**2).mean("seed", skipna=False) / other.sizes["seed"]) ** 0.5
        better = other.loss_end.mean("seed", skipna=False) - own.loss_end
        return Discrepancy(better / own.loss_zero, 2 * error / own.loss_zero)

    return check


def _perfect(layer: str):
    """Return the control in which a layer makes no error, as least squares would."""
    return lambda dataset: dataset.assign(loss_end=dataset.loss_end.where(dataset.layer != layer, 0))


def _after_two(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(loss_end=dataset.loss.sel(N=2, drop=True))


claim = claims_of("dherin-marginal-updates")


@claim("S", "rate", check=_slope("trained"), margin=0.15, control=exchanged("case", "trained", SUMMING))
def D26(dataset):
    """With softmax attention the marginal updates $‖ΔW_n − ΔW_{n−1}‖$ fall towards 0, like $1/n$.

    Margin: |log-log slope + 1| from $n = 10$ on, of the mean over trials. The fall is the paper's, the rate is derived here.
    Control: the same weights in linear attention: values are summed, not averaged
    """


@claim("D", "approximation", check=_constant("step"), margin=0.06, control=UNTILTED)
def D26d(dataset):
    """In root mean square $n ‖ΔW_n − ΔW_{n−1}‖$ comes to $κ/‖A(x)‖$, a number read off the trained weights.

    Margin: |root mean square of the ratio − 1|, $n > N/2$, mean over networks, 2 s.e. over trials; queries 1.5 times as long.
    Terms of order $1/n$ make 0.02, sampling as much at quick.
    Moved: from 0.15, which did not see the term $b_g b_hᵀ$ of κ, an eighth of it here.
    Neglects: terms of order $1/n$: the average is a quotient, and the tokens so far are a sample (D26f)
    Control: I in place of $I + b_g b_hᵀ$ in κ
    """


@claim("D", "approximation", check=_constant("distance"), margin=0.06, control=UNTILTED)
def D26e(dataset):
    """$ΔW_n$ itself settles slower: in root mean square $√n ‖ΔW_n − ΔW_∞‖$ comes to the same $κ/‖A(x)‖$.

    Margin: As D26d. $ΔW_∞$ is computed from the weights, the query and the task's w.
    Number: |root mean square of the ratio − 1|, $n > N/2$, mean over networks, 2 s.e. over trials.
    Moved: from 0.15, as D26d.
    Neglects: as D26d
    Control: I in place of $I + b_g b_hᵀ$ in κ
    """


@claim("D", "bound", margin=0, control=exchanged("part", "late", "early"))
def D26f(dataset):
    """What these two numbers neglect shrinks along the context: they come nearer to $κ/‖A(x)‖$ by a half or more.

    Margin: Distance of the ratio from 1 at $n > N/2$ minus half of that at $n ≤ N/20$, mean over networks.
    Control: the two parts of the context exchanged
    """
    late, early = (_off(dataset.sel(part=part)) for part in ("late", "early"))
    return Discrepancy(late.value - 0.5 * early.value, np.hypot(late.two_se, 0.5 * early.two_se))


@claim("D", "rate", check=_slope("untrained"), margin=0.15, control=exchanged("case", "untrained", SUMMING))
def D27(dataset):
    """The marginal updates of an untrained block fall by the same law: slope −1.

    Margin: As D26, the networks before their training.
    Number: |log-log slope + 1| from $n = 10$ on, of the mean over trials.
    Control: values summed, not averaged
    """


@claim("D", "rate", check=_slope("labels are noise"), margin=0.15, control=exchanged("case", "labels are noise", SUMMING))
def D27b(dataset):
    """A trained block on labels that are noise, where there is nothing to learn, has the slope −1 too.

    Margin: As D26, labels from $N(0, d)$ that no w made.
    Number: |log-log slope + 1| from $n = 10$ on, of the mean over trials.
    Control: values summed, not averaged
    """


claim = claims_of("dherin-layers-compared")


@claim("S", "rate", margin=0.2, control=replaced("layer", AVERAGING))
def D28(dataset):
    """With an RNN as contextual layer (tanh RNN, GRU; trained or not) the marginal updates do not fall: slope 0.

    Margin: |log-log slope| from $n = 10$ on, of the mean over trials. Attention has −1. That v4 uses these RNNs is not known.
    Control: softmax attention in their place
    """
    return distance_over_seeds(dataset.slope.sel(layer=["tanh RNN", "GRU"]))


@claim("D", "rate", margin=0.05, control=replaced("layer", AVERAGING))
def D28b(dataset):
    """The reason in the GRU: the share of the newest token in the state stays the same along the prompt.

    Margin: |log-log slope| of the mean of $1 − u$ from $n = 10$ on, trained. In attention the share falls like $1/n$.
    Moved: from 0.2, after a look at the results.
    Control: the weight of the newest token in attention
    """
    return distance_over_seeds(dataset.share_slope.sel(layer="GRU", state="trained"))


@claim(
    "S",
    "bound",
    check=_worse("GRU"),
    margin=0,
    recorded=NOT_REPRODUCED,
    control=_perfect("GRU"),
    positive=replaced("layer", "tanh RNN", "GRU"),
)
def D29(dataset):
    """Updates that do not fall go with poor in-context learning: the GRUs do worse than attention.

    Margin: Attention's mean error minus that of each GRU after N examples, over mean $y²$; trained alike, on all prefixes.
    Control: least squares in place of the GRU
    Positive: the tanh RNNs in place of the GRUs (D29b)
    Missing: the recurrent networks of v4, their task and their training, of which the notes tell nothing
    Fails because: its retelling: the sentence is known from notes on v4, without a setting. In our blocks, of d = 2, the GRUs
    do best though their updates do not fall.
    """


@claim("S", "bound", part_of="D29", check=_worse("tanh RNN"), margin=0, control=_perfect("tanh RNN"))
def D29b(dataset):
    """Updates that do not fall go with poor in-context learning: three tanh RNNs, trained at the rate of attention, do worse
    than it does. At another rate one of them does better (D29f).

    Margin: As D29, for these three networks and this training alone.
    Number: Attention's mean error minus that of each tanh RNN after N examples, over mean $y²$.
    Control: least squares in place of the tanh RNN
    """


@claim("D", "bound", margin=0.015, control=_after_two)
def D29c(dataset):
    """Falling updates are not necessary: the GRUs come below 1.5% of the label variance.

    Margin: Error after N examples over mean $y²$, mean over networks. That their slope is 0 is D28.
    Moved: from a twentieth, after a look at the results.
    Control: the error after two examples, which determine w
    """
    return over_seeds((dataset.loss_end / dataset.loss_zero).sel(layer="GRU", state="trained"))


@claim("D", "bound", margin=-0.5, control=UNTRAINED)
def D29d(dataset):
    """Falling updates are not sufficient: untrained attention has half the error of the prediction 0, or more.

    Margin: Minus the error after N examples over mean $y²$, mean over networks. Its slope of −1 is D27, and in the figure.
    Control: trained attention
    """
    return over_seeds(-(dataset.loss_end / dataset.loss_zero).sel(layer=AVERAGING, state="untrained"))


@claim("D", "bound", margin=0.7, control=UNTRAINED)
def D29e(dataset):
    """After training the prediction moves less than $W A_n$: by less than 0.7 of it, in each of the three layers.

    Margin: Ratio of two motions, each the steps at $n > N/2$ over the spread between trials. At 1 the prediction moves alike.
    Control: the untrained layers
    """
    return over_seeds((dataset.moved_output / dataset.moved_hidden).sel(state="trained"))


claim = claims_of("dherin-rnn-rate")


@claim("D", "bound", margin=0.75, control=put(loss_rnn_faster="loss_rnn"))
def D29f(dataset):
    """Updates that do not fall do not hold a tanh RNN above attention: the best of six has 0.75 of its error or less.

    Margin: Least error of two rates and three initialisations over attention's mean error. One network is enough for the
    sentence.
    Control: the lower rate alone
    """
    best = min(dataset.loss_rnn.min(), dataset.loss_rnn_faster.min())
    return Discrepancy(best / dataset.loss_attention.mean())
