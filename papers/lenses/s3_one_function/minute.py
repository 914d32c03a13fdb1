"""The answer of one convex function of the context."""

from icl_lib.companion import minute_of


@minute_of("lenses-token-distribution")
def minute(found):
    """Says: Zhang et al. let linear attention make a step, Li et al. let softmax attention look up, Dherin et al. put a context
    into weights. Three readings of one convex function of the context.

    So: Yes. Attention is the slope of $Φ_C(k) = log((1/N) Σ exp(k·z_i))$ at the query ({S3}). Its curvature at 0 makes the
    step, the largest logit the look-up, and for Gaussian queries its mean curvature is the best change of weights
    ({S3c}). What the best change leaves depends on the tokens. With {N} Gaussian tokens in {d} dimensions, logits of variance
    {x}, it is {gaussian} of the output's variance, with as many patterns of the same covariance {patterns}; only the first
    vanishes with the length ({S3d}).
    New: In Li et al.'s trained network one vote on the label explains 99% of the patch's square, where patterns have
    one coefficient sum ({S3o}). Removing an example, if the answer stays, changes the output, to 1%, by the output's gradient
    in its score, divided by the attention left to the others ({S3j}).
    """
    last = found.share.isel(d=0, x=-1, N=-1)
    told = {kind: f"{float(last.sel(tokens=kind)):.2%}" for kind in ("Gaussian", "patterns")}
    where = {"N": f"{int(last.N)}", "d": f"{int(last.d)}", "x": f"{float(last.x):g}"}
    return where | {"gaussian": told["Gaussian"], "patterns": told["patterns"]}
