"""Claims D41 to D46: sequel 2, patches of modern blocks. D49 needs a language model of a billion weights and stays out."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Discrepancy, claims_of
from icl_lib.companion.controls import exchanged

VANILLA = ["vanilla, bias", "vanilla, matrix", "vanilla, norm bias"]
GEMMA = ["Gemma"]
EXPERTS = ["experts", "experts, each"]


def _of(values: xr.DataArray, names: list[str]) -> xr.DataArray:
    """Rows of these architectures; one that was not run is NaN, and NaN fails."""
    return values.reindex(architecture=names)


def _error(names: list[str]):
    def check(dataset: xr.Dataset) -> Discrepancy:
        whole = _of(dataset.error.sel(patch="whole", drop=True), names)
        return Discrepancy(np.concatenate([whole.values.ravel(), _of(dataset.error_kept, names).values.ravel()]))

    return check


claim = claims_of("dherin-modern-blocks", section="sequel 2")


@claim("D", "identity", check=_error(VANILLA), margin=1e-13, control=exchanged("patch", "whole", "input half"))
def D41(dataset):
    """Vanilla pre-norm blocks (LayerNorm, GELU, biases): the patched network without its context gives the same logits, be
    the site a bias, the last matrix, or with no matrix changed the bias of the norm.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context
    kept.
    Control: what reads z is patched, v is not
    """


@claim("D", "identity", check=_error(["Llama"]), margin=1e-13, control=exchanged("patch", "whole", "epsilon"))
def D42(dataset):
    """Llama-style blocks (RMSNorm, SwiGLU, no biases): the same logits, with v_C − v put into W_down.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context
    kept.
    Control: 0.01 added to ‖z‖² in the denominators
    """


@claim("S", "identity", check=_error(GEMMA), margin=1e-10, control=exchanged("patch", "whole", "neighbour"))
def D43(dataset):
    """Gemma-style blocks (theorem 1): the same logits with rank-1 patches of W_gate and W_up, and Δm = (v_C − v)/n.

    Margin: float64. A processor that sums n in another order when the patch is used makes slips of 1e-16 times Δm/m,
    thousands here: one met 1e-13, the margin until then, and another did not.
    Control: the patches that the states of the token before ask for
    """


@claim("D", "identity", check=_error(["parallel"]), margin=1e-13, control=exchanged("patch", "whole", "input half"))
def D44(dataset):
    """Parallel blocks (attention and MLP side by side, as in GPT-J): the same logits, with v_C − v put into W_down.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context
    kept.
    Control: W_down not patched
    """


@claim("D", "identity", check=_error(EXPERTS), margin=1e-13, control=exchanged("patch", "whole", "input half"))
def D45(dataset):
    """Mixtures of experts: the same logits, with rank-1 patches of the router and all W_gate and W_up, and v_C − v put
    into the experts' W_down side by side as one matrix, or whole into each active expert's own.

    Margin: float64, no epsilon: rounding of a few sums of 100 numbers. Worst position, network and share of the context
    kept.
    Control: no W_down patched
    """


claim = claims_of("dherin-depth", section="sequel 2")


@claim("S", "identity", margin=1e-13, control=exchanged("patched", "all blocks", "all, epsilon"))
def D46(dataset):
    """Depth does not hurt: from 1 block to 32 the error of the logits stays at rounding.

    Margin: float64, worst position, network and depth. That the patches are computed in sequence is the paper's
    algorithm.
    Control: 0.01 added to ‖z‖² in the denominators
    """
    return Discrepancy(dataset.error.sel(patched="all blocks"))


@claim("D", "identity", margin=1e-13, control=exchanged("patched", "last block", "all but the last"))
def D46b(dataset):
    """The last block's patch alone is enough: with no other block patched the logits are as exact.

    Margin: float64, worst position, network and depth. The last patch takes up whatever the blocks below left wrong.
    Control: all blocks but the last
    """
    return Discrepancy(dataset.error.sel(patched="last block"))
