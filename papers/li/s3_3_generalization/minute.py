"""The answer of section 3.3."""

from icl_lib.companion.minute import minute_of


@minute_of("li-coefficient-sum")
def minute(sums):
    """Says: Trained on a few tasks, the layer answers prompts of tasks that it never saw, and prompts over new patterns. These
    have to be combinations of the old ones whose coefficients sum to $S₁ ≥ 1$. A slide adds that this "is needed".

    So: In part. The hinge loss is small from $S₁ = 1$ upward ({L7}) and grows below. The share of wrong answers, the 0-1 error,
    does not need $S₁ ≥ 1$ while new patterns keep the length of the old ones: at $S₁ = 0.5$ it is at most {kept} ({L7n}).
    New: It does need it when $S₁$ also scales the length: at $S₁ = 0.5$ it is then up to {scaled}, and it is gone from 1 upward
    ({L7v}). The attention sees the length and not the sum; that is proved below. For new patterns training tasks that just
    cover all patterns and labels are too few ({L8b}).
    """
    half = sums.sel(S_1=0.5).mean("seed")
    kept = max(float(half.error.max()), 1e-4)
    return {"kept": f"{kept:.2%}", "scaled": f"{float(half.error_rescaled.max()):.0%}"}
