"""The answer of section 5.1."""

from icl_lib.companion import minute_of


@minute_of("zhang-full-loss")
def minute(loss):
    """Says: The layer's prediction is a quadratic form in its weights. The loss is not convex: that descent finds its
    minimum needs a proof of its own.

    So: Yes, but for a count. The form is exact ({Z19a}); that the loss is not convex does not follow from it, and has an
    argument of its own here. It has fewer negative directions than the paper says when a prompt has
    fewer examples than dimensions ({Z19e}, {Z19b}).
    New: The loss over all weights in closed form, and a proof that the limit of training is its global minimum. In {settings}
    settings none of the random weights tried near it had a smaller loss. In one dimension there is a second family of minima
    ({Z20d}).
    """
    return {"settings": f"{loss.sizes['setting']}"}
