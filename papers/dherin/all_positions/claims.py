"""Claims D36 to D40: all positions and all blocks (Innocenti and Achour)."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, over_seeds

NO_SKIPS = "no skips"


def _gap(dataset: xr.Dataset, base: str, skips: bool) -> xr.DataArray:
    """Alignment of two context tokens minus that of a context token with the query, by variant and network."""
    skipped = [not str(name).startswith(NO_SKIPS) for name in dataset.variant.values]
    cell = dataset.alignment.sel(base=base)[np.array(skipped) == skips]
    return (cell.sel(group="others") - cell.sel(group="last")).mean("block")


def _both_losses(dataset: xr.Dataset) -> Discrepancy:
    losses = dataset.loss_patched, dataset.loss_composed
    return Discrepancy(xr.concat([abs(loss / dataset.loss - 1) for loss in losses], "route"))


D36 = Claim(
    id="D36",
    paper="dherin",
    section="sequel 1",
    sentence="In every block ΔW_i and Δb'_i make the query alone give the output of token i, for every token i of the prompt.",
    confidence="V",
    kind="identity",
    experiment="dherin-positions",
    margin=1e-12,
    reason="Relative error in float64, worst case of all. The shortest of 10⁵ output vectors lose two digits.",
    check=lambda dataset: Discrepancy(dataset.error),
    control=lambda dataset: dataset.assign(error=dataset.fault),
    control_sentence="Δb'_i left out; without skips, the update of the token before",
)

D36b = Claim(
    id="D36b",
    paper="dherin",
    section="sequel 1",
    sentence="An ε in the denominator leaves out the share ε/(‖n‖² + ε) of what the update should add.",
    confidence="D",
    kind="identity",
    experiment="dherin-positions",
    margin=1e-13,
    reason="Absolute difference of the measured share and the formula, median token; ‖n‖ is lowered in steps.",
    check=lambda dataset: Discrepancy(abs(dataset.missing - dataset.missing_theory)),
    control=lambda dataset: dataset.assign(missing_theory=0 * dataset.missing_theory),
    control_sentence="the share taken as 0, as if ε cost nothing",
)

D36c = Claim(
    id="D36c",
    paper="dherin",
    section="sequel 1",
    sentence="Without ε the update is exact however short the vector n is that W reads for the query alone.",
    confidence="D",
    kind="identity",
    experiment="dherin-positions",
    margin=1e-13,
    reason="Relative error in float64 at the first block's output, worst token, down to a millionth of the length.",
    check=lambda dataset: Discrepancy(dataset.error_exact),
    control=lambda dataset: dataset.assign(error_exact=dataset.error_epsilon),
    control_sentence="ε = 1e-8 in the denominator, as in the published code",
)

D37 = Claim(
    id="D37",
    paper="dherin",
    section="sequel 1",
    sentence="All through training the test loss of the patched query alone is that of the network with its context.",
    confidence="V",
    kind="formula",
    experiment="dherin-positions-training",
    margin=1e-4,
    reason="Relative, float32, worst network and mark, patches from true inputs and composed. Rounding leaves about 1e-6.",
    check=_both_losses,
    control=lambda dataset: dataset.assign(loss_patched=dataset.loss_fault),
    control_sentence="Δb' left out in the last block",
)

D37b = Claim(
    id="D37b",
    paper="dherin",
    section="sequel 1",
    sentence="The squared difference of both outputs, over all tokens, stays at the rounding of float32 in every block.",
    confidence="V",
    kind="identity",
    experiment="dherin-positions-training",
    margin=1e-12,
    reason="Sum of squares over sum of squares; rounding of one operation gives 4e-15 and a block has dozens.",
    check=lambda dataset: Discrepancy(dataset.difference),
    control=lambda dataset: dataset.assign(difference=dataset.difference_fault),
    control_sentence="Δb' left out",
)

D38 = Claim(
    id="D38",
    paper="dherin",
    section="sequel 1",
    sentence="The updates of all tokens of a prompt, summed, are one matrix of rank 1.",
    confidence="D",
    kind="identity",
    experiment="dherin-positions",
    margin=1e-13,
    reason="Second singular value over the first plus ‖W‖, in float64, worst variant, block, network and prompt.",
    check=lambda dataset: Discrepancy(dataset.second),
    control=lambda dataset: dataset.assign(second=dataset.second_own_base),
    control_sentence="every token alone as its own base",
)

D38b = Claim(
    id="D38b",
    paper="dherin",
    section="sequel 1",
    sentence="Cast from float32 to float64 before the rank is taken, the same sum counts as rank 2 or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-positions",
    margin=0,
    reason="1.5 minus the mean rank of a variant: the tolerance of float64 counts the rounding of float32 as directions.",
    check=lambda dataset: Discrepancy(1.5 - dataset.rank_cast.mean(("block", "network"))),
    control=lambda dataset: dataset.assign(rank_cast=dataset.rank_single),
    control_sentence="the rank taken in float32",
)

D39 = Claim(
    id="D39",
    paper="dherin",
    section="sequel 1",
    sentence="With skips the query's update is, in the mean, less aligned with the other tokens' than these with each other.",
    confidence="S",
    kind="bound",
    experiment="dherin-update-alignment",
    margin=-0.02,
    reason="Mean cosine with the query minus mean cosine of two others, over blocks; random networks, each variant with skips.",
    check=lambda dataset: over_seeds(-_gap(dataset, "query", True)),
    control=lambda dataset: dataset.assign(alignment=dataset.alignment.isel(group=[0, 0]).assign_coords(group=dataset.group)),
    control_sentence="a context token in the query's place",
)

D39b = Claim(
    id="D39b",
    paper="dherin",
    section="sequel 1",
    sentence="The anomaly comes from the base: with a query of another prompt as base, less than half of it is left.",
    confidence="D",
    kind="bound",
    experiment="dherin-update-alignment",
    margin=0,
    reason="Gap with the unrelated base minus half the gap with the prompt's own query, each variant with skips.",
    check=lambda dataset: over_seeds(_gap(dataset, "unrelated query", True) - 0.5 * _gap(dataset, "query", True)),
    control=lambda dataset: dataset.assign(alignment=dataset.alignment.isel(base=[0, 0]).assign_coords(base=dataset.base)),
    control_sentence="the prompt's own query in place of the unrelated one",
)

D39c = Claim(
    id="D39c",
    paper="dherin",
    section="sequel 1",
    sentence="Without skips there is no such anomaly.",
    confidence="D",
    kind="bound",
    experiment="dherin-update-alignment",
    margin=0.02,
    reason="Mean cosine of two others minus mean cosine with the query, over blocks: Δz, which sets the query apart, is gone.",
    check=lambda dataset: over_seeds(_gap(dataset, "query", False)),
    control=lambda dataset: dataset.isel(variant=[0]).assign_coords(variant=[NO_SKIPS]),
    control_sentence="the first variant, which has skips",
)

D40 = Claim(
    id="D40",
    paper="dherin",
    section="sequel 1",
    sentence="Composed from the first block to the last, the patches give the full network's token behind every block.",
    confidence="D",
    kind="identity",
    experiment="dherin-composition",
    margin=1e-12,
    reason="Relative error in float64 at the query and at every other token, worst architecture, block, network and prompt.",
    check=lambda dataset: Discrepancy(dataset.error),
    control=lambda dataset: dataset.assign(error=dataset.error_left_out),
    control_sentence="the patch of the first block left out, the others as they were",
)

D40b = Claim(
    id="D40b",
    paper="dherin",
    section="sequel 1",
    sentence="The query's composed patches are those made of the blocks' true inputs: Δz = 0 once the block below is patched.",
    confidence="D",
    kind="identity",
    experiment="dherin-composition",
    margin=1e-9,
    reason="Distance over weights plus patch. Without norms tokens grow with depth, and large scores magnify rounding.",
    check=lambda dataset: Discrepancy(dataset.difference),
    control=lambda dataset: dataset.assign(difference=dataset.difference_alone),
    control_sentence="patches made for what unpatched blocks send",
)

D40c = Claim(
    id="D40c",
    paper="dherin",
    section="sequel 1",
    sentence="The last block's patch alone does it, fitted to what unpatched blocks send: it makes good for all below.",
    confidence="D",
    kind="identity",
    experiment="dherin-composition",
    margin=1e-12,
    reason="Relative error in float64 behind the last block, worst architecture, network, prompt and token.",
    check=lambda dataset: Discrepancy(dataset.error_last.isel(block=-1)),
    control=lambda dataset: dataset.assign(error_last=dataset.error_none),
    control_sentence="no patch at all",
)
