"""Claims D21 to D25: sections 4.1 and 4.2, the loss with the context and the loss with the patch."""

import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, over_seeds

STALE = "the last mark's patch"


def _largest(name: str, way: str = "patch"):
    """Return the check of an identity: the largest reading of one way over all marks, networks or tasks."""
    return lambda dataset: Discrepancy(dataset[name].sel(way=way))


def _exchange(way: str):
    """Return the control that answers with ``way`` in place of the patch."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        names = [name for name, values in dataset.items() if "way" in values.dims]
        found = {name: dataset[name].where(dataset.way != "patch", dataset[name].sel(way=way)) for name in names}
        broken = dataset.assign(found)
        return broken.isel(step=slice(1, None)) if way == STALE else broken

    return control


def _first_good(dataset: xr.Dataset) -> Discrepancy:
    """First marked step whose loss is below a tenth of that of the prediction 0; NaN when there is none."""
    good = dataset.loss.sel(way="context") < 0.1 * dataset.loss_zero
    return over_seeds(good.idxmax("step").where(good.any("step")))


def _over_step(dataset: xr.Dataset, network: int) -> Discrepancy:
    cell = dataset.isel(network=network)
    return Discrepancy(cell.loss / cell.loss_step, 2 * cell.loss_se / cell.loss_step)


def _astray(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(loss=dataset.loss_astray)


D21 = Claim(
    id="D21",
    paper="dherin",
    section="4.2",
    sentence="T_W(C, x) = T_{W+ΔW}(x) at every mark of the training, before the first step included (float64).",
    confidence="S",
    kind="identity",
    experiment="dherin-agreement",
    margin=1e-13,
    reason="Largest difference of predictions over their root mean square, all tasks, marks and networks; some 100 roundings.",
    check=_largest("difference"),
    control=_exchange(STALE),
    control_sentence="each task's patch from the network of the mark before",
)

D21b = Claim(
    id="D21b",
    paper="dherin",
    section="4.2",
    sentence="In float32, the usual precision of training, the two predictions agree to 1e-5.",
    confidence="S",
    kind="identity",
    experiment="dherin-agreement",
    margin=1e-5,
    reason="As D21. Rounding is 6e-8; the largest of all tasks and sums of some 100 terms leave a factor of 100.",
    check=_largest("difference_single"),
    control=_exchange("another task's patch"),
    control_sentence="the patch of another task, float32",
)

D21c = Claim(
    id="D21c",
    paper="dherin",
    section="4.2",
    sentence="The validation losses with the context and with the patch agree to 1e-6 of the label variance (float32).",
    confidence="S",
    kind="identity",
    experiment="dherin-agreement",
    margin=1e-6,
    reason="|loss difference| over mean y², all marks and networks. Differences of single tasks partly cancel in the mean.",
    check=_largest("gap_single"),
    control=_exchange("no patch"),
    control_sentence="no context and no patch",
)

D22 = Claim(
    id="D22",
    paper="dherin",
    section="4.2",
    sentence="In-context learning comes early: within 500 steps the loss is below a tenth of that of the prediction 0.",
    confidence="D",
    kind="rate",
    experiment="dherin-agreement",
    margin=500,
    reason="First mark, mean over networks. Depends on our optimiser, batch and rate; the paper's are not known.",
    check=_first_good,
    control=lambda dataset: dataset.assign(loss=dataset.loss.where(dataset.way != "context", dataset.loss_astray)),
    control_sentence="labels of the context exchanged for another task's",
)

D23 = Claim(
    id="D23",
    paper="dherin",
    section="4.1",
    sentence="The trained block is far from the optimum: above the error of least squares by 1% of the label variance or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-plateau",
    margin=0,
    reason="0.01 minus (loss − loss of least squares)/mean y². Without noise least squares is exact from N = d on.",
    check=lambda dataset: over_seeds(0.01 - (dataset.loss - dataset.loss_ols) / dataset.loss_zero),
    control=lambda dataset: dataset.assign(loss=dataset.loss_ols),
    control_sentence="least squares in place of the block",
)

D23b = Claim(
    id="D23b",
    paper="dherin",
    section="4.1",
    sentence="The trained block's error is that of one gradient step of the best size, d(d+1)/(N+d+1), to 20%.",
    confidence="D",
    kind="formula",
    experiment="dherin-plateau",
    margin=0.2,
    reason="|loss over the step's loss on the same prompts − 1|. The block may beat the step a little: its map is not linear.",
    check=lambda dataset: Discrepancy(
        abs(over_seeds(dataset.loss / dataset.loss_step).value - 1), over_seeds(dataset.loss / dataset.loss_step).two_se
    ),
    control=lambda dataset: dataset.assign(loss=dataset.loss_half_step),
    control_sentence="one step of half that size",
)

D23c = Claim(
    id="D23c",
    paper="dherin",
    section="4.1",
    sentence="The block errs where the step errs: the errors of the two on the same prompts correlate by 0.8 or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-plateau",
    margin=0.2,
    reason="1 minus the correlation. Two predictors of equal quality with independent errors have correlation 0.",
    check=lambda dataset: over_seeds(1 - dataset.alike),
    control=lambda dataset: dataset.assign(alike=dataset.alike_shuffled),
    control_sentence="errors on different prompts",
)

D24 = Claim(
    id="D24",
    paper="dherin",
    section="4.2",
    sentence="Four pre-norm blocks get far below one gradient step: a quarter of its error at most.",
    confidence="D",
    kind="bound",
    experiment="dherin-agreement-deep",
    margin=0.25,
    reason="Error over d(d+1)/(N+d+1), two standard errors over prompts, of heavy tails. One block stays at 1.",
    check=lambda dataset: _over_step(dataset, 0),
    control=_astray,
    control_sentence="labels of the context exchanged for another task's",
)

D24b = Claim(
    id="D24b",
    paper="dherin",
    section="4.2",
    sentence="Patched in all four blocks, the network without context predicts what it predicts with it (float64).",
    confidence="S",
    kind="identity",
    experiment="dherin-agreement-deep",
    margin=1e-13,
    reason="Largest difference over the root mean square of the predictions; rounding in four blocks.",
    check=lambda dataset: Discrepancy(dataset.largest.isel(network=0).sel(way="patch")),
    control=_exchange("no residual patch"),
    control_sentence="W_gate and W_up patched, W_down left",
)

D24c = Claim(
    id="D24c",
    paper="dherin",
    section="4.2",
    sentence="In float32 the patched four blocks agree to 1e-6 in the mean over tasks.",
    confidence="S",
    kind="identity",
    experiment="dherin-agreement-deep",
    margin=1e-6,
    reason="Mean difference over the root mean square of the predictions. Notes on v4 report about 1e-6, for ten blocks.",
    check=lambda dataset: Discrepancy(dataset.mean_single.isel(network=0).sel(way="patch")),
    control=_exchange("no residual patch"),
    control_sentence="W_gate and W_up patched, W_down left",
)

D25 = Claim(
    id="D25",
    paper="dherin",
    section="4.2",
    sentence="In a network of ten blocks the mean difference over 100 tasks is about 1e-6, or less (float32).",
    confidence="S",
    kind="identity",
    experiment="dherin-agreement-deep",
    margin=1e-6,
    reason="As D24c.",
    check=lambda dataset: Discrepancy(dataset.mean_single.isel(network=1).sel(way="patch")),
    control=_exchange("no residual patch"),
    control_sentence="W_gate and W_up patched, W_down left",
)

D25b = Claim(
    id="D25b",
    paper="dherin",
    section="4.2",
    sentence="That difference is rounding: in float64 the patched ten blocks agree to 1e-13.",
    confidence="D",
    kind="identity",
    experiment="dherin-agreement-deep",
    margin=1e-13,
    reason="As D24b.",
    check=lambda dataset: Discrepancy(dataset.largest.isel(network=1).sel(way="patch")),
    control=_exchange("no residual patch"),
    control_sentence="W_gate and W_up patched, W_down left",
)

D25c = Claim(
    id="D25c",
    paper="dherin",
    section="4.2",
    sentence="The ten blocks do learn in context: a quarter of the error of one gradient step at most.",
    confidence="D",
    kind="bound",
    experiment="dherin-agreement-deep",
    margin=0.25,
    reason="As D24.",
    check=lambda dataset: _over_step(dataset, 1),
    control=_astray,
    control_sentence="labels of the context exchanged for another task's",
)
