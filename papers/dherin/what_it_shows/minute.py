"""The answer of the last page of this part."""

from icl_lib.companion import minute_of


@minute_of("dherin-placebo")
def minute(vectors):
    """Says: A context acts on a block like a change of its weights. From this the paper, in its versions and sequels, speaks of
    learning, of gradient descent, of convergence, and of a likeness to finetuning.

    So: In part. The identity is exact ({D1}), in whole networks too ({D46}). The words are another matter. Exactness is no
    learning: with shuffled labels the identity holds as well ({D9}), and the squared error of the prediction is {shuffled}
    times as large ({D9b}). The gradient descent is one in form only ({D17d}). Tokens change the update less and less in
    untrained blocks too ({D27}); that recurrent layers learn worse without this is not reproduced here ({D29}). Context and
    finetuning align positively in the mean, in small trained blocks ({D33}).
    New: What the context teaches is in the vector that attention makes, which the theorem takes as given. After all examples a
    change made for one query shows the label there and nothing more ({D34e}). One change for many queries is the useful object
    ({D54}).
    """
    risk = vectors.risk.mean("replicate")
    return {"shuffled": f"{float(risk.sel(vector='labels shuffled') / risk.sel(vector='own context')):.0f}"}
