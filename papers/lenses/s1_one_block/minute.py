"""The answer of one block in three notations."""

from icl_lib.companion import minute_of


@minute_of("lenses-static-step")
def minute(found):
    """Says: Trained, the linear attention of Zhang et al. predicts as one preconditioned gradient step does. Dherin et al.
    write a context as a change of the MLP's weights. On one block these are one object, seen for all queries and for one.

    So: Yes. With linear attention over the context alone, and a skip connection, one change of the first matrix answers every
    query ({S1}), and in the limit of training this change is one preconditioned gradient step on a loss that holds labels and
    no query ({S1b}). Dherin et al. write down the same step, cut to the query. At another query the cut change is off by
    {other} of the output, in the median.
    New: Each example adds the gradient at the start ({S1e}), so a context is not stochastic gradient descent, which in long
    prompts would recover $1 − 1/e$ of a task ({S1g}). With random weights one change is as exact, and predicts nothing ({S1c}).
    """
    return {"other": f"{float(found.other.sel(layer='limit of training').median()):.0%}"}
