"""The answer of the appendix on skip connections."""

from icl_lib.companion import minute_of


@minute_of("dherin-skip-connections")
def minute(found):
    """Says: Real blocks carry each token around the MLP, out of reach of its first matrix. An appendix gives the context a
    second place in the weights, the last bias. It takes up what goes around the MLP.

    So: Yes, for the block that the appendix writes down: the output is right to {exact}, in the median ({D35}). In the usual
    block the MLP reads the token as well, often behind a norm. Behind a norm two different vectors are needed, one for each
    place ({D35c}), and one symbol for both leaves an error ({D35d}). So does, in the usual block, norms or not, the formula
    read word by word ({D35e}).
    New: In the appendix's block, with random weights, most of what a context does goes around the MLP. Of the error without any
    patch, {bias} is left without the part in the bias, and {matrix} without the part in the matrix.
    """
    error = found["median"].isel(block=0, share=-1)
    left = {way: f"{100 * float(error.sel(way=way) / error.sel(way='no patch')):.0f}%" for way in error.way.values}
    exact = f"{float(found['median'].isel(block=0).sel(way='both parts').max()):.0e}"
    return {"exact": exact, "bias": left["without the bias"], "matrix": left["without the matrix"]}
