"""The answer of section 4.3, on random covariances."""

from icl_lib.companion import minute_of


@minute_of("zhang-random-covariance")
def minute(errors):
    """Says: Training on prompts whose covariance changes from prompt to prompt also reaches a global minimum, in closed form.
    And the trained model still fails.

    So: Yes, to both. The flow arrives ({Z18a}). With exponential variances {left} of the error of predicting 0 is left at {M}
    examples. With variances four times as large the model errs {worse} times as much as predicting 0 ({Z18b}). The paper prints
    the limit of one weight twice; as our copy has it, the form without squares is wrong ({Z18d}).
    New: The exact error on random diagonal covariances. From every size of initialisation tried the flow arrives ({Z18f}). The
    paper's example, in the mean a prediction of one third of the target, holds for a query drawn apart from its prompt
    ({Z18c}, {Z18e}).
    """
    last = (errors.risk / errors.zero).isel(d=0).sel(law="exponential", trained="random").isel(M=-1)
    return {
        "left": f"{100 * float(last.sel(c=1)):.0f}%",
        "M": f"{int(last.M)}",
        "worse": f"{float(last.sel(c=4)):.1f}",
    }
