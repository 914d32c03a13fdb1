"""The answer of the context that steps from the MLP's own weights."""

from icl_lib.companion import minute_of


@minute_of("lenses-own-optimum")
def minute(found):
    """Says: Dherin et al. write a context as a change of the MLP's weights. Zhang et al. have a gradient step that starts from
    0, since their model has no MLP and their tasks have mean 0.

    So: In the linear block of least risk on tasks with a common mean, the change is a gradient step from the MLP's own row.
    This row is the mean ({S2b}), attention's values are what it leaves of the labels ({S2c}), and the row with the change is
    one preconditioned step on the context's loss ({S2d}). Without an MLP the best attention errs at most as much as if the
    mean were variance ({S2f}): at the largest mean here {least} to {most} times as much as the block.
    New: With softmax and ReLU the gradient at the MLP's own row still explains 85% of the step's square or more ({S2k});
    that at the origin does not. Without an MLP, $H ≤ d$ heads of linear attention err at least $2/(NH + 2)$ times as much
    as no answer, even on one known task ({S2g}).
    """
    last = found.isel(mean=-1)
    ratio = last.attention / last.block
    return {"least": f"{float(ratio.min()):.1f}", "most": f"{float(ratio.max()):.1f}"}
