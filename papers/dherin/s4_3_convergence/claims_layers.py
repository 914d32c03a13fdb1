"""Claims D28 and D29: section 4.3, recurrent layers, and whether falling updates say anything about learning."""

import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy, distance_over_seeds, over_seeds

AVERAGING = "softmax attention"


def _flat(dataset: xr.Dataset, layers: list[str]) -> Discrepancy:
    return distance_over_seeds(dataset.slope.sel(layer=layers))


def _attention_as(layers: list[str]):
    """Return the control in which attention stands where these layers are asked for."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        return xr.concat([dataset.sel(layer=AVERAGING).assign_coords(layer=name) for name in layers], "layer")

    return control


def _worse(layer: str):
    """Return the check: attention's mean error minus that of each network of this layer, over mean y^2; below 0 if worse."""

    def check(dataset: xr.Dataset) -> Discrepancy:
        cell = dataset.sel(state="trained")
        own, other = cell.sel(layer=layer), cell.sel(layer=AVERAGING)
        error = (own.loss_end_se**2 + (other.loss_end_se**2).mean("seed") / other.sizes["seed"]) ** 0.5
        return Discrepancy((other.loss_end.mean("seed") - own.loss_end) / own.loss_zero, 2 * error / own.loss_zero)

    return check


def _error(layer: str, state: str):
    """Return the reading: error after N examples over mean y^2, by network."""
    return lambda dataset: (dataset.loss_end / dataset.loss_zero).sel(layer=layer, state=state)


def _perfect(layer: str):
    """Return the control in which a layer makes no error, as least squares would."""
    return lambda dataset: dataset.assign(loss_end=dataset.loss_end.where(dataset.layer != layer, 0))


def _best(dataset: xr.Dataset) -> float:
    return float(min(dataset.loss_rnn.min(), dataset.loss_rnn_faster.min()))


def _states_swapped(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign_coords(state=dataset.state.values[::-1])


D28 = Claim(
    id="D28",
    paper="dherin",
    section="4.3",
    sentence="With an RNN as contextual layer (tanh RNN, GRU; trained or not) the marginal updates do not fall: slope 0.",
    confidence="S",
    kind="rate",
    experiment="dherin-layers-compared",
    margin=0.2,
    reason="|log-log slope| from n = 10 on, of the mean over trials. Attention has −1. That v4 uses these RNNs is not known.",
    check=lambda dataset: _flat(dataset, ["tanh RNN", "GRU"]),
    control=_attention_as(["tanh RNN", "GRU"]),
    control_sentence="softmax attention in their place",
)

D28b = Claim(
    id="D28b",
    paper="dherin",
    section="4.3",
    sentence="The reason in the GRU: the share of the newest token in the state stays the same along the prompt.",
    confidence="D",
    kind="rate",
    experiment="dherin-layers-compared",
    margin=0.2,
    reason="|log-log slope| of the mean of 1 − u from n = 10 on, trained. In attention the share falls like 1/n.",
    check=lambda dataset: distance_over_seeds(dataset.share_slope.sel(layer="GRU", state="trained")),
    control=lambda dataset: dataset.assign(
        share_slope=dataset.share_slope.where(dataset.layer != "GRU", dataset.share_slope.sel(layer=AVERAGING))
    ),
    control_sentence="the weight of the newest token in attention",
)

D29 = Claim(
    id="D29",
    paper="dherin",
    section="4.3",
    sentence="Updates that do not fall go with poor in-context learning: the GRUs do worse than attention.",
    confidence="S",
    kind="bound",
    experiment="dherin-layers-compared",
    margin=0,
    reason="Attention's mean error minus that of each GRU after N examples, over mean y²; trained alike, on all prefixes.",
    check=_worse("GRU"),
    control=_perfect("GRU"),
    control_sentence="least squares in place of the GRU",
    recorded=FAILS,
)

D29b = Claim(
    id="D29b",
    paper="dherin",
    section="4.3",
    sentence="Updates that do not fall go with poor in-context learning: the tanh RNNs do worse than attention.",
    confidence="S",
    kind="bound",
    experiment="dherin-layers-compared",
    margin=0,
    reason="As D29, for these three networks. Depends on the training: D29f.",
    check=_worse("tanh RNN"),
    control=_perfect("tanh RNN"),
    control_sentence="least squares in place of the tanh RNN",
)

D29c = Claim(
    id="D29c",
    paper="dherin",
    section="4.3",
    sentence="Falling updates are not necessary: the GRUs come below a twentieth of the label variance.",
    confidence="D",
    kind="bound",
    experiment="dherin-layers-compared",
    margin=0.05,
    reason="Error after N examples over mean y², mean over networks. That their slope is 0 is D28.",
    check=lambda dataset: over_seeds(_error("GRU", "trained")(dataset)),
    control=_states_swapped,
    control_sentence="the untrained GRU",
)

D29d = Claim(
    id="D29d",
    paper="dherin",
    section="4.3",
    sentence="Falling updates are not sufficient: untrained attention has half the error of the prediction 0, or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-layers-compared",
    margin=-0.5,
    reason="Minus the error after N examples over mean y², mean over networks. Its slope of −1 is D27, and in the figure.",
    check=lambda dataset: over_seeds(-_error(AVERAGING, "untrained")(dataset)),
    control=_states_swapped,
    control_sentence="trained attention",
)

D29e = Claim(
    id="D29e",
    paper="dherin",
    section="4.3",
    sentence="After training the prediction moves less than W A_n: by less than 0.7 of it, in each of the three layers.",
    confidence="D",
    kind="bound",
    experiment="dherin-layers-compared",
    margin=0.7,
    reason="Ratio of two motions, each the steps at n > N/2 over the spread between trials. At 1 the prediction moves alike.",
    check=lambda dataset: over_seeds((dataset.moved_output / dataset.moved_hidden).sel(state="trained")),
    control=_states_swapped,
    control_sentence="the untrained layers",
)

D29f = Claim(
    id="D29f",
    paper="dherin",
    section="4.3",
    sentence="Updates that do not fall do not hold a tanh RNN above attention: the best of six has 0.75 of its error or less.",
    confidence="D",
    kind="bound",
    experiment="dherin-rnn-rate",
    margin=0.75,
    reason="Least error of two rates and three starts over attention's mean error. One network is enough for the sentence.",
    check=lambda dataset: Discrepancy(_best(dataset) / dataset.loss_attention.mean()),
    control=lambda dataset: dataset.assign(loss_rnn=dataset.loss_rnn_start, loss_rnn_faster=dataset.loss_rnn_start),
    control_sentence="the tanh RNNs before training",
)

D29g = Claim(
    id="D29g",
    paper="dherin",
    section="4.3",
    sentence="All six of these tanh RNNs have the slope 0, whatever their error.",
    confidence="D",
    kind="rate",
    experiment="dherin-rnn-rate",
    margin=0.2,
    reason="|log-log slope| of each network. As D28.",
    check=lambda dataset: Discrepancy(abs(xr.concat([dataset.slope_rnn, dataset.slope_rnn_faster], "rate"))),
    control=lambda dataset: dataset.assign(slope_rnn=dataset.slope_attention),
    control_sentence="attention in place of half of them",
)
