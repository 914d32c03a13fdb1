"""Claims D26, D27 and D30: section 4.3, how the update settles as the context grows."""

import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, distance_over_seeds

SUMMING = "no normalisation"


def _slope(case: str, name: str = "slope", target: float = -1.0):
    """Return the check of a rate: |mean slope over networks - target|."""
    return lambda dataset: distance_over_seeds(dataset[name].sel(case=case), target)


def _exchange(own: str, other: str):
    """Return the control that reads the case ``other`` where ``own`` is asked for."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        return dataset.assign_coords(case=[{own: other, other: own}.get(name, name) for name in dataset.case.values])

    return control


D26 = Claim(
    id="D26",
    paper="dherin",
    section="4.3",
    sentence="With softmax attention the marginal updates |ΔW_n − ΔW_{n−1}| fall towards 0, like 1/n.",
    confidence="S",
    kind="rate",
    experiment="dherin-marginal-updates",
    margin=0.15,
    reason="|log-log slope + 1| from n = 10 on, of the mean over trials. The fall is the paper's, the rate is derived here.",
    check=_slope("trained"),
    control=_exchange("trained", SUMMING),
    control_sentence="the same weights in linear attention: values are summed, not averaged",
)

D26b = Claim(
    id="D26b",
    paper="dherin",
    section="4.3",
    sentence="Each marginal update is W Σ_h W_O^h p^h (v^h − ā^h) A(x)ᵀ/‖A(x)‖²: the step of a running weighted average.",
    confidence="D",
    kind="identity",
    experiment="dherin-marginal-updates",
    margin=1e-13,
    reason="Largest difference of the matrices over the largest patch of the trial, trained and untrained networks.",
    check=lambda dataset: Discrepancy(dataset.formula),
    control=lambda dataset: dataset.assign(formula=dataset.formula_late),
    control_sentence="the average that already has the new token in it",
)

D26c = Claim(
    id="D26c",
    paper="dherin",
    section="4.3",
    sentence="Marginal updates have rank one, so spectral and Frobenius norm are one curve.",
    confidence="D",
    kind="identity",
    experiment="dherin-marginal-updates",
    margin=1e-13,
    reason="Largest difference of the two norms over the largest patch of the trial.",
    check=lambda dataset: Discrepancy(dataset.excess),
    control=lambda dataset: dataset.assign(excess=dataset.excess_turned),
    control_sentence="A(C_n, x) in place of A(x) as row vector: rank two",
)

D26d = Claim(
    id="D26d",
    paper="dherin",
    section="4.3",
    sentence="In root mean square n ‖ΔW_n − ΔW_{n−1}‖ comes to κ/‖A(x)‖, a number read off the trained weights.",
    confidence="D",
    kind="formula",
    experiment="dherin-marginal-updates",
    margin=0.15,
    reason="|root mean square of the ratio − 1| for n > N/2. Terms of order 1/n and the tail of e^score leave some percent.",
    check=lambda dataset: distance_over_seeds(dataset.scaled_late.sel(case="trained"), 1),
    control=lambda dataset: dataset.assign(scaled_late=dataset.scaled_root_late),
    control_sentence="√n in place of n",
)

D26e = Claim(
    id="D26e",
    paper="dherin",
    section="4.3",
    sentence="ΔW_n itself settles slower: in root mean square √n ‖ΔW_n − ΔW_∞‖ comes to the same κ/‖A(x)‖.",
    confidence="D",
    kind="formula",
    experiment="dherin-marginal-updates",
    margin=0.15,
    reason="As D26d. ΔW_∞ is computed from the weights, the query and the task's w.",
    check=lambda dataset: distance_over_seeds(dataset.apart_late.sel(case="trained"), 1),
    control=_exchange("trained", "labels are noise"),
    control_sentence="labels that are not the task's: ΔW goes elsewhere",
)

D27 = Claim(
    id="D27",
    paper="dherin",
    section="4.3",
    sentence="The marginal updates of an untrained block fall by the same law: slope −1.",
    confidence="D",
    kind="rate",
    experiment="dherin-marginal-updates",
    margin=0.15,
    reason="As D26, networks with fresh random weights.",
    check=_slope("untrained"),
    control=_exchange("untrained", SUMMING),
    control_sentence="values summed, not averaged",
)

D27b = Claim(
    id="D27b",
    paper="dherin",
    section="4.3",
    sentence="A trained block on labels that are noise, where there is nothing to learn, has the slope −1 too.",
    confidence="D",
    kind="rate",
    experiment="dherin-marginal-updates",
    margin=0.15,
    reason="As D26, labels from N(0, d) that no w made.",
    check=_slope("labels are noise"),
    control=_exchange("labels are noise", SUMMING),
    control_sentence="values summed, not averaged",
)

D30 = Claim(
    id="D30",
    paper="dherin",
    section="4.3",
    sentence="The prediction settles like the update: |T(C_n, x) − T(C_{n−1}, x)| falls like 1/n.",
    confidence="D",
    kind="rate",
    experiment="dherin-marginal-updates",
    margin=0.2,
    reason="|log-log slope + 1| from n = 10 on, of the median over trials. A median of 100 trials with kinks of ReLU is rough.",
    check=_slope("trained", "output_slope"),
    control=_exchange("trained", SUMMING),
    control_sentence="the same weights in linear attention",
)
