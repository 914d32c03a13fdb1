"""The answer of section 4.3."""

from icl_lib.companion import minute_of


@minute_of("dherin-layers-compared")
def minute(compared):
    """Says: While examples are read one by one, the update of the weights changes less and less. Notes on the fourth version
    add that with a recurrent layer it does not, and that this goes with poor learning in context.

    So: In part. With attention the changes fall like one over the number of tokens ({D26}); with recurrent layers they do not
    fall ({D28}). That they learn worse for it is not reproduced here ({D29}): the GRU ends with an error of {gru} where
    attention has {attention}. Three tanh RNNs do learn worse ({D29b}), and one trained at another rate learns better ({D29f}).
    New: The fall is that of an average. It is the same in attention that has learned nothing ({D27}) and on labels that are
    noise ({D27b}), and in root mean square its constant can be read off the weights ({D26d}). So it takes no more than
    a softmax over tokens that are alike, and shows nothing about learning.
    """
    error = compared.loss_end.sel(state="trained").mean("seed")
    return {"gru": f"{float(error.sel(layer='GRU')):.3f}", "attention": f"{float(error.isel(layer=0)):.3f}"}
