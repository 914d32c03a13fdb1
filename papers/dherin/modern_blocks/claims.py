"""Claims D41 to D48: sequel 2, patches of modern blocks. D49 needs a language model of a billion weights and stays out."""

import numpy as np
import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, Discrepancy, claims_of, exchanged, over_seeds

VANILLA = ["vanilla, bias", "vanilla, matrix", "vanilla, norm bias"]
CONDITIONED = {"form": "conditioned", "precision": "float64", "made": "in place"}
"""The well-conditioned form, exact and made where it is used."""


def _error(names: list[str]):
    """Return the check of these architectures' errors, of the logits and behind every block; one not run is NaN, and fails."""

    def check(dataset: xr.Dataset) -> Discrepancy:
        readings = dataset.error.sel(patch="whole"), dataset.stream.sel(patch="whole"), dataset.error_kept
        return Discrepancy(np.concatenate([each.reindex(architecture=names).values.ravel() for each in readings]))

    return check


def _column(values: xr.DataArray, **where: str) -> xr.DataArray:
    """Take entries by name; NaN, which fails, where the run had none of that name."""
    for dim, name in where.items():
        values = values.reindex({dim: [name]}).isel({dim: 0}, drop=True)
    return values


def _kept(dataset: xr.Dataset, made: str) -> xr.DataArray:
    """Agreement of the conditioned form minus that of the published one, in bfloat16."""
    agreement = _column(dataset.agreement, precision="bfloat16", made=made)
    return agreement.sel(form="conditioned") - agreement.sel(form="published")


def _with_the_gain(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(miss=dataset.miss.where(dataset.alone != "nearest", _column(dataset["median"], **CONDITIONED)))


claim = claims_of("dherin-modern-blocks", section="sequel 2")


@claim("D", "identity", check=_error(VANILLA), margin=1e-13, control=exchanged("patch", "whole", "input half"))
def D41(dataset):
    """Vanilla pre-norm blocks (LayerNorm, GELU, biases): the patched network without its context gives the same logits, be the
    site a bias, the last matrix, or with no matrix changed the bias of the norm.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context kept.
    Number: Largest relative error.
    Control: what reads z is patched, v is not
    """


@claim("D", "identity", check=_error(["Llama"]), margin=1e-13, control=exchanged("patch", "whole", "epsilon"))
def D42(dataset):
    """Llama-style blocks (RMSNorm, SwiGLU, no biases): the same logits, with $v_C − v$ put into $W_down$.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context kept.
    Number: Largest relative error.
    Control: 0.01 added to $‖z‖²$ in the denominators
    """


@claim("S", "identity", check=_error(["Gemma"]), margin=1e-10, control=exchanged("patch", "whole", "neighbour"))
def D43(dataset):
    """Gemma-style blocks (theorem 1): the same logits with rank-1 patches of $W_gate$ and $W_up$, and $Δm = (v_C − v)/n$.

    Margin: float64. A processor that sums n in another order when the patch is used makes slips of 1e-16 times $Δm/m$, at most
    some hundreds of thousands here (dherin-gemma).
    Number: Largest relative error.
    Moved: from 1e-13, which was met on one processor and exceeded on another.
    Control: the patches that the states of the token before ask for
    """


@claim("D", "identity", check=_error(["parallel"]), margin=1e-13, control=exchanged("patch", "whole", "input half"))
def D44(dataset):
    """Parallel blocks (attention and MLP side by side, as in GPT-J): the same logits, with $v_C − v$ put into $W_down$.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context kept.
    Number: Largest relative error.
    Control: $W_down$ not patched
    """


@claim(
    "D", "identity", check=_error(["experts", "experts, each"]), margin=1e-13, control=exchanged("patch", "whole", "input half")
)
def D45(dataset):
    """Mixtures of experts: the same logits, with rank-1 patches of the router and all $W_gate$ and $W_up$, and $v_C − v$ put
    into the experts' $W_down$ side by side as one matrix, or whole into each active expert's own.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context kept.
    Number: Largest relative error.
    Control: no $W_down$ patched
    """


@claim("D", "identity", check=_error(["Gemma, conditioned"]), margin=1e-13, control=exchanged("patch", "whole", "input half"))
def D48(dataset):
    """The well-conditioned form ($W_down$ turns the output, one factor on the whole gain) is exact as well.

    Margin: float64, no epsilon. It divides by gains and lengths only. Worst position, network and share of the context kept.
    Number: Largest relative error.
    Control: neither $W_down$ nor the gain patched
    """


claim = claims_of("dherin-depth", section="sequel 2")


@claim("S", "identity", margin=1e-13, control=exchanged("patched", "all blocks", "last block"))
def D46(dataset):
    """Depth does not hurt: from 1 block to 32 the errors of the token behind every block and of the logits stay at rounding.

    Margin: float64, worst position, network, depth and block. That the patches are computed in sequence is the paper's
    algorithm.
    Number: Largest relative error.
    Control: the last block alone patched, which gives the same logits
    """
    return Discrepancy(dataset[["error", "stream"]].sel(patched="all blocks").to_dataarray())


@claim("D", "identity", margin=1e-13, control=exchanged("patched", "last block", "all but the last"))
def D46b(dataset):
    """The last block's patch alone is enough: with no other block patched the logits are as exact.

    Margin: float64, worst position, network and depth. The last patch takes up whatever the blocks below left wrong.
    Number: Largest relative error.
    Control: all blocks but the last
    """
    return Discrepancy(dataset.error.sel(patched="last block"))


claim = claims_of("dherin-gemma", section="sequel 2")


@claim("D", "formula", of="beyond", margin=0.18, quick_margin=0.2, near=("one side of 0 alone", "√E|d|² for E|d|"))
def D43b(dataset):
    """The share of entries of $Δm = (v_C − v)/n$ beyond $τ$ is $2f(0) E|v_C − v|/τ$, $f$ the density of an entry of $n$.

    Margin: Relative, a little above q standard errors over networks and blocks at the largest $τ$, where few entries are; at
    $τ = 10$ they are less. Curvature of f leaves $E|v_C − v|³$ $/(6τ² E|v_C − v|)$, less than 0.01 from $τ = 10$ on.
    Moved: from 0.3 of the mean over networks, in which no cell was held to its own error.
    """


@claim(
    "D",
    "formula",
    of="narrow_beyond",
    margin=0.18,
    quick_margin=0.2,
    near=("one side of 0 alone", "√E|d|² for E|d|", "the density of a normal entry"),
)
def D43d(dataset):
    """The same in networks of four channels, where the density of an entry is far from normal.

    Margin: That of D43b, with smaller errors. A normal entry's density at 0 is larger by a quarter here, and by 1.6% at 48
    channels.
    Moved: written after a look at the results at 48 channels.
    """


@claim("D", "bound", margin=0, control=_with_the_gain)
def D47(dataset):
    """$W_down$ alone cannot repair a block with a norm behind it: in the median the best change misses by over 20%.

    Margin: 0.2 minus the median error over the output that is asked for, $m⊙t$. With the gain it is 0.
    Moved: from 0.05, after a look at the results.
    Control: with the factor on the gain
    """
    return over_seeds(0.2 - dataset.miss.sel(alone="nearest"))


@claim(
    "S",
    "bound",
    margin=0,
    recorded=NOT_REPRODUCED,
    control=exchanged("precision", "bfloat16", "float32"),
    positive=exchanged("made", "ahead", "in place"),
)
def D48c(dataset):
    """In bfloat16 the published form loses tokens that a stable form keeps, more than 5 in 100.

    Margin: 0.05 minus the gain in agreement; the stable form tested is ours. Notes on the paper say 87.5% against 100% (98% in
    another version) of theirs.
    Control: float32 in its place
    Positive: patches made in float64 and rounded to bfloat16 (D48d)
    Missing: Gemma 3 of one and of four billion weights, where the paper counted tokens
    """
    return over_seeds(0.05 - _kept(dataset, "in place"))


@claim("D", "bound", margin=0, control=exchanged("made", "ahead", "in place"))
def D48d(dataset):
    """Made in float64 and used in bfloat16, the published form loses more than 60 tokens in 100 that the other keeps.

    Margin: 0.6 minus the gain in agreement, patches made in float64 and rounded to bfloat16: twelve times the gap of D48c.
    Moved: from 0.3, after a look at the results.
    Control: patches made where they are used
    """
    return over_seeds(0.6 - _kept(dataset, "ahead"))
