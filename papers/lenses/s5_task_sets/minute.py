"""The answer of the task sets."""

from icl_lib.companion import minute_of


@minute_of("lenses-lu-tasks")
def minute(found):
    """Says: Lu et al. train linear attention on $k$ tasks and give the gap from its error on these to that on new ones, in the
    limit of many dimensions. Their points at finite dimension lie above it, at $d = 10$ and $k = 2$ at {times} times the limit
    of infinitely many prompts.

    So: If its values read the label alone, the layer sees of its tasks second moments, and the energy $(1/N) Σ y_i²$ of the
    labels. This is nearly a constant, so the layer can say the mean task, as an MLP does ({S5}). On new tasks that is
    wrong ({S5b}). With the energy the optimum is within 15% of the points at $d = 32$ and 64, $k<d$ ({S5f}); without it,
    the point above is {alone} higher. Layers trained on as many prompts have their gap, to four standard errors ({S5e}).
    New: The optimum at finite $d$ and $N$ in closed form, and what long prompts leave on new tasks: an error up to $k = d$
    tasks in general position, and none for more ({S5c}).
    """
    worst = found.sel(d=10).isel(kappa=0)
    return {"times": f"{float(worst.published / worst.many):.1f}", "alone": f"{float(worst.published / worst.alone) - 1:.0%}"}
