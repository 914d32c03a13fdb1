"""Claims L1 to L1c, L2 to L2c: section 2, the untrained network and its training."""

import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, distance_over_seeds, over_seeds

COVERING = ["cyclic 3", "cyclic 1"]


def _worse(*found: Discrepancy) -> Discrepancy:
    """Return several discrepancies as one array."""
    parts = [xr.concat([getattr(one, name) for one in found], "part") for name in ("value", "two_se")]
    return Discrepancy(*parts)


def _trained(dataset: xr.Dataset) -> Discrepancy:
    end = dataset.isel(step=-1).sel(tasks=COVERING)
    return _worse(over_seeds(end.error_training - dataset.absent), over_seeds(end.hinge_training - 3 * dataset.absent))


def _unseen(dataset: xr.Dataset) -> Discrepancy:
    end = dataset.isel(step=-1).sel(tasks=COVERING)
    return over_seeds(end.hinge_unseen - end.hinge_training)


def _blind(dataset: xr.Dataset) -> Discrepancy:
    course = dataset[["error_blind", "hinge_blind"]].mean(["tasks", "step"])
    return _worse(distance_over_seeds(course.error_blind, 0.5), over_seeds(1 - course.hinge_blind))


L1 = Claim(
    id="L1",
    paper="li",
    section="2",
    sentence=(
        "The untrained network is at chance: over the draws of W_O its error is 1/2 and its hinge loss 1, for every length "
        "of the patterns and of the prompt."
    ),
    confidence="D",
    kind="formula",
    experiment="li-start",
    margin=0.03,
    reason="Absolute. By symmetry of W_O the error is 1/2 exactly; the standard error in quick is below 0.007.",
    check=lambda dataset: _worse(distance_over_seeds(dataset.error, 0.5), distance_over_seeds(dataset.hinge, 1)),
    control=lambda dataset: dataset.assign(error=dataset.error_label_neurons),
    control_sentence="rows of W_O that know the label direction, everything else untrained",
)

L1b = Claim(
    id="L1b",
    paper="li",
    section="2",
    sentence=(
        "Untrained attention is near uniform: its mass on the query's pattern is E[ng/(ng + l − n) | n ≥ 1], with "
        "g = exp(δ²β²) and n binomial (l, α/2). At δβ = 0.4, l = 20, α = 0.8 it is 0.437, uniform 0.400."
    ),
    confidence="D",
    kind="formula",
    experiment="li-start",
    margin=0.015,
    reason="Absolute. The standard error in quick is 0.002; at δβ = 0.4 uniform attention is off by 0.03 to 0.04.",
    check=lambda dataset: distance_over_seeds(dataset.mass, dataset.mass_theory),
    control=lambda dataset: dataset.assign(mass_theory=dataset.mass_uniform + 0 * dataset.mass_theory),
    control_sentence="uniform attention, g = 1",
)

L1c = Claim(
    id="L1c",
    paper="li",
    section="2",
    sentence=(
        "At the start E F² = ½(1 − 1/π) ξ²δ² E|p̄|², whatever the number of neurons, so F is of order 10⁻³ and the hinge "
        "loss is 1 to first order."
    ),
    confidence="D",
    kind="formula",
    experiment="li-start",
    margin=0.25,
    reason="Relative, on E F². The standard error over networks is 4% in quick; signs drawn by coins are off by 47%.",
    check=lambda dataset: distance_over_seeds(dataset.square / dataset.square_theory, 1),
    control=lambda dataset: dataset.assign(square=dataset.square_coins),
    control_sentence="signs of a drawn by independent coins, which adds the square of the mean ReLU",
)

L2 = Claim(
    id="L2",
    paper="li",
    section="2",
    sentence="SGD on the hinge loss learns the training tasks: at the end error and hinge loss on fresh prompts are near 0.",
    confidence="D",
    kind="bound",
    experiment="li-training",
    margin=0.03,
    reason=(
        "Chance is 0.5 and 1. The share of prompts without the query's pattern is taken off, three times in the hinge, where "
        "a wrong sign costs 1 + |F|."
    ),
    check=_trained,
    control=lambda dataset: dataset.isel(step=[0]),
    control_sentence="the same networks before training",
)

L2b = Claim(
    id="L2b",
    paper="li",
    section="2",
    sentence="Unseen tasks are learnt with the trained ones: at the end their hinge loss is larger by at most 0.05.",
    confidence="D",
    kind="bound",
    experiment="li-training",
    margin=0.05,
    reason="Difference of hinge losses. With 6 of 30 tasks it is about 0.01 in quick and still falling.",
    check=_unseen,
    control=lambda dataset: dataset.assign(
        hinge_unseen=xr.where(dataset.tasks == "cyclic 1", dataset.hinge_unseen.sel(tasks="one-sided"), dataset.hinge_unseen)
    ),
    control_sentence="training tasks that give each pattern one label only",
)

L2c = Claim(
    id="L2c",
    paper="li",
    section="2",
    sentence=(
        "What is learnt needs the attention: with W_Q = 0 the network has error 1/2 and hinge loss at least 1, in the mean "
        "over the stages of training and the sets of tasks."
    ),
    confidence="D",
    kind="identity",
    experiment="li-training",
    margin=0.04,
    reason="Exact in expectation; Monte Carlo, mean over steps and task sets, standard error below 0.006 in quick.",
    check=_blind,
    control=lambda dataset: dataset.assign(error_blind=dataset.error_training, hinge_blind=dataset.hinge_training),
    control_sentence="the same networks with their own W_Q",
)
