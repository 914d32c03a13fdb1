"""The answer of section 2."""

from icl_lib.companion import at_most, minute_of


@minute_of("li-training")
def minute(course):
    """Says: A prompt is a list of labelled inputs and a query, an input whose label is missing. One head of softmax attention
    and one layer of ReLU neurons answer it. Training is plain SGD on the hinge loss $max(0, 1 − zF)$, with $zF$ the margin.

    So: Yes, it trains. It begins at chance, and the hinge loss is below ½ by step {step}. At the end the error on fresh
    prompts of the training tasks is at most {error} ({L2}).
    New: The query enters through the attention alone: with $W_Q = 0$ every such network is a coin, and that is proved below.
    The initialisation is known from memory only. Its attention leans a little to contexts like the query ({L1b}), and this lean
    is the signal that training starts from.
    """
    trained = course.sel(tasks="cyclic 3").mean("seed")
    below = (trained.hinge_training < 0.5).values
    step = f"{int(course.step[below.argmax()])}" if below.any() else "… (not within this run)"
    error = max(float(course.error_training.isel(step=-1).mean("seed").max()), 1e-4)
    return {"step": step, "error": at_most(error, ".2%")}
