"""The answer of what a trained network's context leaves behind."""

from icl_lib.companion import minute_of


@minute_of("lenses-what-is-left")
def minute(found):
    """Says: Dherin et al. turn a context into a change of weights for one query. In Zhang et al.'s theorem it is one vector for
    all queries, a gradient step. How much of a trained network's context is one vector, and which?

    So: For linear tasks the best answer is linear in the query, whatever prior and noise. So what is no vector is excess
    risk, one for one, and the rest of the excess is a wrong vector ({S4}). A block at its one training length has no vector for
    {block} of its excess ({S4b}), and its vector is near Zhang et al.'s step ({S4g}). Decoders have no vector for {first} of
    their small excess after one example ({S4d}), and for {most} where it is largest ({S4e}).
    New: From a decoder's vector Zhang et al.'s step is the farthest candidate ({S4i}); three best steps are nearer ({S4j}), and
    where examples are as many as dimensions a ridge is nearer than the posterior mean ({S4k}). The block that makes a gradient
    step attends nearly uniformly ({S4o}). Trained at every length it has, after 50 examples, no vector for {every} of its
    excess ({S4c}).
    """
    share = found.share.mean("seed")
    decoders = share.sel(network=[name for name in share.network.values if name.startswith("decoder")])
    block, every = "one block, N = 100", "one block, every length to 50"
    return {
        "block": f"{float(share.sel(network=block, k=100)):.0%}",
        "every": f"{float(share.sel(network=every, k=50)):.0%}",
        "first": f"{float(decoders.sel(k=1).mean()):.0%}",
        "most": f"{float(decoders.sel(k=5).mean()):.0%}",
    }
