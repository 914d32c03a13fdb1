"""The answer of section 4.4."""

from icl_lib.companion import minute_of


@minute_of("dherin-alignment")
def minute(both):
    """Says: Give a trained network the examples of a new task, once as a context and once as training data. Two changes of one
    matrix result: the patch that stands for the context, and what finetuning changes. Their losses fall in similar ways, and, a
    summary of later versions adds, they point in similar directions.

    So: In part. Both losses fall ({D31}). At the paper's rate the curves differ somewhere by more than a factor 2 ({D32}).
    Closeness at one rate depends on the scale of the weights, not on what is learned ({D32c}). The two changes align in the
    mean ({D33}): by {aligned}, where {ceiling} is the most for a patch made for one query, and by {other} when finetuning gets
    another task's labels ({D34}). Alignment reaches half its ceiling from one initialisation ({D33h}), not from ours ({D33b}).
    New: After all examples, with one query, alignment reveals only that query's label; a task that agrees there alone scores as
    well ({D34e}). One patch for many queries tells tasks apart ({D34g}).
    """
    end = both.isel(i=-1).mean("seed")
    return {
        "aligned": f"{float(end.alignment.sel(labels='true')):.2f}",
        "other": f"{float(end.alignment.sel(labels='another task')):.2f}",
        "ceiling": f"{float(end.share):.2f}",
    }
