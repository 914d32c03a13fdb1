"""Claims L15 with its letters: section 4, the neurons."""

import xarray as xr

from icl_lib.companion.claim import FAILS, claims_of, over_seeds
from papers.li.checks import everywhere

COVERING = ["A", "B", "A, r = 1"]

claim = claims_of("li-neurons")


@claim("S", "bound", margin=0.05, control=everywhere("feature_cosine", setting="half of the patterns"))
def L15(ds):
    """Proposition 2, features: feature parts of the large rows of W_O W_V align with the mean pattern μ̄ (setting A).

    Margin: 1 − cosine, mean over large rows, settings A (r = 3) and r = 1. A prototype had 0.008.
    Control: models trained on tasks among half of the patterns
    """
    return over_seeds(1 - ds.feature_cosine.sel(setting=["A", "A, r = 1"]).isel(step=-1))


@claim("S", "bound", margin=0.02, control=everywhere("label_cosine", step=0))
def L15b(ds):
    """Proposition 2, labels: the label parts of the large rows point along +q for a > 0 and along −q for a < 0.

    Margin: 1 − cosine times sign of a, mean over large rows, settings A, B and r = 1. A prototype had 0.001.
    Control: the same rows before training
    """
    return over_seeds(1 - ds.label_cosine.sel(setting=COVERING).isel(step=-1))


def _share_small(ds: xr.Dataset, start: str) -> xr.DataArray:
    """Return by seed the share of rows with this start that end small, settings with Condition 3.2 together."""
    chosen = ds.sel(start=start, setting=COVERING)
    return chosen.small.sum("setting") / chosen["rows"].sum("setting")


def _others(start: str):
    """Return a control that counts the rows with this start in the place of every start."""
    return lambda ds: everywhere("rows", start=start)(everywhere("small", start=start)(ds))


@claim("S", "bound", margin=0.03, control=_others("not lucky"))
def L15d(ds):
    """Lucky neurons: a row that is active at the start on μ̄ with its right label ends large.

    Margin: Share of such rows that end small, settings A, B and r = 1 together. A prototype had 1 row in 1500.
    Control: the rows that are not lucky
    """
    return over_seeds(_share_small(ds, "lucky"))


@claim("S", "bound", margin=0.1, recorded=FAILS, control=_others("lucky"))
def L15e(ds):
    """The rows that are not lucky stay small.

    Margin: Share of such rows that end large, with 'lucky' read on μ̄ as in L15d. Definition D.8 itself was not seen.
    Control: the lucky rows
    """
    return over_seeds(1 - _share_small(ds, "not lucky"))


@claim("D", "bound", margin=0.25, control=_others("not lucky"))
def L15f(ds):
    """A row stays small when it is active at the start on no single pattern μⱼ with its right label.

    Margin: Share of such rows that end large, settings A, B and r = 1 together; about 12 rows a seed. A prototype had
    0.02.
    Control: all rows that are not lucky
    """
    return over_seeds(1 - _share_small(ds, "right on no pattern"))
