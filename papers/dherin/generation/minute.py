"""The answer of the page on generation."""

from icl_lib.companion import minute_of


@minute_of("dherin-generation")
def minute(decoded):
    """Says: A patch is made for one token, the first that is generated. A sequel makes it anew for every token, and lets the
    network write on without ever seeing its context.

    So: Yes. Greedy or sampled, a network that sees the current token alone writes the same text ({D50}): {differ} of its tokens
    differ. With the last block left unpatched {unpatched} do, in the mean over kinds of blocks, greedy and sampled.
    New: It saves nothing. The patches are made from the states with the whole context, at every step, and a step costs more
    than without them ({D52}). And a patch does not outlive its token: in random networks it is about as bad as none for the
    next ({D53}). It is mostly the new token that does this, not the longer context ({D53b}).
    """
    anew, last = (decoded.differ.sel(patches=name) for name in ("recomputed", "last block without"))
    return {"differ": f"{100 * float(anew.max()):.0f}%", "unpatched": f"{100 * float(last.mean()):.0f}%"}
