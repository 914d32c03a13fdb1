"""The answer of the page on classes of language models."""

from icl_lib.companion import at_most, minute_of


@minute_of("dherin-model-classes")
def minute(classes):
    """Says: Sequel 2 patches the blocks of Gemma, and says how for blocks with gates, norms, experts, or attention beside the
    MLP. A user of language models has their code, and not ours.

    So: The identity holds in {count} classes of a public library as it stands, in small models with random weights: patched
    within its own forward, each gives the logits that it gives with the context up to {exact} ({D60}). The last matrix of every
    block is enough.
    New: What is exact may say little: in GPT-2 and Llama one patch serves as many tokens as the hidden layer is wide, whatever
    the context ({D63}), and tells nothing about the next one ({D64}). Where positions are learned it is as exact at a wrong
    one ({D62}). Behind a norm the gain solves equations linear in its inverse square ({D65}). In small models that look up
    facts, one patch for many queries answers for the facts asked for ({D67}), and not for others ({D68}). No
    published checkpoint was run here.
    """
    whole = classes[["error", "stream"]].sel(precision="float32", patch=["all matrices", "last alone"]).to_dataarray()
    return {"count": str(classes.sizes["model"]), "exact": at_most(whole.max(), ".1e")}
