"""The answer of section 3."""

from icl_lib.companion import minute_of


@minute_of("zhang-two-notions")
def minute(errors):
    """Says: To be trained on prompts is one thing, to learn in context another. The model is one layer of attention without
    softmax, of whose weights few matter. It is trained on random linear tasks, by gradient flow on the mean squared error.

    So: Yes. The two notions differ ({Z2}): trained on prompts of {short} examples ({d} dimensions, equal variances), the model
    keeps {short_floor} of the error of predicting 0 on the longest prompts tested; on prompts of {long}, {long_floor}. And the
    prediction depends on the few weights that the paper keeps ({Z3}).
    New: What is left on endless prompts, and the least loss in training, in closed form.
    """
    left = errors.risk.isel(d=0, M=-1).sel(kappa=1)
    ends = {"short": left.isel(N=0), "long": left.isel(N=-1)}
    numbers = {name: f"{int(cell.N)}" for name, cell in ends.items()}
    floors = {f"{name}_floor": f"{100 * float(cell):.0f}%" for name, cell in ends.items()}
    return numbers | floors | {"d": f"{int(left.d)}"}
