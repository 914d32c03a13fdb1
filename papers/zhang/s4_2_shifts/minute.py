"""The answer of section 4.2."""

from icl_lib.companion.minute import minute_of


@minute_of("zhang-garg-prompts")
def minute(shifted):
    """Says: The trained model tolerates test tasks and test queries unlike those of training. It does not tolerate other
    inputs in the prompt (a covariate shift), which least squares does.

    So: In part. On long prompts it is so ({Z15b}, {Z16d}, {Z17j}): inputs twice as large give {stretched} times the error of
    predicting 0. With {k} examples the model is far from least squares even without a shift: {left} of that error is left
    ({Z17i}). And a query orthogonal to the context is not always answered by 0 ({Z16c}).
    New: The exact error at every prompt length. GPT-2, as Garg et al. report it, shares the model's tolerances and not most
    of its failures.
    """
    share = (shifted.risk / shifted.zero).sel(model="LSA").isel(k=-1)
    return {
        "stretched": f"{float(share.sel(prompt='inputs × 2')):.1f}",
        "left": f"{100 * float(share.sel(prompt='no shift')):.0f}%",
        "k": f"{int(share.k)}",
    }
