"""The answer of section 4.3, on GPT-2."""

from icl_lib.companion import at_least, minute_of


@minute_of("zhang-gpt2")
def minute(curves):
    """Says: A GPT-2 in the place of the linear layer, trained on one covariance, does well on random ones of scale 1, and fails
    at scales 4 and 9. Training on random covariances helps. Longer training prompts help too, but beyond their length the error
    jumps.

    So: In part, at small size. From scale 1 to 9 the error, over that of predicting 0, grows from {near} to {far} in the mean
    of models of one covariance ({ZF2a}), and in each ({ZF2d}). Training on random ones helps at 4 and 9 in all nine pairs
    ({ZF3c}). Three seeds leave open whether it does in the mean ({ZF3}, {ZF3b}), and how fast errors grow ({ZF2b}, {ZF2c}).
    Above the training length it jumps ({ZF5a}), {jump}-fold or more in the mean at scale 1, less at 4 and 9 ({ZF8}).
    New: Training never touches the positions beyond. On touched ones the error just above the training length at most doubles,
    in each of six networks ({ZF5f}). And it is the scale that hurts: divided by its own size a prompt of scale 9 is answered
    about as well as one of 1 ({ZF9a}).
    """
    share = (curves.risk.sel(M=curves.N) / curves.zero).sel(trained="fixed").mean(["run", "N"])
    jump = curves.jump.sel(test=["covariance I", "c = 1"]).mean("run").min()
    return {
        "near": f"{float(share.sel(test='c = 1')):.2f}",
        "far": f"{float(share.sel(test='c = 9')):.2f}",
        "jump": at_least(jump, ".0f"),
    }
