"""The answer of section 2."""

from icl_lib.companion import at_most, minute_of


@minute_of("dherin-identity")
def minute(exact):
    """Says: A layer that mixes tokens hands one vector to the MLP behind it, and a context changes this vector. The change can
    be moved into the first matrix of the MLP, as a matrix of rank 1. The block then answers the query alone as it answers with
    the context.

    So: Yes, exactly. The output is off by {exact} of its size at most, which is rounding; without the change, and so without
    the whole context, by {missing} times its size, in the median. This holds for softmax attention ({D1}), linear attention
    ({D3}) and recurrent layers ({D2}). The statements known to us leave out one condition: the vector without the context must
    not be 0.
    New: Exactness is no sign of learning. Any vector can be written in like this, noise too ({D9}), and other matrices take
    up the context as well ({D8}). A change serves one query; given to another it typically leaves much of the error ({D6c}).
    """
    bare = exact.error_bare.isel(size=-1).median()
    return {"exact": at_most(exact.error.max(), ".0e"), "missing": f"{float(bare):.1f}"}
