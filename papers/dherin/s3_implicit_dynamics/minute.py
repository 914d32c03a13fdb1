"""The answer of section 3."""

from icl_lib.companion import minute_of


@minute_of("dherin-linear-loss")
def minute(losses):
    """Says: A context changes weights token by token. The paper writes the step of each token as gradient descent: the token
    brings a loss, linear in the weights, and reading the token is one step on this loss.

    So: In part. As a formula it is exact, with its index corrected ({D13}); as printed it runs one token ahead ({D16}). As
    learning it says nothing. Each loss is made from its own step, so it falls whatever the token is: with pure noise for
    examples the losses fall {fall} times as far as with true labels ({D17d}). With true labels {true} of the error of the
    prediction is left, with noise {noise}.
    New: A loss with a minimum has the same steps ({D17e}). In one block of attention without positions the end of the path
    does not depend on the order of the examples ({D18}); in recurrent layers, rotary attention and the second of two causal
    blocks it does ({D18c}). The paper's second way, which takes tokens off the prompt one by one, keeps the output ({D19}) and
    is no gradient descent ({D19c}).
    """
    mean = losses.sel(net="trained").mean("seed").isel(i=-1)
    start = losses.error.sel(net="trained").mean("seed").isel(i=0)
    left = mean.error / start
    true, noise = str(losses.kind.values[0]), str(losses.kind.values[-1])
    return {
        "fall": f"{float(mean.fall_tasks.sel(kind=noise) / mean.fall_tasks.sel(kind=true)):.1f}",
        "true": f"{100 * float(left.sel(kind=true)):.0f}%",
        "noise": f"{100 * float(left.sel(kind=noise)):.0f}%",
    }
