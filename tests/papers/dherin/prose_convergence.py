"""What the pages of this part say of the published results: section 4.3, and the page on what the theory shows."""

import numpy as np

from tests.papers.prose import says

CONVERGENCE = "dherin_4_3_convergence"
SHOWS = "dherin_what_it_shows"
FALSE = ["shuffled labels", "noise tokens"]
LAYERS = ["tanh RNN", "GRU"]


def worse_by(d, layer):
    """Return the error of each trained network of a layer over the mean error of attention."""
    end = d.loss_end.sel(state="trained")
    return end.sel(layer=layer) / end.sel(layer="softmax attention").mean()


@says(CONVERGENCE, r"the constant is $\kappa$, read off the weights without any fit", "dherin-marginal-updates")
def constant_of_trained_attention(d):
    return bool((abs(d.scaled_late.sel(case="trained") - 1) < 0.05).all())


@says(
    CONVERGENCE,
    "The untrained block falls along the same line (D27). So does the trained block on noise",
    "dherin-marginal-updates",
)
def slopes_of_averages(d):
    return bool((abs(d.slope.sel(case=["trained", "untrained", "labels are noise"]).mean("seed") + 1) < 0.05).all())


@says(CONVERGENCE, "in linear attention, which sums, the updates do not fall at all", "dherin-marginal-updates")
def slope_of_a_sum(d):
    return bool(abs(d.slope.sel(case="no normalisation").mean()) < 0.05)


@says(CONVERGENCE, "over the 1000 of the full profile at 71 to 78%", "dherin-marginal-updates")
def falling_steps(d):
    falling = d.falling.drop_sel(case="no normalisation").mean("seed")
    return d.sizes["trial"], 100 * falling.min(), falling.max(), bool(falling.max() < 1)


@says(CONVERGENCE, r"stays below $\kappa$, at 0.8 or so", "dherin-marginal-updates")
def constant_of_untrained_attention(d):
    scaled = d.scaled_late.sel(case="untrained")
    return scaled.mean(), bool(scaled.max() < 1)


@says(CONVERGENCE, "In the panel of distances to $\\Delta W_\\infty$ noise labels leave the line", "dherin-marginal-updates")
def distance_with_noise_labels(d):
    return bool(d.apart_late.sel(case="labels are noise").min() > 2)


@says(CONVERGENCE, "The prediction follows the same law", "dherin-marginal-updates")
def slopes_of_the_prediction(d):
    return bool((abs(d.output_slope.drop_sel(case="no normalisation").mean("seed") + 1) < 0.1).all())


@says(
    CONVERGENCE,
    r"makes 11 to 16% of $\kappa$ in the second half of the context, in the full profile",
    "dherin-marginal-updates",
)
def tilt_in_kappa(d):
    tilt = 1 - (d.constant / d.constant_untilted).sel(part="late")
    return 100 * tilt.min(), tilt.max()


@says(CONVERGENCE, "What it neglects shrinks along the context (D26f)", "dherin-marginal-updates")
def neglected(d):
    off = abs(d.constant.mean("seed") - 1)
    return bool((off.sel(part="late") < 0.5 * off.sel(part="early")).all())


@says(
    CONVERGENCE,
    "the last of 50 tokens changes the update by more than its whole size, in the trained GRU by some 15% "
    "(attention: 5% in the full profile;",
    "dherin-layers-compared",
)
def last_token(d):
    last = d["last"].mean("seed")
    own = last.sel(state="trained")
    return d.n[-1], own.sel(layer="GRU"), own.sel(layer="softmax attention"), bool(last.sel(layer="tanh RNN").min() > 1)


@says(CONVERGENCE, "state hardly falls with $n$ (D28b), in attention it falls along", "dherin-layers-compared")
def share_of_the_newest_token(d):
    slope = d.share_slope.mean("seed")
    return bool(abs(slope.sel(layer="GRU")).max() < 0.05), bool(abs(slope.sel(layer="softmax attention") + 1).max() < 0.1)


@says(CONVERGENCE, "whose updates do not fall, is the best of the three by far", "dherin-layers-compared")
def best_layer(d):
    return bool(worse_by(d, "GRU").max() < 1 / 3), bool(worse_by(d, "tanh RNN").min() > 1)


@says(CONVERGENCE, "fall as they should, and it has learned nothing (D29d)", "dherin-layers-compared")
def untrained_attention(d):
    d = d.sel(layer="softmax attention", state="untrained")
    return bool(abs(d.slope.mean() + 1) < 0.05), bool((d.loss_end / d.loss_zero).mean() > 0.95)


@says(
    CONVERGENCE,
    "slopes are $-1$ or $0$ by the kind of layer, and errors spread over a factor of 30 or more at either slope",
    "dherin-layers-compared",
)
def slopes_and_errors(d):
    kinds = [d.sel(layer=layers) for layers in (["softmax attention"], LAYERS)]
    spread = [kind.loss_end.max() / kind.loss_end.min() for kind in kinds]
    level = [abs(kind.slope - slope).max() < 0.1 for kind, slope in zip(kinds, (-1, 0), strict=True)]
    return *[kind.slope.mean() for kind in kinds], 30, bool(min(spread) > 30), bool(all(level))


@says(CONVERGENCE, "all three end above attention", "dherin-layers-compared")
def ends_of_tanh_networks(d):
    above = worse_by(d, "tanh RNN") > 1
    return above.size == 3, bool(above.all())


@says(
    CONVERGENCE,
    "All six have the slope 0. Their errors differ by a factor of seven, with the initialisation and with the rate, in no "
    "fixed order. The best has half of attention's error (D29f).",
    "dherin-rnn-rate",
)
def six_networks(d):
    errors, slopes = np.append(d.loss_rnn, d.loss_rnn_faster), np.append(d.slope_rnn, d.slope_rnn_faster)
    faster = d.loss_rnn_faster < d.loss_rnn
    half = 0.45 < errors.min() / d.loss_attention.mean() < 0.55
    return slopes.mean(), bool(6.5 < errors.max() / errors.min() < 7.5), bool(faster.any() and not faster.all()), bool(half)


@says(CONVERGENCE, "five of the six do not reach attention", "dherin-rnn-rate")
def networks_behind_attention(d):
    errors = np.append(d.loss_rnn, d.loss_rnn_faster)
    return int((errors > d.loss_attention.max().item()).sum()) == 5


@says(CONVERGENCE, "as much as trials differ, and the prediction by about a fifth of that", "dherin-layers-compared")
def motions_of_the_trained(d):
    d = d.sel(layer="tanh RNN", state="trained").mean("seed")
    return bool(0.8 < d.moved_hidden < 1.2), bool(0.18 < d.moved_output / d.moved_hidden < 0.22)


@says(CONVERGENCE, "Before training the prediction moved as much as $WA_n$, or a little more.", "dherin-layers-compared")
def motions_of_the_untrained(d):
    d = d.sel(layer="tanh RNN", state="untrained").mean("seed")
    return bool(1 < d.moved_output / d.moved_hidden < 1.25)


@says(CONVERGENCE, "and one of six tanh RNNs does", "dherin-rnn-rate")
def networks_ahead_of_attention(d):
    errors = np.append(d.loss_rnn, d.loss_rnn_faster)
    return errors.size == 6, int((errors < d.loss_attention.min().item()).sum()) == 1


@says(CONVERGENCE, "prompts of 50 examples", "dherin-layers-compared")
def prompts_of_the_layers(d):
    return d.N[-1]


@says(
    CONVERGENCE, "There are three networks of each kind", "dherin-marginal-updates", "dherin-layers-compared", "dherin-rnn-rate"
)
def networks_of_a_kind(*datasets):
    return all(d.sizes["seed"] == 3 for d in datasets)


@says(SHOWS, "the same block before its training passes the theorem and learns nothing in context", "dherin-linear-loss")
def before_training(d):
    end = d.error.sel(net="untrained").isel(i=-1).mean("seed")
    return bool(end.sel(kind="true labels") > 0.95 * end.sel(kind=FALSE).min()), bool(end.min() > 2)


@says(SHOWS, "for any vector in the place of $A(C,x)$", "dherin-placebo")
def any_vector(d):
    return bool(d.error.max() < 1e-13)


@says(SHOWS, "Two updates from one context point in different directions (D6)", "dherin-query-dependence")
def directions_of_two_updates(d):
    return bool(d.cosine.mean(("context", "replicate")).max() < 0.6)


@says(
    SHOWS,
    "leaves more than 0.3 of the typical error (D6c), in the mean over networks about three quarters",
    "dherin-query-dependence",
)
def left_for_another_query(d):
    ratio = (d.error_swapped / d.error_bare).mean("context")
    return 0.3, bool(ratio.min() > 0.3), bool((abs(ratio.mean("replicate") - 0.75) < 0.03).all())


@says(
    SHOWS,
    "the GRU learns best and its updates soon stop falling, and untrained attention learns nothing",
    "dherin-layers-compared",
)
def recurrent_layers(d):
    end = d.loss_end / d.loss_zero
    best = end.sel(state="trained").mean("seed")
    nothing = end.sel(layer="softmax attention", state="untrained").mean() > 0.95
    gru = d.sel(layer="GRU", state="trained")
    fallen, rest = (gru.marginal.sel(n=n) / gru.marginal.sel(n=50) for n in (1, 10))
    level = bool((abs(gru.slope) < 0.1).all()), bool((fallen > 1.5).all()), bool((rest < 1.2).all())
    return bool(best.sel(layer="GRU") == best.min()), *level, bool(nothing)


@says(SHOWS, "trains them again, with another outcome", "dherin-rnn-rate")
def second_training(d):
    attention = d.loss_attention.mean()
    return bool((d.loss_rnn > attention).all()), bool(d.loss_rnn_faster.min() < attention)


@says(SHOWS, "less than half of its ceiling from ours (D33b), more from another (D33h)", "dherin-two-starts")
def of_the_ceiling(d):
    end = d.isel(i=-1).mean("seed")
    ours, other = (end.alignment.sel(labels="true") / end.share).values
    return bool(ours < 0.5), bool(other > 0.5)


@says(SHOWS, "writes the answer in aligns better than the context's (D34f)", "dherin-alignment")
def answer_written_in(d):
    return bool((d.answer > d.alignment.sel(labels="true")).all())
