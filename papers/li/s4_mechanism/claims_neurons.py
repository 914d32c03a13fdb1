"""Claims L15 with its letters: section 4, the neurons."""

import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy, over_seeds

COVERING = ["A", "B", "A, r = 1"]
UNCOVERED = "half of the patterns"


def _turned_away(ds: xr.Dataset) -> Discrepancy:
    """Return the cosine of the small rows with the mean pattern, after training less before it."""
    cosine = ds.feature_cosine_small.sel(setting=["A", "A, r = 1"]).mean("setting")
    return over_seeds(cosine.isel(step=-1, drop=True) - cosine.isel(step=0, drop=True))


L15 = Claim(
    id="L15",
    paper="li",
    section="4",
    sentence="Proposition 2, features: feature parts of the large rows of W_O W_V align with the mean pattern μ̄ (setting A).",
    confidence="S",
    kind="bound",
    experiment="li-neurons",
    margin=0.05,
    reason="1 − cosine, mean over large rows, settings A (r = 3) and r = 1. A prototype had 0.008.",
    check=lambda ds: over_seeds(1 - ds.feature_cosine.sel(setting=["A", "A, r = 1"]).isel(step=-1)),
    control=lambda ds: ds.assign(
        feature_cosine=ds.feature_cosine.where(False, ds.feature_cosine.sel(setting=UNCOVERED, drop=True))
    ),
    control_sentence="models trained on tasks among half of the patterns",
)

L15b = Claim(
    id="L15b",
    paper="li",
    section="4",
    sentence="Proposition 2, labels: the label parts of the large rows point along +q for a > 0 and along −q for a < 0.",
    confidence="S",
    kind="bound",
    experiment="li-neurons",
    margin=0.02,
    reason="1 − cosine times sign of a, mean over large rows, settings A, B and r = 1. A prototype had 0.001.",
    check=lambda ds: over_seeds(1 - ds.label_cosine.sel(setting=COVERING).isel(step=-1)),
    control=lambda ds: ds.assign(label_cosine=ds.label_cosine.where(False, ds.label_cosine.isel(step=0, drop=True))),
    control_sentence="the same rows before training",
)

L15c = Claim(
    id="L15c",
    paper="li",
    section="4",
    sentence="Training turns small rows away from the mean pattern: their cosine falls by at least 0.2 (setting A).",
    confidence="N",
    kind="bound",
    experiment="li-neurons",
    margin=-0.2,
    reason=(
        "Change of the cosine of the feature part, mean over small rows and over settings A and r = 1. Silent rows lean away "
        "at the start already, at a cosine near -0.2; a model has only about ten small rows, and their mean varies."
    ),
    check=_turned_away,
    control=lambda ds: ds.isel(step=[0]),
    control_sentence="the same rows before training",
)


def _share_small(ds: xr.Dataset, start: str) -> xr.DataArray:
    """Return by seed the share of rows with this start that end small, settings with Condition 3.2 together."""
    chosen = ds.sel(start=start, setting=COVERING)
    return chosen.small.sum("setting") / chosen["rows"].sum("setting")


def _others(start: str):
    """Return a control that counts the rows with this start in the place of every start."""

    def control(ds: xr.Dataset) -> xr.Dataset:
        chosen = ds[["small", "rows"]].sel(start=[start] * ds.sizes["start"]).assign_coords(start=ds.start)
        return ds.assign(small=chosen.small, rows=chosen["rows"])

    return control


L15d = Claim(
    id="L15d",
    paper="li",
    section="4",
    sentence="Lucky neurons: a row that is active at the start on μ̄ with its right label ends large.",
    confidence="S",
    kind="bound",
    experiment="li-neurons",
    margin=0.03,
    reason="Share of such rows that end small, settings A, B and r = 1 together. A prototype had 1 row in 1500.",
    check=lambda ds: over_seeds(_share_small(ds, "lucky")),
    control=_others("not lucky"),
    control_sentence="the rows that are not lucky",
)

L15e = Claim(
    id="L15e",
    paper="li",
    section="4",
    sentence="The rows that are not lucky stay small.",
    confidence="S",
    kind="bound",
    experiment="li-neurons",
    margin=0.1,
    reason="Share of such rows that end large, with 'lucky' read on μ̄ as in L15d. Definition D.8 itself was not seen.",
    check=lambda ds: over_seeds(1 - _share_small(ds, "not lucky")),
    control=_others("lucky"),
    control_sentence="the lucky rows",
    recorded=FAILS,
)

L15f = Claim(
    id="L15f",
    paper="li",
    section="4",
    sentence="A row stays small when it is active at the start on no single pattern μⱼ with its right label.",
    confidence="D",
    kind="bound",
    experiment="li-neurons",
    margin=0.25,
    reason="Share of such rows that end large, settings A, B and r = 1 together; about 12 rows a seed. A prototype had 0.02.",
    check=lambda ds: over_seeds(1 - _share_small(ds, "right on no pattern")),
    control=_others("not lucky"),
    control_sentence="all rows that are not lucky",
)

L15g = Claim(
    id="L15g",
    paper="li",
    section="4",
    sentence="After training no large row is active on μ̄ with the wrong label.",
    confidence="D",
    kind="bound",
    experiment="li-neurons",
    margin=0.02,
    reason="Share of the large rows, settings A, B and r = 1. A prototype had 0.",
    check=lambda ds: over_seeds(ds.wrong.sel(setting=COVERING).isel(step=-1)),
    control=lambda ds: ds.assign(wrong=ds.wrong.where(False, ds.wrong.isel(step=0, drop=True))),
    control_sentence="the same rows before training",
)
