"""The answer of section 4.1."""

from icl_lib.companion import agreement, at_most, minute_of


@minute_of("zhang-averaged-error")
def minute(averaged):
    """Says: Training by gradient flow ends at weights in closed form. They hold the inverse of a matrix $Γ$: the covariance of
    the inputs, corrected for the length of the training prompts. The error on a new task is then a sum of three terms.

    So: Yes. The flow arrives ({Z8}), and the error is the closed form ({Z10}). Averaged over tasks, it is a formula in the two
    prompt lengths: measured errors lie within {worst} standard errors of it ({Z11b}).
    New: Longer training prompts can hurt. For test prompts of one length the error is least when the training prompts are as
    long; trained on prompts of {longest} examples instead, it is up to {factor} times as large ({Z13b}).
    """
    found = agreement(averaged, "error")
    theory = averaged.error_theory.isel(d=0)
    worse = (theory.isel(N=-1) / theory.min("N")).max()
    return {
        "worst": at_most(abs(found.deviations).max(), ".1f"),
        "longest": f"{int(theory.N[-1])}",
        "factor": at_most(worse, ".1f"),
    }
