"""The answer of section 4."""

from icl_lib.companion import minute_of


@minute_of("li-attention")
def minute(attention):
    """Says: Attention picks out the contexts that share the query's pattern, and the neurons read the label off their average.
    The authors' slides state this as Propositions 1 and 2, for unseen tasks and for new patterns.

    So: Yes. Attention on the query's pattern rises from {start} to {A} on unseen tasks in setting A, to {B} in setting B
    ({L13}), and on new patterns as well ({L13b}). Large neurons point along the label ({L15b}) and in
    setting A along the mean pattern ({L15}). Two details are not reproduced here: attention beyond 0.99 ({L13c}), and that only
    “lucky” neurons grow ({L15e}).
    New: The hinge loss is what stops the attention: with its margin raised the same weights pass 0.99 within ten steps
    in setting A ({L13d}). A law of odds gives the attention at every step from the weights alone ({L13e}).
    """
    mass = attention.mass.sel(split="unseen tasks").mean("seed")
    end = mass.isel(step=-1)
    found = {"start": mass.sel(setting="A").isel(step=0), "A": end.sel(setting="A"), "B": end.sel(setting="B")}
    return {name: f"{float(value):.2f}" for name, value in found.items()}
