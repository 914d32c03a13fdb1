"""Claims D60 to D66: classes of a library of language models, patched within their own forward."""

import numpy as np
import xarray as xr

from icl_lib.companion import Discrepancy, claims_of, exchanged, put, replaced

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


@claim("D", "bound", margin=1, quick_margin=2, control=exchanged("patch", "last alone", "reads alone"))
def D61(dataset):
    """In bfloat16 a patch changes the logits by less than the class's own rounding has.

    Margin: Error of the patched logits over that of the logits with the context in bfloat16, to those in float32; largest
    over queries, worst class and model. A prototype found 0.02 to 0.5. At quick, of one query a model, twice that.
    Control: what reads z is patched, the last matrices are not
    """
    return Discrepancy(dataset.error.sel(patch=EXACT, precision="bfloat16") / dataset.own)


@claim("D", "identity", margin=ROUNDING, control=exchanged("patch", "position 0", "no patch"))
def D62(dataset):
    """Exactness says nothing about positions: told that it is the first, the token is patched as exactly.

    Margin: As D60. The last matrix takes up the other position as it takes up the missing context.
    Number: Largest relative error.
    Control: no patch
    """
    return Discrepancy(_either(dataset, "position 0", "float32"))


claim = claims_of("dherin-model-capacity", section="3.4 (v4)")


@claim("D", "formula", of="capacity", margin=0.01, near=("one token fewer", "the width of the stream", "both widths"))
def D63(dataset):
    """One joint patch serves as many tokens as the hidden layer is wide, $M = H$, and not one more, whatever they are and
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
    served = dataset.new.where(dataset.H >= dataset.M)
    return Discrepancy((0.5 - served).to_series().dropna().values)


@claim("D", "bound", margin=ROUNDING, control=replaced("gain", "one factor", "equations"))
def D65(dataset):
    """Behind a norm one change of the last matrix and of the gain serves several tokens exactly where the gain solves
    $Σ_d y_{td}²/m'_d² = Dρ_t$, linear in $1/m'²$.

    Margin: As D60, for up to an eighth as many tokens as the stream is wide, all different; in a first run one text began with
    one token twice, which is the case of D66. We know of no source for these equations.
    Number: Largest relative error of a token behind a block.
    Control: one factor on the whole gain
    """
    some = dataset.gain_error.sel(gain="equations")
    return Discrepancy(some.where((some.rows > 1) & (some.rows <= 8), drop=True))


@claim("D", "bound", margin=0, control=replaced("text", "random tokens", "one token repeated"))
def D66(dataset):
    """An exact patch may be of no use: where one token is repeated, Llama's is as exact, and over 10,000 times as large as
    the weights.

    Margin: The larger of log10 of error over that of D60's margin, and 4 minus log10 of the size over that of the weights.
    Fixed before the run; a prototype found 5.8.
    Slack: how far the size is above 10,000 is a matter of how float32 rounds.
    Control: other tokens
    """
    cell = dataset.sel(text="one token repeated", fit="all directions")
    return Discrepancy(np.maximum(np.log10(cell.repeat_error / ROUNDING), 4 - np.log10(cell.repeat_size)))
