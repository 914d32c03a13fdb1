"""The answer of section 1."""

from icl_lib.companion import at_least, at_most, minute_of


@minute_of("li-nonlinearity")
def minute(four):
    """Says: The paper analyses a layer with softmax attention and a ReLU network on top. Its table of related work lists the
    two nonlinearities as columns: earlier analyses had one of them or none.

    So: In part. On the paper's task neither is needed to get the labels right. Four networks, with and without each, err on
    at most {worst} of the prompts of unseen tasks ({L0a}). On prompts as long as in training
    what the two change is the margin by which the output is right.
    New: With the ReLU the margin depends on $S₁$, a sum of coefficients of new patterns ({L0c}). Without both it is
    proportional to the share of relevant contexts ({L0b}). On prompts of {l} contexts softmax
    attention makes at least {factor} times as many errors as linear attention ({L0d}).
    """
    short = four.error_short.isel(short=-1).mean("seed")
    factor = min(
        float(short.sel(variant=f"softmax, {mlp}") / short.sel(variant=f"linear, {mlp}")) for mlp in ("ReLU", "linear")
    )
    worst = max(float(four.error.mean("seed").max()), 1e-4)
    return {"worst": at_most(worst, ".2%"), "l": f"{int(four.short[-1])}", "factor": at_least(factor, ".0f")}
