"""The answer of the context that steps from the MLP's own weights."""

from icl_lib.companion import minute_of


@minute_of("lenses-own-optimum")
def minute(found):
    """Says: Dherin et al. write a context as a change of the MLP's weights. Zhang et al. have a gradient step that starts from
    0, since their model has no MLP and their tasks have mean 0.

    So: Trained on tasks with a common mean, the context's change is a gradient step on the MLP's own weights, in a block with
    linear attention and a linear MLP. At the least risk the MLP's row is the mean ({S2b}), attention's values are what this row
    leaves of the labels ({S2c}), and the row with the change is one preconditioned step on the context's loss, from the row
    ({S2d}). Without an MLP attention has to learn the mean as if it were variance ({S2f}): at the largest mean here it errs
    {times} times as much.
    New: With softmax and ReLU the gradient at the MLP's own row still explains nine tenths of the step or more ({S2k}); the
    gradient at 0 does not. Attention of $H$ heads cannot fall below $2/(NH + 2)$ for a task that it knows ({S2g}).
    """
    last = found.isel(mean=-1)
    ratio = last.attention / last.block
    return {"times": f"{float(ratio.min()):.1f} to {float(ratio.max()):.1f}"}
