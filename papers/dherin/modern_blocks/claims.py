"""Claims D41 to D46: sequel 2, patches of modern blocks. D49 needs a language model of a billion weights and stays out."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, over_seeds
from papers.dherin.checks import exchanged

SECTION = "sequel 2"
VANILLA = ["vanilla, bias", "vanilla, matrix", "vanilla, norm bias"]
GEMMA = ["Gemma"]
EXPERTS = ["experts", "experts, each"]
EXACT = "float64, no epsilon: rounding of a few sums of {} numbers. Worst position, network and share of the context kept."


def _of(values: xr.DataArray, names: list[str]) -> xr.DataArray:
    """Rows of these architectures; one that was not run is NaN, and NaN fails."""
    return values.reindex(architecture=names)


def _error(names: list[str]):
    def check(dataset: xr.Dataset) -> Discrepancy:
        whole = _of(dataset.error.sel(patch="whole", drop=True), names)
        return Discrepancy(np.concatenate([whole.values.ravel(), _of(dataset.error_kept, names).values.ravel()]))

    return check


def _input_size(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(_of(dataset.size_in, ["parallel"]))


def _ratio(dataset: xr.Dataset) -> Discrepancy:
    """1 minus the size of one change an expert over that of one for all."""
    concatenated, each = (_of(dataset.size_out, [name]).isel(architecture=0, drop=True) for name in EXPERTS)
    return Discrepancy(1 - each / concatenated)


D41 = Claim(
    id="D41",
    paper="dherin",
    section=SECTION,
    sentence=(
        "Vanilla pre-norm blocks (LayerNorm, GELU, biases): the patched network without its context gives the same logits, "
        "be the site a bias, the last matrix, or with no matrix changed the bias of the norm."
    ),
    confidence="D",
    kind="identity",
    experiment="dherin-modern-blocks",
    margin=1e-13,
    reason=EXACT.format("100"),
    check=_error(VANILLA),
    control=exchanged("patch", "whole", "input half"),
    control_sentence="what reads z is patched, v is not",
)

D42 = Claim(
    id="D42",
    paper="dherin",
    section=SECTION,
    sentence="Llama-style blocks (RMSNorm, SwiGLU, no biases): the same logits, with v_C − v put into W_down.",
    confidence="D",
    kind="identity",
    experiment="dherin-modern-blocks",
    margin=1e-13,
    reason=EXACT.format("100"),
    check=_error(["Llama"]),
    control=exchanged("patch", "whole", "epsilon"),
    control_sentence="0.01 added to ‖z‖² in the denominators",
)

D42b = Claim(
    id="D42b",
    paper="dherin",
    section=SECTION,
    sentence="Without its site the patch is no repair: the typical error of the logits is above 0.3 in every architecture.",
    confidence="D",
    kind="bound",
    experiment="dherin-modern-blocks",
    margin=0,
    reason="0.3 minus the median error over positions. Without any patch it is near 1.",
    check=lambda dataset: over_seeds(0.3 - dataset["median"].sel(patch="input half")),
    control=exchanged("patch", "input half", "whole"),
    control_sentence="the whole patch",
)

D43 = Claim(
    id="D43",
    paper="dherin",
    section=SECTION,
    sentence="Gemma-style blocks (theorem 1): the same logits with rank-1 patches of W_gate and W_up, and Δm = (v_C − v)/n.",
    confidence="S",
    kind="identity",
    experiment="dherin-modern-blocks",
    margin=1e-10,
    reason="float64. A processor that sums n in another order when the patch is used makes slips of 1e-16 times Δm/m, "
    "thousands here: one met 1e-13, the margin until then, and another did not.",
    check=_error(GEMMA),
    control=exchanged("patch", "whole", "neighbour"),
    control_sentence="the patches that the states of the token before ask for",
)

D44 = Claim(
    id="D44",
    paper="dherin",
    section=SECTION,
    sentence="Parallel blocks (attention and MLP side by side, as in GPT-J): the same logits, with v_C − v put into W_down.",
    confidence="D",
    kind="identity",
    experiment="dherin-modern-blocks",
    margin=1e-13,
    reason=EXACT.format("100"),
    check=_error(["parallel"]),
    control=exchanged("patch", "whole", "input half"),
    control_sentence="W_down not patched",
)

D44b = Claim(
    id="D44b",
    paper="dherin",
    section=SECTION,
    sentence="In parallel blocks the patches of W_gate and W_up are 0: z does not see the context, given the right stream.",
    confidence="D",
    kind="identity",
    experiment="dherin-modern-blocks",
    margin=1e-13,
    reason="‖ΔW‖/‖W‖, every block. What is left is the rounding of the stream.",
    check=_input_size,
    control=exchanged("architecture", "parallel", "Llama"),
    control_sentence="a sequential block in its place",
)

D45 = Claim(
    id="D45",
    paper="dherin",
    section=SECTION,
    sentence=(
        "Mixtures of experts: the same logits, with rank-1 patches of the router and all W_gate and W_up, and v_C − v put into "
        "the experts' W_down side by side as one matrix, or whole into each active expert's own."
    ),
    confidence="D",
    kind="identity",
    experiment="dherin-modern-blocks",
    margin=1e-13,
    reason=EXACT.format("100"),
    check=_error(EXPERTS),
    control=exchanged("patch", "whole", "input half"),
    control_sentence="no W_down patched",
)

D45b = Claim(
    id="D45b",
    paper="dherin",
    section=SECTION,
    sentence="One change for all experts takes no larger a norm than one change for each active expert.",
    confidence="D",
    kind="bound",
    experiment="dherin-modern-blocks",
    margin=1e-9,
    reason="1 minus the ratio of the medians, every block and network. Cauchy-Schwarz makes it at most 0.",
    check=_ratio,
    control=exchanged("architecture", *EXPERTS),
    control_sentence="the two forms exchanged",
)

D46 = Claim(
    id="D46",
    paper="dherin",
    section=SECTION,
    sentence="Depth does not hurt: from 1 block to 32 the error of the logits stays at rounding.",
    confidence="S",
    kind="identity",
    experiment="dherin-depth",
    margin=1e-13,
    reason="float64, worst position, network and depth. That the patches are computed in sequence is the paper's algorithm.",
    check=lambda dataset: Discrepancy(dataset.error.sel(patched="all blocks")),
    control=exchanged("patched", "all blocks", "all, epsilon"),
    control_sentence="0.01 added to ‖z‖² in the denominators",
)

D46b = Claim(
    id="D46b",
    paper="dherin",
    section=SECTION,
    sentence="The last block's patch alone is enough: with no other block patched the logits are as exact.",
    confidence="D",
    kind="identity",
    experiment="dherin-depth",
    margin=1e-13,
    reason="float64, worst position, network and depth. The last patch takes up whatever the blocks below left wrong.",
    check=lambda dataset: Discrepancy(dataset.error.sel(patched="last block")),
    control=exchanged("patched", "last block", "all but the last"),
    control_sentence="all blocks but the last",
)
