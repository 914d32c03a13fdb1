"""Claims D8 to D10: section 2, other places, vectors that carry no context, and a small A(x)."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy

ATTENTION = ["W_O", "W_V"]


def _growth(dataset: xr.Dataset) -> Discrepancy:
    """Half the powers of ten by which a shrinks, minus those by which the error of the nudged block grows."""
    error = np.log10(dataset.error_nudged.median("network").clip(1e-17))
    return Discrepancy(0.5 * (dataset.k[-1] - dataset.k[0]) - (error[-1] - error[0]))


def _size_slope(dataset: xr.Dataset) -> Discrepancy:
    """Distance from −1 of the slope of log ‖ΔW‖ against log ‖A(x)‖, least squares in each block."""
    short = dataset.isel(k=slice(dataset.sizes["k"] // 2, None))
    length, norm = np.log(short.length), np.log(short.norm)
    apart = length - length.mean("k")
    return Discrepancy(abs((apart * norm).sum("k") / (apart**2).sum("k") + 1))


D8 = Claim(
    id="D8",
    paper="dherin",
    section="2",
    sentence="The first matrix is not special: b, W_out, b_out, W_O and W_V take up the context as exactly, each alone.",
    confidence="D",
    kind="identity",
    experiment="dherin-other-sites",
    margin=1e-13,
    reason="Largest relative error over blocks and Y. W_V needs one rank-1 term per head unless Y = C.",
    check=lambda dataset: Discrepancy(dataset.error),
    control=lambda dataset: dataset.assign(error=dataset.error_fault),
    control_sentence="A(C, x)'s reading in the row; biases: nothing subtracted",
)

D8b = Claim(
    id="D8b",
    paper="dherin",
    section="2",
    sentence="W_Q and W_K can take up nothing when no context is kept: with x alone the output does not depend on them.",
    confidence="D",
    kind="identity",
    experiment="dherin-other-sites",
    margin=1e-13,
    reason="Relative change of the output when both are drawn anew, Y = C.",
    check=lambda dataset: Discrepancy(dataset.scores.isel(size=-1)),
    control=lambda dataset: dataset.assign(scores=dataset.scores.isel(size=[0])),
    control_sentence="most of the context kept",
)

D8c = Claim(
    id="D8c",
    paper="dherin",
    section="2",
    sentence="Attention matrices cannot take up a context exactly without new biases, here read for one query at a time.",
    confidence="S",
    kind="bound",
    experiment="dherin-other-sites",
    margin=0,
    reason="1e-6 minus the largest error over blocks, the least over W_O, W_V and Y. The summary of v3 names no quantifier.",
    check=lambda dataset: Discrepancy(1e-6 - dataset.error.sel(site=ATTENTION).max("network")),
    control=lambda dataset: dataset.assign_coords(site=["W_O", "b", "W_V", "b_out", "W", "W_out"]),
    control_sentence="the MLP's matrices, which can",
    recorded=FAILS,
)

D9 = Claim(
    id="D9",
    paper="dherin",
    section="2",
    sentence="The identity holds for any u in the place of A(C, x): tried are shuffled labels, another task, Gaussian noise.",
    confidence="D",
    kind="identity",
    experiment="dherin-placebo",
    margin=1e-13,
    reason="Largest relative error against f(W u + b) over prompts and trained networks.",
    check=lambda dataset: Discrepancy(dataset.error),
    control=lambda dataset: dataset.assign(error=dataset.error_real),
    control_sentence="against the block with its own context",
)

D9b = Claim(
    id="D9b",
    paper="dherin",
    section="2",
    sentence="What the vector knows decides: the own context's patch has less than half the squared error of each of these.",
    confidence="D",
    kind="bound",
    experiment="dherin-placebo",
    margin=0.5,
    reason="Risk of the own context over the least risk of the others, each trained network. Exactness is the same for all.",
    check=lambda dataset: Discrepancy(dataset.risk.isel(vector=0) / dataset.risk.isel(vector=slice(1, None)).min("vector")),
    control=lambda dataset: dataset.isel(vector=[1, 0, 2, 3]),
    control_sentence="shuffled labels in the place of the own context",
)

D10 = Claim(
    id="D10",
    paper="dherin",
    section="2",
    sentence="A small ‖A(x)‖ does not cost accuracy: with queries down to 1e-8 of their length the error stays at rounding.",
    confidence="D",
    kind="identity",
    experiment="dherin-conditioning",
    margin=1e-13,
    reason="Largest relative error over blocks and lengths, float64.",
    check=lambda dataset: Discrepancy(dataset.error),
    control=lambda dataset: dataset.assign(error=dataset.error_epsilon),
    control_sentence="1e-8 added to the denominator",
)

D10b = Claim(
    id="D10b",
    paper="dherin",
    section="2",
    sentence="The same in float32.",
    confidence="D",
    kind="bound",
    experiment="dherin-conditioning",
    margin=1e-5,
    reason="Largest relative error; one rounding in float32 is 6e-8.",
    check=lambda dataset: Discrepancy(dataset.error_single),
    control=lambda dataset: dataset.assign(error_single=dataset.error_epsilon),
    control_sentence="1e-8 added to the denominator",
)

D10c = Claim(
    id="D10c",
    paper="dherin",
    section="2",
    sentence="It costs size: ‖ΔW‖ grows like 1/‖A(x)‖ as A(x) shrinks.",
    confidence="D",
    kind="rate",
    experiment="dherin-conditioning",
    margin=0.05,
    reason="Log-log slope over the shorter half of the lengths minus −1, worst block. W ΔA still changes a little there.",
    check=_size_slope,
    control=lambda dataset: dataset.assign(norm=dataset.norm_epsilon),
    control_sentence="1e-8 added to the denominator: the norm falls again",
)

D10d = Claim(
    id="D10d",
    paper="dherin",
    section="2",
    sentence="And it costs reach: a fixed small change of A(x) upsets the patched block the more, the smaller ‖A(x)‖ is.",
    confidence="D",
    kind="bound",
    experiment="dherin-conditioning",
    margin=0,
    reason="The error, in powers of ten, grows at least half as fast as A(x) shrinks. For very small A(x) it grows as fast.",
    check=_growth,
    control=lambda dataset: dataset.assign(error_nudged=dataset.error),
    control_sentence="the block at A(x) itself",
)
