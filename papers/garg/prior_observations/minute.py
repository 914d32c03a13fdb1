"""The answer of the page on Garg et al."""

from icl_lib.companion import at_most, minute_of


@minute_of("garg-regression")
def minute(dense):
    """Says: A GPT-2 model is trained on prompts of examples $(x, y)$. Every prompt has a random linear function of its own.
    The model then predicts new labels about as well as least squares. When few entries of $x$ count it does better, and it
    copes with many prompts unlike those of training.

    So: In part. Our small models learn linear functions in context ({G1}, {G1d}). After all examples of a training prompt at
    most {left} of the error of predicting 0 is left. They tolerate the shifts that they should ({G3}, {G3b}), and inputs
    three times as large least ({G3e}). A gain on sparse functions, which the paper reports, is not
    seen at this scale ({G2}, {G2b}).
    New: The models are not least squares, but softer. With as many examples as dimensions they are {nearer} times nearer,
    squared, to ridge regression ({G1f}). And they adapt to inputs on which linear attention breaks down ({G3f}).
    """
    end = [dense.risk.sel(predictor=name, label="clean", k=int(dense.N.sel(model=name))) for name in dense.model.values]
    square = dense.sel(k=dense.d)
    nearer = (square.distance.sel(label="clean") / square.ridge.min("penalty")).min()
    return {"left": at_most(max(end), ".0%"), "nearer": f"{float(nearer):.1f}"}
