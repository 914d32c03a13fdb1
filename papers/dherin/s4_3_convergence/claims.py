"""Claims D26 and D27: section 4.3, how the update settles as the context grows."""

from icl_lib.companion.claim import claims_of, distance_over_seeds
from icl_lib.companion.controls import exchanged, put

SUMMING = "no normalisation"


def _slope(case: str):
    """Return the check of a rate: |mean slope over networks + 1|."""
    return lambda dataset: distance_over_seeds(dataset.slope.sel(case=case), -1.0)


claim = claims_of("dherin-marginal-updates")


@claim("S", "rate", check=_slope("trained"), margin=0.15, control=exchanged("case", "trained", SUMMING))
def D26(dataset):
    """With softmax attention the marginal updates |ΔW_n − ΔW_{n−1}| fall towards 0, like 1/n.

    Margin: |log-log slope + 1| from n = 10 on, of the mean over trials. The fall is the paper's, the rate is derived
    here.
    Control: the same weights in linear attention: values are summed, not averaged
    """


@claim("D", "formula", margin=0.15, control=put(scaled_late="scaled_root_late"))
def D26d(dataset):
    """In root mean square n ‖ΔW_n − ΔW_{n−1}‖ comes to κ/‖A(x)‖, a number read off the trained weights.

    Margin: |root mean square of the ratio − 1| for n > N/2. Terms of order 1/n and the tail of e^score leave some
    percent.
    Control: √n in place of n
    """
    return distance_over_seeds(dataset.scaled_late.sel(case="trained"), 1)


@claim("D", "formula", margin=0.15, control=exchanged("case", "trained", "labels are noise"))
def D26e(dataset):
    """ΔW_n itself settles slower: in root mean square √n ‖ΔW_n − ΔW_∞‖ comes to the same κ/‖A(x)‖.

    Margin: As D26d. ΔW_∞ is computed from the weights, the query and the task's w.
    Control: labels that are not the task's: ΔW goes elsewhere
    """
    return distance_over_seeds(dataset.apart_late.sel(case="trained"), 1)


@claim("D", "rate", check=_slope("untrained"), margin=0.15, control=exchanged("case", "untrained", SUMMING))
def D27(dataset):
    """The marginal updates of an untrained block fall by the same law: slope −1.

    Margin: As D26, networks with fresh random weights.
    Control: values summed, not averaged
    """


@claim("D", "rate", check=_slope("labels are noise"), margin=0.15, control=exchanged("case", "labels are noise", SUMMING))
def D27b(dataset):
    """A trained block on labels that are noise, where there is nothing to learn, has the slope −1 too.

    Margin: As D26, labels from N(0, d) that no w made.
    Control: values summed, not averaged
    """
