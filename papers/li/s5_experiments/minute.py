"""The answer of section 5."""

from icl_lib.companion import minute_of


@minute_of("li-decoder")
def minute(decoder):
    """Says: A GPT-2 of three layers does on these prompts what the one layer does: its error falls with longer prompts, its
    attention turns to the query's pattern. In-context learning keeps up with classical learners that are fitted on the examples
    of each prompt, and is clearly the best where few contexts are relevant.

    So: In part. At {l} contexts a three-layer transformer errs on {error} of the prompts of unseen tasks, where a coin errs on
    half ({L16}), and on fewer than with 4 ({L17b}). Its most selective head turns to the query's pattern ({L18}); that whole
    layers give it 0.7 of their attention is not reproduced ({L18b}). With 8 and 10 contexts together the one-layer model errs
    less often than logistic regression ({L20d}); that the two tie ({L20b}), and that it is clearly the best ({L20}), is not
    reproduced here.
    New: In setting A the one-layer model errs only where the query's pattern is missing ({L20f}). There no vote beats a
    single nearest neighbour. The slides' ranking appears when the inputs are noisier than the paper is remembered to say
    ({L20g}), but not together with the slides' errors ({L20i}).
    """
    error = decoder.error.sel(domain="in", alpha=0.8).isel(l=-1).mean("seed")
    return {"l": f"{int(decoder.l[-1])}", "error": f"{float(error):.1%}"}
