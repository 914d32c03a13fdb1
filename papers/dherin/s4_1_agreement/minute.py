"""The answer of sections 4.1 and 4.2."""

from icl_lib.companion import at_most, minute_of

OTHER = "another task's patch"


@minute_of("dherin-agreement")
def minute(trained):
    """Says: A block learns linear regression from the examples in its prompt. Take the context away and write it into the
    weights, as a patch: the loss should be the same, all through the training.

    So: Yes, up to rounding. Predictions with the context and with the patch differ by {gap} of their size at most ({D21}), and
    the losses agree ({D21c}). This starts before the first step of training, for the theorem holds for any weights. A patch
    made for another prompt is no use: predictions differ by up to {stale} times their size.
    New: One can say what the block has learned; the theorem does not. The block ends near one step of gradient descent of the
    best size, within 12% of its error ({D23b}), and errs on the same prompts ({D23c}). Four blocks get far below that
    ({D24}).
    """
    difference = trained.difference.max(("step", "seed"))
    return {
        "gap": at_most(trained.difference.sel(way="patch").max(), ".0e"),
        "stale": at_most(difference.sel(way=OTHER), ".2g"),
    }
