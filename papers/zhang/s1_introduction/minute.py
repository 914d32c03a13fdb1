"""The answer of sections 1 and 2."""

from icl_lib.companion import minute_of


@minute_of("zhang-one-step")
def minute(errors):
    """Says: One layer of linear attention, trained on prompts of linear regression, ends at a known algorithm. It is close to
    one step of gradient descent inside the prompt, but not a plain one: a single plain step is not enough where the
    inputs' covariance is not the identity (footnote 2).

    So: Yes. With the best step size and {d} variances in geometric progression, the largest {spread} times the least, {floor}
    of the error of predicting 0 is left after a million examples ({Z1}). A model trained on prompts as long has {trained} left.
    New: What one step leaves has a closed form. On endless prompts it depends on the variances alone, up to a common factor,
    and is zero only where they are all equal.
    """
    last = errors.isel(d=0, kappa=-1, M_long=-1)
    return {
        "d": f"{int(last.d)}",
        "spread": f"{float(last.kappa):g}",
        "floor": f"{100 * float(last.risk_long):.0f}%",
        "trained": f"{100 * float(last.trained_long):.2g}%",
    }
