"""Claims D60 to D71: classes of a library of language models, patched within their own forward."""

import numpy as np
import xarray as xr

from icl_lib.companion import Discrepancy, claims_of, exchanged, over, put, replaced

ROUNDING = 2e-6
"""Float32: some blocks of sums over hundreds of numbers, four times what a prototype found."""
EXACT = ["all matrices", "last alone"]


def _either(dataset: xr.Dataset, patch: list[str] | str, precision: str) -> xr.DataArray:
    """Errors of the logits and of the tokens behind the blocks."""
    return dataset[["error", "stream"]].sel(patch=patch, precision=precision).to_dataarray()


claim = claims_of("dherin-model-classes", section="sequel 2")


@claim("D", "identity", margin=ROUNDING, control=exchanged("patch", "last alone", "reads alone"))
def D60(dataset):
    """Twelve classes (dense, parallel, with a norm behind, with experts) give, patched within their own forward and without
    the context, the logits and the token behind every block that they give with it; the last matrices alone are enough.

    Margin: Float32; what the class rounds itself, in some blocks of sums over hundreds of numbers. Four times what a prototype
    found, fixed before the run. Worst class, model, query and block.
    Number: Largest relative error.
    Control: what reads z is patched, the last matrices are not
    """
    return Discrepancy(_either(dataset, EXACT, "float32"))


@claim("D", "bound", margin=1, quick_margin=1.5, rounding=True, control=exchanged("made", "in bfloat16", "in float32"))
def D61(dataset):
    """In bfloat16 the error of a patch in the logits is smaller, in every class, than that of the class's own rounding at the
    same query; a patch that is made in float32, and then rounded, is off by more than that.

    Margin: Patches of the last matrices. Geometric means over queries and models of the first error over the second, and for
    the patch made in float32 of the second over the first; worst class. A trial with other models gave 0.18 to 0.41 and 0.34
    to 0.64, before the run. At quick, of two queries a class, 1.5, set with quick runs
    in view.
    Number: Largest of these ratios.
    Control: the two patches exchanged
    """
    share = np.exp(np.log(dataset.share).mean(("seed", "query"), skipna=False))
    return Discrepancy(np.append(share.sel(made="in bfloat16"), 1 / share.sel(made="in float32")))


@claim("D", "identity", margin=ROUNDING, control=exchanged("patch", "position 0", "no patch"))
def D62(dataset):
    """Exactness says nothing about learned positions: in GPT-2, told that it is the first, a token is patched as exactly.

    Margin: As D60. The last matrix takes up the other position as it takes up the missing context. With rotary
    positions, as in the other classes, a token with nothing before it is the same everywhere.
    Number: Largest relative error.
    Control: no patch
    """
    return Discrepancy(_either(dataset.sel(model="GPT-2"), "position 0", "float32"))


claim = claims_of("dherin-model-capacity", section="3.4 (v4)")


@claim("D", "formula", of="capacity", margin=0.01, near=("one token fewer", "the width of the stream", "both widths"))
def D63(dataset):
    """In GPT-2 and Llama one joint patch serves as many random tokens as the hidden layer is wide, $M = H$, and not one more,
    whatever the width of the stream.

    Margin: Relative; one token of the widest layer is more. Served: no token behind a block is off by over a millionth.
    Number: Relative distance of the most tokens served from $H$.
    """


@claim("D", "bound", margin=0, control=put(new="error"))
def D64(dataset):
    """So a small error on the fitted tokens shows nothing: on as many new ones the patch leaves over half of the distance to
    the logits with the context.

    Margin: 0.5 minus the share that is left, for every $M ≤ H$; fixed before the run.
    Slack: what is left is about the whole distance, and often several times as much; a half is what a reader would call most.
    Control: the fitted tokens themselves
    """
    new, served = xr.broadcast(dataset.new, dataset.H >= dataset.M)
    return Discrepancy(0.5 - new.values[served.values])


@claim("D", "bound", margin=ROUNDING, control=replaced("gain", "one factor", "equations"))
def D65(dataset):
    """Behind a norm one change of the last matrix and of the gain serves several tokens exactly, if the gain solves
    $Σ_d y_{td}² a_d = Dρ_t$, linear in $a_d$, the inverse square of its entry.

    Margin: As D60, for up to an eighth as many tokens as the stream is wide, all different; in a first run one text began with
    one token twice, which is the case of D66. We know of no source for these equations.
    Number: Largest relative error of a token behind a block.
    Control: one factor on the whole gain
    """
    some = dataset.gain_error.sel(gain="equations")
    return Discrepancy(some.where((some.rows > 1) & (some.rows <= 8), drop=True))


@claim("D", "bound", margin=ROUNDING, control=replaced("text", "random tokens", "one token repeated"))
def D66(dataset):
    """Exact logits may come of a patch of no use: where one token is repeated, Llama's are as exact in half of the networks or
    more, by a patch over 10,000 times as large as the weights, which leaves a token behind a block off by over a thousandth.

    Margin: As D60, for the largest of three numbers: the error of the logits, this margin times 10,000 over the size, relative
    to that of the weights, and this margin over 1000 errors of the token. Fixed before the run, where a prototype found a size
    of 600,000; a thousandth after a look at errors of 0.02 to 0.07.
    Number: The largest of the relative error, of 0.02 over the size and of two billionths over the error of the token, in the
    median network.
    Moved: the third number was added after a review; before it the patch was called exact. Every network was asked for, until
    one of 24 kept an error of 2% with an older PyTorch: what the patch reads is rounding.
    Slack: how far the size is above 10,000 is a matter of how float32 rounds.
    Control: other tokens
    """
    cell = dataset.sel(text="one token repeated", fit="all directions")
    large, inexact = ROUNDING * 10_000 / cell.repeat_size, ROUNDING / 1000 / cell.repeat_stream
    largest = np.maximum(cell.repeat_error, np.maximum(large, inexact))
    return Discrepancy(largest.quantile(0.5, "seed", method="lower", skipna=False))


def _right(values: xr.DataArray) -> Discrepancy:
    """Return the mean share of right answers over contexts and networks of a class, with its interval."""
    return over(values.stack(case=("network", "context")), "case")


def _at_least(share: float, values: xr.DataArray) -> Discrepancy:
    found = _right(values)
    return Discrepancy(share - found.value, found.two_se)


claim = claims_of("dherin-recall", section="3.4 (v4)")


@claim("D", "bound", margin=0, control=exchanged("way", "last alone", "placebo"))
def D67(dataset):
    """In small models that look up pairs in the context, one static patch answers new queries for the keys that its queries
    asked for: over 70% right, with nothing of the context left.

    Margin: 0.7 minus the share, mean over three networks of each class and their contexts. A prototype found 0.79 to 0.96.
    Control: the patch of a placebo, a context of the same keys with other values
    """
    return _at_least(0.7, dataset.accuracy.sel(group="asked", way=["last alone", "all matrices"]))


@claim("D", "bound", margin=0.25, quick_margin=0.4, control=exchanged("group", "not asked", "asked"))
def D68(dataset):
    """It does not stand for the context: of the keys in it that no query asked for, it answers under a quarter.

    Margin: Share of right answers, as D67; guessing gives 1/16, and a prototype found 0.05 to 0.15. At quick, of few contexts,
    0.4. Static patches of regression answer every query (D54), since one vector answers all there.
    Slack: under a quarter is far below what the context gives, and guessing is four times below it.
    Control: the keys that were asked for
    """
    return _right(dataset.accuracy.sel(group="not asked", way=["last alone", "all matrices"]))


@claim("D", "bound", margin=0.25, quick_margin=0.4, control=exchanged("way", "placebo", "last alone"))
def D69(dataset):
    """What it answers comes from its own context: fitted to the same queries behind a placebo, it answers under a quarter.

    Margin: Share of right answers for the keys that were asked for, as D68; a prototype found 0.07 to 0.10. At quick 0.4. We
    know of no source with a placebo context.
    Slack: as D68.
    Control: the context's own patch
    """
    return _right(dataset.accuracy.sel(group="asked", way="placebo"))


@claim("D", "bound", margin=0, quick_margin=0.15, control=exchanged("way", "distilled", "context"))
def D70(dataset):
    """Gradient distillation of the same matrices on the same queries does the same: over 70% right for the keys that were asked
    for, under a quarter for the others.

    Margin: 0.7 minus the first share, and the second minus 0.25, as D67 and D68. A prototype found 0.88 to 0.95, and 0.05 to
    0.08. At quick, of few contexts, 0.15 more for both: 0.55 and 0.4.
    Slack: as D68.
    Control: the context itself, which answers all
    """
    cell = dataset.accuracy.sel(way="distilled")
    asked, other = _at_least(0.7, cell.sel(group="asked")), _right(cell.sel(group="not asked"))
    return Discrepancy(
        np.append(asked.value, other.value - 0.25),
        np.append(asked.two_se, other.two_se),
    )


@claim("D", "bound", margin=0, quick_margin=0.15, control=exchanged("seen", "in view", "neither"))
def D71(dataset):
    """With half of the pairs in view and a patch for two of the others, over three quarters of the queries for the pairs in
    view are still answered, and over 95% when the fit asked for them too.

    Margin: 0.75 and 0.95 minus the shares, as D67. A prototype found 0.53 to 0.62 for the first; trial runs on other contexts
    of these networks gave 0.84 to 1.00, before the run. At quick, of few contexts, 0.15 more; at first 0, which other seeds
    left undecided.
    Control: the pairs that are neither in view nor asked for
    """
    seen = dataset.kept.sel(seen="in view")
    one, all_of_them = (_right(seen.sel(view=view)) for view in ("asked of the others", "asked of all"))
    return Discrepancy(
        np.append(0.75 - one.value, 0.95 - all_of_them.value),
        np.append(one.two_se, all_of_them.two_se),
    )
