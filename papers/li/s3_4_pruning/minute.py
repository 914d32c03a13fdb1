"""The answer of section 3.4."""

from icl_lib.companion import minute_of

R = 0.8
"""The fraction of the large neurons that the answer takes as its example."""


@minute_of("li-pruning")
def minute(deleted):
    """Says: After training some neurons, rows of $W_O$, are large and the others small. Deleting all small ones costs little.
    Deleting a fraction $R$ of the large ones costs an error of the order of $R$. A retelling adds that about 15% can go.

    So: In part. In setting A there are two groups ({L11}, {L11b}), and the small neurons are free ({L12}). For large ones the
    hinge loss rises with $R$ ({L12c}), but only beyond a plateau: the first ones are free as well ({L12d}).
    New: The 0-1 error, which counts wrong answers, stays where it is up to $R = 0.8$ ({L12g}). With {R} of the large neurons
    deleted at random the hinge loss has gone from {before} to {after}, and the error from {error_before} to {error_after}.
    Deletion takes amplitude, and a sign needs none. It is lost when one label loses all its neurons ({L12h}).
    """
    cell = deleted.sel(domain="out of domain", order="random").mean("seed")
    told = {"R": f"{R:.0%}"}
    for name, at in (("before", 0.0), ("after", R)):
        one = cell.sel(R=at, method="nearest")
        told |= {name: f"{float(one.hinge):.3f}", f"error_{name}": f"{float(one.error):.4f}"}
    return told
