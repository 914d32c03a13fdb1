"""Claims D43b, D47 and D48: a norm behind the feed-forward part, and the two forms of its patch."""

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
