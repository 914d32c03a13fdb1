"""Claims L13 to L15 with their letters: section 4, attention, queries and keys, neurons."""

import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, claims_of, distance_over_seeds, everywhere, exchanged, over_seeds, put

COVERING = ["A", "B", "A, r = 1"]
UNCOVERED = "half of the patterns"


def _short_of_one(split: str):
    return lambda ds: over_seeds(1 - ds.mass.sel(setting=["A", "B"], split=split).isel(step=-1, drop=True))


UNCOVERED_MASS = everywhere("mass", setting=UNCOVERED)
"""The models of the uncovered setting in the place of the others."""


claim = claims_of("li-attention")


@claim("S", "bound", check=_short_of_one("unseen tasks"), margin=0.1, control=UNCOVERED_MASS)
def L13(dataset):
    """Proposition 1: attention concentrates on the contexts with the query's pattern (unseen tasks).

    Margin: 1 − attention mass at the end, settings A and B, worst. Untrained it is 0.56 and 0.45. A trial run had 0.04
    and 0.01 after 1000 steps and 0.06 after 300 in A; the margin leaves room for the shorter run.
    Control: models trained on tasks among half of the patterns (Condition 3.2 violated)
    """


@claim("S", "bound", part_of="L13", check=_short_of_one("out of domain"), margin=0.1, control=UNCOVERED_MASS)
def L13b(dataset):
    """Proposition 1, out of domain: attention concentrates on the contexts with the query's ODR pattern, $S₁ = 1.1$.

    Margin: As for L13.
    Number: 1 − attention mass at the end, settings A and B, worst.
    Control: models trained on tasks among half of the patterns (Condition 3.2 violated)
    """


@claim(
    "S",
    "bound",
    check=_short_of_one("out of domain"),
    margin=0.01,
    recorded=NOT_REPRODUCED,
    control=UNCOVERED_MASS,
    positive=lambda dataset: dataset.assign(mass=1 / (1 + (1 / dataset.mass - 1) ** 2)),
)
def L13c(dataset):
    """The attention on the query's ODR pattern exceeds 0.99 (the authors' plot shows about 1.0 from epoch 160 on).

    Margin: 1 − attention mass at the end, settings A and B, worst. The plot was read off by eye, to about 0.01.
    Control: models trained on tasks among half of the patterns (Condition 3.2 violated)
    Positive: the odds of the query's pattern squared, as by scores twice as large
    Missing: length of the patterns and of the label, step size and initialisation of the authors' network
    """


def _from_odds_law(ds: xr.Dataset) -> xr.DataArray:
    return (ds.mass.sel(split="unseen tasks", drop=True) - ds.mass_theory).sel(setting=COVERING)


@claim("D", "approximation", margin=0.005, quick_margin=0.015, control=put(mass_theory="mass_theory_own"))
def L13e(ds):
    """The odds law with the gaps read off the weights gives the attention mass at every recorded step of training.

    Margin: Absolute, settings A, B and $r = 1$, unseen tasks; a trial run had less than 0.005. 3 models in quick.
    Moved: from 0.015 in both profiles; it was called exact, and with $r = 1$ it is off by 0.003, 11 standard errors.
    Neglects: the distractors (scores of order $κ²δ²β²$), and that the other contexts have different scores: the law takes the
    mean over them before the odds. With $r = 3$ that is next to nothing (L13h).
    Control: the scores between different patterns set to 0
    """
    return distance_over_seeds(_from_odds_law(ds))


@claim("D", "approximation", margin=0.002, quick_margin=0.015, control=put(mass_theory="mass_theory_own"))
def L13h(ds):
    """Where the training tasks name all pairs, settings A and B, the odds law is exact to 0.002.

    Margin: Absolute, every recorded step. The draws leave 0.001 in full and up to 0.01 in quick.
    Neglects: the distractors: 0.0005 at the start, and 0.0001 once the gap is large.
    Control: the scores between different patterns set to 0
    """
    return distance_over_seeds(_from_odds_law(ds).sel(setting=["A", "B"]))


claim = claims_of("li-hinge-margin")


@claim("D", "bound", margin=0.01, control=everywhere("mass", c=1.0))
def L13d(ds):
    """What stops it is the hinge: trained on with $max(0, c − zF)$ and $c = 20$, setting A exceeds 0.99 within 10 steps.

    Margin: 1 − attention mass, the bound of L13c. The same weights, batch size and step size; each $c$ has batches of its own.
    Control: the same number of further steps with $c = 1$
    """
    return over_seeds(1 - ds.mass.isel(c=-1).sel(resumed=10))


claim = claims_of("li-growth")


@claim("S", "bound", margin=0.5, control=everywhere("length", setting=UNCOVERED, kind="relevant, in no task"))
def L14(ds):
    """$W_Q$ and $W_K$ at least double the length of trained relevant patterns, for $r = 3$ and $r = 1$.

    Margin: Mean over these patterns, length at the start over length at the end, settings A, B and $r = 1$. The authors'
    plot has 0.40 → 1.75, 0.23.
    Control: relevant patterns that no training task names
    """
    length = ds.length.sel(kind="relevant", setting=COVERING, quantity=["|W_Q p|", "|W_K p|"])
    return over_seeds(length.isel(step=0) / length.isel(step=-1))


@claim("D", "bound", margin=0.003, control=everywhere("change", kind="relevant"))
def L14b(ds):
    """The score of an irrelevant pattern of length 1 with itself stays at $δ²$ all through training.

    Margin: Mean relative change, worst setting and step. To first order the expected push is 0; what is left is batch
    noise.
    Moved: from 0.03, 26 times what was found.
    Slack: it is batch noise, which the size of the batch sets; for relevant patterns the change is 19.
    Control: the relevant patterns
    """
    return over_seeds(ds.change.sel(kind="irrelevant", setting=COVERING))


def _at_the_end(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(grown_miss=ds.grown_miss.where(False, ds.grown_miss.isel(shown=-1, drop=True)))


@claim("D", "order", margin=-0.02, control=_at_the_end)
def L14f(ds):
    """The earlier, the nearer the scores are to the grown first push (L5f): at step 30 nearer than at the end.

    Margin: Distance as a share of what has grown, at step 30 less at the end, a tenth of the latter, setting A with $r = 3$ and
    $r = 1$: in full 0.08 and 0.09 less 0.20 and 0.17. In setting B attention is not uniform at the start.
    Moved: from half of the distance at the end, of which $r = 1$ leaves 0.53, the noise of the batches in it.
    Control: the scores at the end in the place of those at step 30
    """
    miss = ds.grown_miss.sel(setting=["A", "A, r = 1"])
    return over_seeds(miss.sel(shown=30) - miss.isel(shown=-1))


# --- neurons ------------------------------------------------------------------------------------------------------


claim = claims_of("li-neurons")


@claim("S", "bound", margin=0.05, control=everywhere("feature_cosine", setting="half of the patterns"))
def L15(ds):
    """Proposition 2, features: feature parts of the large rows of $W_O W_V$ align with the mean pattern $μ̄$ (setting A).

    Margin: 1 − cosine, mean over large rows, settings A ($r = 3$) and $r = 1$. A trial run had 0.008.
    Control: models trained on tasks among half of the patterns
    """
    return over_seeds(1 - ds.feature_cosine.sel(setting=["A", "A, r = 1"]).isel(step=-1))


@claim("S", "bound", part_of="L15", margin=0.02, control=everywhere("label_cosine", step=0))
def L15b(ds):
    """Proposition 2, labels: the label parts of the large rows point along $+q$ for $a > 0$ and along $−q$ for $a < 0$.

    Margin: 1 − cosine times sign of a, mean over large rows, settings A, B and $r = 1$. A trial run had 0.001.
    Control: the same rows before training
    """
    return over_seeds(1 - ds.label_cosine.sel(setting=COVERING).isel(step=-1))


def _share_small(ds: xr.Dataset, start: str) -> xr.DataArray:
    """Return by seed the share of rows with this start that end small, settings with Condition 3.2 together."""
    chosen = ds.sel(start=start, setting=COVERING)
    return chosen.small.sum("setting") / chosen["rows"].sum("setting")


@claim("S", "bound", margin=0.03, control=exchanged("start", "lucky", "not lucky"))
def L15d(ds):
    """Lucky neurons: a row that is active at the start on $μ̄$ with its right label ends large.

    Margin: Share of such rows that end small, settings A, B and $r = 1$ together. A trial run had 1 row in 1500.
    Slack: a trial run had one row in 1,500; with the margin one in 30, where of other rows a quarter ends small.
    Control: the rows that are not lucky
    """
    return over_seeds(_share_small(ds, "lucky"))


@claim(
    "S",
    "bound",
    part_of="L15d",
    margin=0.1,
    recorded=NOT_REPRODUCED,
    control=exchanged("start", "not lucky", "lucky"),
    positive=exchanged("start", "not lucky", "right on no pattern"),
)
def L15e(ds):
    """The rows that are not lucky stay small.

    Margin: Share of such rows that end large, with 'lucky' read on $μ̄$ as in L15d. Definition D.8 itself was not seen.
    Control: the lucky rows
    Positive: the rows of L15f, active at the start with the right label on no pattern
    Missing: Definition D.8
    Fails because: its retelling: Definition D.8 was not seen, and lucky is our reading. L15f has a condition under
    which the rows do stay small.
    """
    return over_seeds(1 - _share_small(ds, "not lucky"))


@claim("D", "bound", margin=0.08, quick_margin=0.25, control=exchanged("start", "right on no pattern", "not lucky"))
def L15f(ds):
    """A row nearly always stays small when it is active at the start on no single pattern $μⱼ$ with its right label.

    Margin: Share of such rows that end large, settings A, B and $r = 1$ together; about 12 rows a seed. A trial run had
    0.02.
    Moved: from 0.25 in both profiles.
    Control: all rows that are not lucky
    """
    return over_seeds(1 - _share_small(ds, "right on no pattern"))
