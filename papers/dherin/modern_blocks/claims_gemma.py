"""Claims D43b, D47 and D48: a norm behind the feed-forward part, and the two forms of its patch."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Discrepancy, claims_of, distance_over_seeds, over_seeds
from icl_lib.companion.controls import exchanged


def _column(values: xr.DataArray, **where: str) -> xr.DataArray:
    """Take entries by name; NaN, which fails, where the run had none of that name."""
    for dim, name in where.items():
        values = values.reindex({dim: [name]}).isel({dim: 0}, drop=True)
    return values


def _kept(dataset: xr.Dataset, made: str) -> xr.DataArray:
    """Agreement of the conditioned form minus that of the published one, in bfloat16."""
    agreement = _column(dataset.agreement, precision="bfloat16", made=made)
    return agreement.sel(form="conditioned") - agreement.sel(form="published")


claim = claims_of("dherin-gemma", section="sequel 2")


@claim("D", "formula", margin=0.3, control=lambda dataset: dataset.assign(beyond_theory=dataset.beyond_theory / dataset.x))
def D43b(dataset):
    """The share of entries of Δm = (v_C − v)/n beyond x is 2f(0) E|v_C − v|/x, f the density of an entry of n.

    Margin: Share of entries beyond x against the formula, relative. A network has some 700 such entries at x = 10.
    Control: a tail like 1/x²
    """
    return distance_over_seeds(dataset.beyond / dataset.beyond_theory, 1.0)


@claim(
    "D",
    "bound",
    margin=0,
    control=lambda dataset: dataset.assign(
        miss=xr.where(
            dataset.alone == "nearest",
            _column(dataset["median"], form="conditioned", precision="float64", made="in place"),
            dataset.miss,
        )
    ),
)
def D47(dataset):
    """W_down alone cannot repair a block with a norm behind it: in the median the best change misses by over 5%.

    Margin: 0.05 minus the median error over the output that is asked for, m⊙t. With the gain it is 0.
    Control: with the factor on the gain
    """
    return over_seeds(0.05 - dataset.miss.sel(alone="nearest"))


@claim("D", "identity", margin=1e-9, control=exchanged("alone", "nearest", "turned"))
def D47b(dataset):
    """What W_down alone can reach is all m⊙s with RMS(s) < 1: the nearest one is reached, none comes nearer.

    Margin: Error over the output asked for, against the least distance to that set. Its border is approached up to
    1e-12.
    Control: turned towards the target instead
    """
    return Discrepancy(np.maximum(dataset.gap.sel(alone="nearest"), dataset.below))


@claim(
    "D",
    "identity",
    margin=1e-13,
    control=lambda dataset: dataset.assign(
        error=xr.where(dataset.form == "conditioned", dataset.miss.sel(alone="turned", drop=True), dataset.error)
    ),
)
def D48(dataset):
    """The well-conditioned form (W_down turns the output, one factor on the whole gain) is exact as well.

    Margin: float64, logits of the whole network, worst position. It divides by gains and lengths only.
    Control: without the factor
    """
    return Discrepancy(_column(dataset.error, form="conditioned", precision="float64", made="in place"))


@claim("D", "bound", margin=1e-9, control=exchanged("form", "published", "conditioned"))
def D48b(dataset):
    """With d = v_C − v it changes the scale by RMS(d/m)/RMS(n) at most, the published form some entry by no less.

    Margin: Worst block, position and network, over the bound minus 1. A theorem; the margin is for rounding.
    Control: the two forms exchanged
    """
    return Discrepancy(np.maximum(dataset.over.sel(form="conditioned") - 1, 1 - dataset.over.sel(form="published")))


@claim("S", "bound", margin=0, recorded=FAILS, control=exchanged("precision", "bfloat16", "float32"))
def D48c(dataset):
    """In bfloat16 the published form loses tokens that the well-conditioned form keeps, more than 5 in 100.

    Margin: 0.05 minus the gain in agreement. Notes on the paper say 87.5% against 100% (98% in another version).
    Control: float32 in its place
    """
    return over_seeds(0.05 - _kept(dataset, "in place"))


@claim("D", "bound", margin=0, control=exchanged("made", "ahead", "in place"))
def D48d(dataset):
    """Made in float64 and used in bfloat16, it loses more than 30 tokens in 100 that the other form keeps.

    Margin: 0.3 minus the gain in agreement, patches made in float64 and rounded to bfloat16: six times the gap of D48c.
    Control: patches made where they are used
    """
    return over_seeds(0.3 - _kept(dataset, "ahead"))


@claim("D", "bound", margin=1, control=exchanged("made", "in place", "ahead"))
def D48e(dataset):
    """Made where they are used, both forms err in bfloat16 by less than bfloat16 itself does with the context in view.

    Margin: Median error over that of the network with its context in bfloat16 against float64. Roundings of one size.
    Control: made in float64 and rounded
    """
    return over_seeds(
        _column(dataset["median"], precision="bfloat16", made="in place") / _column(dataset.floor, precision="bfloat16")
    )
