"""The answer of the second sequel."""

from icl_lib.companion import minute_of


@minute_of("dherin-modern-blocks")
def minute(blocks):
    """Says: The blocks of language models have skips, norms and gates, some have experts or a second norm. A sequel moves the
    context into the weights of all of them, exactly and for whole networks.

    So: Yes. In five kinds of blocks, patched in {count} ways, among them those of Llama ({D42}), of Gemma ({D43}) and mixtures
    of experts ({D45}), the logits are right to {exact}; with up to 32 blocks too ({D46}). That one form for Gemma loses
    tokens in 16-bit arithmetic, as notes on the sequel report, is not reproduced here ({D48c}).
    New: Exact logits say little about the single block, for the patch of the last block alone makes them right ({D46b}).
    The form for Gemma divides by activations, so some of its changes are huge ({D43b}). One that divides by gains and
    lengths only is exact as well ({D48}), and keeps tokens that the other loses when precisions are mixed ({D48d}).
    """
    exact = float(blocks.error.sel(patch="whole").max())
    return {"count": str(blocks.sizes["architecture"]), "exact": f"{exact:.0e}"}
