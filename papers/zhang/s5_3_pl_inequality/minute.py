"""The answer of section 5.3."""

from icl_lib.companion import minute_of


@minute_of("zhang-dense-init")
def minute(ends):
    """Says: Along training from the paper's initialisation the squared gradient is at least a constant times the excess of the
    loss. So training converges to the global minimum. Two hypotheses on the initialisation: it is small, and two of its blocks
    are zero.

    So: Yes, from such initialisations ({Z23}, {Z24}). The constant is far from tight ({Z24c}).
    New: The initialisation need not be small ({Z25b}), but the zeros matter: of {starts} trainings without them {arrived} are
    at the optimum when they are looked at ({Z26}). At a loss {trap} times as large lies another critical point. A criterion
    says when it is a local minimum ({Z26b}), and in two and three dimensions long prompts do not remove such minima ({Z26c}).
    """
    arrived = (ends.loss < ends.attrs["at_optimum"]).sum()
    return {"starts": f"{ends.loss.size}", "arrived": f"{int(arrived)}", "trap": f"{float(ends.trap_loss):.2f}"}
