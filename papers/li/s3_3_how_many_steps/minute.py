"""The answer of section 3.3, how many steps."""

from icl_lib.companion import minute_of


@minute_of("li-iterations")
def minute(times):
    """Says: Theorem 3.3 counts the steps of SGD up to a constant. A larger share $α$ of relevant contexts, longer patterns
    $β$ and larger steps $η$ make it fewer, more patterns $M₁$ make it more. A retelling gives an exponent for each.

    So: In part. All four directions are as stated ({L10}). The exponents are not reproduced here ({L10n}): that of $β$ is
    {beta} where {beta_stated} is stated, that of $M₁$ is {M1} where the formula has {M1_stated} over the same values.
    New: {share} of the steps pass before the loss begins to fall: training waits near its initialisation, where all signals
    are small. A reduced model gives the length of this wait without a fit, if $W_O$ starts near 0 ($ξ = 0.01$): the runs take
    {ratio} of it in the mean ({L10c}). Prompts of two contexts are long enough to train on ({L9r}).
    """
    first = times.isel(start=0).mean("seed")
    found, stated = first.slope.sel(phase="to 0.1"), times.slope_stated
    share = float((first.time.sel(level=0.9) / first.time.sel(level=0.1)).mean())
    ratio = float((first.time.sel(level=0.5) / first.escape_theory).mean())
    exponents = {letter: _signed(found.sel(letter=letter)) for letter in ("beta", "M1")}
    exponents |= {f"{letter}_stated": _signed(stated.sel(letter=letter)) for letter in ("beta", "M1")}
    return {"share": f"{share:.0%}", "ratio": f"{ratio:.2f}", **exponents}


def _signed(exponent) -> str:
    return f"{float(exponent):.1f}".replace("-", "−")
