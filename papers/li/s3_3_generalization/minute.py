"""The answer of section 3.3."""

from icl_lib.companion import at_most, minute_of


@minute_of("li-coefficient-sum")
def minute(sums):
    """Says: Trained on a few tasks, the layer answers prompts of tasks that it never saw, and prompts over new patterns, if
    these are combinations of the old ones whose coefficients sum to $S₁ ≥ 1$. A slide adds that this “is needed”.

    So: In part. A sum of 1 suffices: from there upward the hinge loss is small ({L7}). There is no threshold at 1, though: at
    0.9 it is {hinge} at most. The share of wrong answers, the 0-1 error, is at most {kept} even at 0.5, while new patterns keep
    the length of the old ones ({L7n}).
    New: When $S₁$ also scales the length, short patterns are answered badly: at $S₁ = 0.5$ the 0-1 error is up to {scaled}
    ({L7v}). In the mean the score gap of the attention depends on the length and not on the sum; that is proved below. Covering
    every pattern and label once leaves an error above 0.002 on new patterns ({L8b}).
    """
    half = sums.sel(S_1=0.5).mean("seed")
    kept = max(float(half.error.max()), 1e-4)
    hinge = sums.hinge.sel(S_1=0.9).mean("seed").max()
    return {
        "kept": at_most(kept, ".2%"),
        "scaled": at_most(half.error_rescaled.max(), ".0%"),
        "hinge": at_most(hinge),
    }
