"""The answer of section 3.2."""

from icl_lib.companion import at_most, minute_of


@minute_of("li-unseen-tasks")
def minute(unseen):
    """Says: An input contains one of $M₁$ patterns, and a task names two of them, one for each label. Condition 3.2 asks that
    the training tasks show every pattern with both labels equally often. Then a small set of tasks is to teach the rule for
    all tasks.

    So: Yes. Trained on a set that meets the condition, if only on $M₁$ tasks, models err on at most {covered} of the prompts of
    other tasks ({L4}). The sets tried that violate it leave errors of {least} to {most} there ({L5}), although they answer
    their own tasks.
    New: The first gradient step tells why. Covering the patterns teaches attention to look for the query's pattern ({L5f}).
    Where a pattern was seen with one label only, the layer memorises it ({L5c}); balanced labels rule this out. Trained on all
    tasks it errs where the query's pattern is missing, by a law without free parameter ({L6}).
    """
    error = unseen.error.mean("seed")
    violating = error.where(unseen.covers == 0, drop=True)
    covered = max(float(error.where(unseen.covers == 1).max()), 1e-4)
    return {
        "covered": at_most(covered, ".2%"),
        "least": f"{float(violating.min()):.0%}",
        "most": f"{float(violating.max()):.0%}",
    }
