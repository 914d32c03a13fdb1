"""The answer of section 5.2."""

from icl_lib.companion import minute_of


@minute_of("zhang-time-course")
def minute(course):
    """Says: From the paper's initialisation two of the four blocks of weights never move. The other two obey closed equations,
    the gradient flow of a simpler loss whose minimum can be read off.

    So: Yes. The equations are the gradient of the layer's own loss, up to rounding ({Z19}), and the loss above its minimum is a
    square ({Z19d}).
    New: When all directions have one variance, and the initialisation prefers none, the loss falls in a single drop, of closed
    form ({Z22}). An initialisation $k$ times smaller delays it by $ln k/(λ²√d)$. Where the other two blocks do not start at
    zero they grow as well, from two dimensions on more slowly ({Z21}).
    """
    return {}
