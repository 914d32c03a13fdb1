"""The answer of section 4.2."""

from icl_lib.companion import minute_of


@minute_of("zhang-garg-prompts")
def minute(shifted):
    """Says: The trained model tolerates test tasks and test queries unlike those of training. It fails when the inputs'
    distribution changes (a covariate shift); least squares does not.

    So: In part. On long prompts it is so ({Z15b}, {Z16d}, {Z17j}, {Z17c}). Already at {k} examples inputs twice as large give
    {stretched} times the error of predicting 0. But there the model is far from least squares even without a shift: its error
    is still {left} of that of predicting 0 ({Z17i}). A query orthogonal to the context is not always answered by 0 ({Z16c}),
    and one that copies one of 10 examples is answered worse than by 0 ({Z17g}).
    New: The exact error at every prompt length. GPT-2, as Garg et al. report it, keeps a small error with scaled weights and
    on most prompts that break this model.
    """
    share = (shifted.risk / shifted.zero).sel(model="LSA").isel(k=-1)
    return {
        "stretched": f"{float(share.sel(prompt='inputs × 2')):.1f}",
        "left": f"{100 * float(share.sel(prompt='no shift')):.0f}%",
        "k": f"{int(share.k)}",
    }
