"""The answer of appendices B, C and D."""

from icl_lib.companion import agreement, at_most, minute_of


@minute_of("zhang-six-terms")
def minute(terms):
    """Says: Six terms make up the error of the trained model, and three of them vanish (B). Training on random covariances
    converges (C). Facts on Gaussian moments and matrices carry both (D).

    So: Yes, but for two lines. The terms lie within {worst} standard errors of their formulas ({Z10b}). The bounds of C hold
    along training ({Z28a}, {Z28b}). One equality in a proof, as our copy has it, is an inequality ({Z28c}); the proof needs no
    more than that. The limit of $u₋₁$ in (C.15) is wrong in our copy, without squares.
    New: Each weight off the diagonal decays in a way of its own ({Z28}). The expansion needs its right centre: around half of
    it, a cross term of {cross} is left, against an error of {error}.
    """
    first = terms.isel(d=0)
    return {
        "worst": at_most(abs(agreement(terms, "term").deviations).max(), ".1f"),
        "cross": f"{float(first.term_wrong.sel(term_name='I x III')):.2f}".replace("-", "−"),
        "error": f"{float(first.term_theory.sum()):.1f}",
    }
