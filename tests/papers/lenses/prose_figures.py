"""Numbers in the alternative texts of this part, by a second route."""

import numpy as np

from tests.papers.prose import ends, tells

BLOCK, EVERY, DECODERS = "one block, N = 100", "one block, every length to 50", ["decoder, N = 10", "decoder, N = 20"]


@tells("lenses-static-step")
def static_step(d):
    """The medians of the errors themselves, without a change and with the change of another query."""
    medians = [np.median(errors.transpose("context", "query", ...), (0, 1)) for errors in (d.bare, d.other)]
    return min(map(np.min, medians)), max(map(np.max, medians))


@tells("lenses-one-pass")
def one_pass(d):
    return *ends(d.context.sel(M=160)), *ends(d.descent.sel(M=160)), 1 - np.exp(-1)


@tells("lenses-one-norm")
def one_norm(d):
    """Of the least dimension; a factor near 1 is named last."""
    least = d.sel(d=3)
    return least.uncorrected.sel(norm="root mean square").max(), *ends(least.corrected.sel(norm="mean and deviation")), 1


@tells("lenses-own-optimum")
def own_optimum(d):
    return 3, *ends((d.attention / d.block_theory).isel(mean=d["mean"].values.argmax()))


@tells("lenses-head-floor")
def head_floor(d):
    """2/(NH + 2) with one head and the shortest prompts, and the 1 of d + 1."""
    return 2 / (min(int(name.split("N=")[1]) for name in d.shape.values) + 2), 1


@tells("lenses-trained-blocks")
def trained_blocks(d):
    cell = d.sel(tasks="with a mean")
    return 4, 2, cell.unexplained.max(), 0, *ends(cell.unexplained_zero)


@tells("lenses-read-out")
def read_out(d):
    return d.tangent_theory.sel(scale=0.01).min(), d.tangent_theory.sel(scale=1).max()


@tells("lenses-token-distribution")
def token_distribution(d):
    return d.share.sel(d=2, x=1.5, N=5120, tokens=["Gaussian", "patterns"])


@tells("lenses-heads")
def heads(d):
    """The 1 of N - 1, the ratio 1, and the place of the least of (e^x/x)(1 + x/d) among those drawn."""
    (low,) = {float(min(d.x, key=lambda x: np.exp(x) / x * (1 + x / size))) for size in d.d.values}
    return 1, 1, low


@tells("lenses-one-vote")
def one_vote(d):
    start, trained = (d.vote_left.sel(stage=stage).mean("network") for stage in ("start", "trained"))
    return *ends(start), *ends(trained[:2]), trained[2]


@tells("lenses-own-and-others")
def own_and_others(d):
    return np.median(d.odds.isel(network=0), -1)


@tells("lenses-what-is-left")
def what_is_left(d):
    share = (d.curved / (d.curved + d.missed)).mean("seed")
    (block,), (decoder,) = (
        {*d.excess.mean("seed").sel(network=each).idxmax("k").values} for each in ([BLOCK, EVERY], DECODERS)
    )
    bars = share.sel(network=BLOCK, k=1), share.sel(network=BLOCK, k=100), share.sel(network=EVERY, k=50)
    return block, decoder, *bars, share.sel(network=DECODERS, k=1).mean()


@tells("lenses-any-prior")
def any_prior(d):
    return ends(d.risk)


@tells("lenses-selectivity-alignment")
def selectivity_alignment(d):
    """One block has one layer, and selects most at the longest contexts."""
    end = d.sel(network=BLOCK, k=100)
    (least,) = {*d.whole.sel(network=DECODERS).mean("seed").idxmin("k").values}
    return end.selectivity.sel(layer=1).mean(), end.whole.mean(), least


@tells("lenses-task-sets")
def task_sets(d):
    """Up to as many tasks as dimensions an error stays."""
    sizes = [[int(part.split("=")[1]) for part in name.split()] for name in d.set.values]
    return ends(d.end[[k <= size for size, k in sizes]])


@tells("lenses-lu-tasks")
def lu_tasks(d):
    few = d.sel(d=10, kappa=0.2)
    return 10, few.published, few.optimum, few.alone, 64
