"""Numbers in the alternative texts on the paper itself, by a second route: named entries reduced by numpy, and identities."""

import numpy as np
from scipy.stats import gmean

from tests.papers.prose import both, ends, tells


def over(reduce, values, *dims):
    """Return values reduced by a function of numpy, over networks if over nothing else."""
    dims = dims or ("seed",)
    return reduce(values.transpose(*dims, ...).values.astype(float), tuple(range(len(dims))))


def mean(values, *dims):
    return over(np.mean, values, *dims)


def outer(values):
    """Return what is at the first and at the last place."""
    return values[0], values[-1]


# --- one block ---


@tells("dherin-identity")
def identity(d):
    """Errors of exactly 0 are drawn at the least value of the axis; one token is the least part that is left out."""
    one = d.sel(mlp="one hidden layer")[{"size": np.flatnonzero(d.share)}]
    patched, bare = (np.median(np.where(each > 0, each, 3e-17), -1) for each in (one.error, one.error_bare))
    return np.median(patched), *bare[:, one["size"].values.argmin()], *ends(bare[:, one.share.values.argmax()])


@tells("dherin-conditioning")
def conditioning(d):
    """The lengths from the largest on, then two errors that stay and two that climb; epsilon is named twice."""
    full = both("dherin-conditioning")[1]
    found = {name: ends(over(np.median, d[name], "network")) for name in d.data_vars if name != "norm_theory"}
    climb = full.epsilon, found["error_epsilon"][1], full.nudge, found["error_nudged"][1], full.epsilon
    return *found["length"][::-1], *found["error"], *found["error_single"], *climb


@tells("dherin-other-sites")
def other_sites(d):
    return ends([np.sort(d.error.sel(site=site), -1)[:, -1] for site in d.site.values])


@tells("dherin-query-dependence")
def query_dependence(d):
    """Cosines of the axis and of the peaks; bins beside 0 and before 1, where five pairs are in them."""
    seen = np.where(d.pairs < 5, np.nan, d.miss)
    middle = [np.nanmean(each[:, [9, 10]]) for each in seen]
    return -1, 1, 0, 1, 0, *middle, *mean(d.miss_bare, "replicate"), *ends(seen[:, :, 19]), 1


@tells("dherin-joint-patch")
def joint_patch(d):
    """Beyond the rank that is found; the least of the means on the logarithmic axis."""
    ranks = d.rank_found.values[:, 0]
    errors = gmean(np.maximum(d.error, 3e-17), -1)
    least = [np.sort(row[d.K.values > rank])[0] for row, rank in zip(errors, ranks, strict=True)]
    return np.ravel([*zip(least, ranks, strict=True)])


@tells("dherin-placebo")
def placebo(d):
    return *ends(*(d.error.sel(vector=each) for each in d.vector.values)), 0


# --- implicit dynamics ---


@tells("dherin-dynamics")
def dynamics(d):
    return np.ravel([ends(d[name]) for name in ("step", "literal", "left_rate")])


@tells("dherin-linear-loss")
def linear_loss(d):
    """The falls of the losses are the squared moves together; without a token all labels give one error."""
    trained, false = d.sel(net="trained"), ["shuffled labels", "noise tokens"]
    errors, N = trained.error, d.i.values.max()
    tops = [mean(errors.sel(kind=kind)).max() for kind in false]
    start = mean(errors.sel(kind=false[1], i=0))
    return 0, *mean(trained.fall_of_moves.sel(i=N)), start, *mean(errors.sel(i=N)), *tops


@tells("dherin-left-consuming")
def left_consuming(d):
    """The ratio is 1 after one token, for every kind."""
    last, ranks = d.i.max(), d.ranks.sel(kind="trained softmax attention", share=[1e-10, 0.01])
    return d.ratios.sel(i=1)[0], *ends(d.ratios.sel(i=last)), *ranks.sel(i=last).values, d.rank_least.max()


# --- agreement ---


@tells("dherin-agreement")
def agreement(d):
    """The patch has the loss of the context."""
    loss, apart = d.loss.sel(way="patch"), {way: over(np.max, d.difference.sel(way=way)) for way in d.way.values}
    stale, second = apart["the last mark's patch"], np.sort(d.step)[1]
    single = over(np.max, d.difference_single.sel(way="patch"))
    start = mean(loss.sel(step=0)), mean(loss.sel(step=second)), second, *ends(mean(d.loss.sel(way="no patch")))
    return *start, *ends(apart["patch"]), *ends(single), stale[1], stale[-1], *ends(apart["another task's patch"])


@tells("dherin-agreement-deep")
def agreement_deep(d):
    gate, up, down = (np.nanmin(d["size"].sel(matrix=name), -1) for name in ("W_gate", "W_up", "W_down"))
    patch, half, none = (d.mean_single.sel(way=way) for way in ("patch", "no residual patch", "no patch"))
    return *ends(gate, up), *ends(down), *ends(patch), *ends(half, none)


# --- convergence ---


@tells("dherin-marginal-updates")
def marginal_updates(d):
    """The line 1/n, then updates without softmax, and two scaled readings after 1, 10 and all tokens."""
    here = [*d.sel(case="trained", n=[1, 10, d.n.max()])[["scaled", "apart"]].to_dataarray().values.ravel()]
    return 1, np.mean(d.marginal.sel(case="no normalisation")), *here, d.apart.sel(case="labels are noise", n=d.n.max())


@tells("dherin-layers-compared")
def layers_compared(d):
    """The line 1/n, the prediction 0 and the line again."""
    return 1, 0, 1, *mean(d.share.sel(layer="GRU", state=["trained", "untrained"], n=d.n.max()))


# --- finetuning ---


@tells("dherin-finetuning")
def finetuning(d):
    """Rates at which the loss falls, the paper's first; the best rate with each factor is named with it."""
    rate, end = both("dherin-finetuning")[1].rate, d.sel(i=100)
    swept = {each: mean(end.loss.sel(rate=each, factor=1.0)) for each in d.rate.values if each < 0.1 and each != rate}
    best = [min(zip(mean(end.loss.sel(factor=factor)), d.rate.values, strict=True))[1] for factor in (1.0, 0.5)]
    half, whole = (mean(end.loss_own.sel(factor=factor)) for factor in (0.5, 1.0))
    patch = np.mean(d.loss_before), mean(end.loss_patch)
    return 0, 100, *patch, half, rate, whole, *np.ravel([*swept.items()]), best[0], 1, best[1]


@tells("dherin-finetuning-scales")
def finetuning_scales(d):
    """Before finetuning the loss is that of the network, over all tasks and over few."""
    by_scale = np.ravel([(mean(d.loss_scaled.sel(scale=scale, i=100)), scale) for scale in (0.6, 1.7)])
    rate = both("dherin-finetuning")[1].rate
    return np.mean(d.loss_before), mean(d.loss_patch.sel(i=100)), rate, np.mean(d.loss_few), *by_scale


def true_and_mirrored(d):
    """Return the last alignments, of which the gap is stored by itself: each from the other and the gap."""
    gap, true, mirrored = (mean(each.sel(i=100)) for each in (d.mirror_gap, *true_mirrored(d.alignment)))
    return mirrored + gap, true - gap


def true_mirrored(values):
    return values.sel(labels="true"), values.sel(labels="mirrored task")


@tells("dherin-alignment")
def alignment(d):
    start, (end, mirrored) = mean(d.alignment.sel(labels="true", i=1)), true_and_mirrored(d)
    controls = np.abs(mean(d.alignment.sel(labels=["shuffled", "another task"], i=100)))
    left = max(controls), np.mean(d.alignment_untrained.sel(i=100)), *ends(mean(d.share))
    return start, end, *left, mirrored, mean(d.alignment_label.sel(i=100)), mean(d.answer.sel(i=100))


@tells("dherin-alignment-direction")
def alignment_direction(d):
    """One example is all that finetuning on it can see: there kappa is 1."""
    towards, predicted = (mean(each) for each in (d.towards_mean, d.towards_mean_theory))
    seen = mean(d.ceiling_of, "seed", "task")
    return *outer(towards), *outer(predicted), 0, *outer(seen), 1, mean(d.share_squared_first.sel(i=100))


@tells("dherin-two-starts")
def two_starts(d):
    one, many = true_and_mirrored(d), [mean(each.sel(i=100)) for each in true_mirrored(d.joint)]
    return *one[0], *one[1], np.mean(d.share.sel(i=100)), *many[0], *many[1]
