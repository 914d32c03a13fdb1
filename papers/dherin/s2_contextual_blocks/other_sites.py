"""dherin-other-sites: six places of a block that can take up the context, each exactly; and two that cannot."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Experiment, Share, variable
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import SoftmaxAttention, heads
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import rank_one
from papers.dherin.distance import relative
from papers.dherin.s2_contextual_blocks.random_blocks import RandomBlocks, leave_out, state, subset_sizes

SITES = ("W", "b", "W_out", "b_out", "W_O", "W_V")


@dataclass(frozen=True)
class OtherSites(RandomBlocks):
    """Random blocks with softmax attention, Y a random part of the context.

    shares   of the context in Y; half of it and the whole are always there
    """

    shares: tuple[Share, ...]
    N: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Put the context into one place after the other and run the whole block on what is left of the prompt."""
        layer, mlp = self.layer(), self.mlp()
        weights = self.start(layer.shapes | mlp.shapes, seed, "other sites/weights")
        others = weights | self.start(layer.shapes, seed, "other sites/other scores")
        scores = weights | {name: others[name] for name in ("W_Q", "W_K")}
        tokens, order = self.prompts(seed, "other sites/prompts"), self.orders(seed, "other sites/Y")
        sizes = [size for size in subset_sizes((*self.shares, 0.5), self.N) if size]
        expected, found = output(layer, mlp, weights, tokens), {"error": [], "error_fault": [], "bare": [], "scores": []}
        for size in sizes:
            rest = leave_out(tokens, order[:, :size])
            bare = output(layer, mlp, weights, rest)
            for name, fault in (("error", False), ("error_fault", True)):
                patches = sites(layer, mlp, weights, rest, tokens, fault)
                found[name].append([relative(output(layer, mlp, weights | each, rest), expected).numpy() for each in patches])
            found["bare"].append(relative(bare, expected).numpy())
            found["scores"].append(relative(output(layer, mlp, scores, rest), bare).numpy())
        columns = {
            "error": variable("size site network", np.array(found["error"], "f4"), "relative error of the patched block"),
            "error_fault": variable("size site network", np.array(found["error_fault"], "f4"), "the same with a planted fault"),
            "error_bare": variable("size network", np.array(found["bare"], "f4"), "relative error without a patch"),
            "scores": variable("size network", np.array(found["scores"], "f4"), "change of the output under other W_Q and W_K"),
        }
        return xr.Dataset(columns, coords={"size": sizes, "site": list(SITES)})


def output(layer: SoftmaxAttention, mlp: MLP, weights: Weights, tokens: Tensor) -> Float[Tensor, "S D"]:
    """Return the block's output at the last token."""
    return mlp(weights, state(layer(weights, tokens), mlp.outputs).z)[..., 0, :]


def sites(layer: SoftmaxAttention, mlp: MLP, weights: Weights, rest: Tensor, tokens: Tensor, fault: bool) -> Iterator[Weights]:
    """Yield the changed weights of each place, in the order of ``SITES``.

    A matrix U that reads h and should give what it gives at h_full becomes U + (U h_full - U h) h^T / |h|^2; a bias gains the
    difference. With ``fault`` a matrix has h_full in the place of h in h^T / |h|^2, and a bias gains the whole of the new
    value.
    """
    h, full = (readings(layer, mlp, weights, each) for each in (rest, tokens))
    for name in SITES:
        if name in ("b", "b_out"):
            yield {name: weights[name] + full[name] - (0 if fault else h[name])}
        elif name == "W_V":
            before, after = h[name], full[name]  # one average per head
            _, _, W_V, _ = heads(layer, weights)
            change = torch.einsum("shcn,shn->shc", W_V, after - before)
            yield {name: (W_V + rank_one(change, after if fault else before)).flatten(-3, -2)}
        else:
            before, after = h[name], full[name]
            change = torch.einsum("smn,sn->sm", weights[name], after - before)
            yield {name: weights[name] + rank_one(change, after if fault else before)}


def readings(layer: SoftmaxAttention, mlp: MLP, weights: Weights, tokens: Float[Tensor, "S T n"]) -> dict[str, Tensor]:
    """Return what each place meets at the last token: a matrix what it reads, a bias the value it is part of."""
    averages, (_, _, W_V, _) = head_averages(layer, weights, tokens), heads(layer, weights)
    a = layer(weights, tokens)
    return {
        "W_V": averages,
        "W_O": torch.einsum("shcn,shn->shc", W_V, averages).flatten(-2),
        "W": a,
        "b": torch.einsum("smn,sn->sm", weights["W"], a),
        "W_out": mlp.hidden(weights, state(a, mlp.outputs).z)[..., 0, :],
        "b_out": output(layer, mlp, weights, tokens),
    }


def head_averages(layer: SoftmaxAttention, weights: Weights, tokens: Float[Tensor, "S T n"]) -> Float[Tensor, "S h n"]:
    """Return the average token of every head at the last token, sum_t attn_t t."""
    W_Q, W_K, _, _ = heads(layer, weights)
    query, key = torch.einsum("shcn,sn->shc", W_Q, tokens[:, -1]), torch.einsum("shcn,stn->shtc", W_K, tokens)
    attention = (torch.einsum("shc,shtc->sht", query, key) / layer.head_width**0.5).softmax(-1)
    return torch.einsum("sht,stn->shn", attention, tokens)


_QUICK = OtherSites(shares=(0.01,), networks=10, d=2, N=100, width=32, heads=8, hidden=128)
OTHER_SITES = Experiment(
    slug="dherin-other-sites",
    title="Other places of the block that take up the context",
    quick=_QUICK,
    full=replace(_QUICK, shares=(0.01, 0.1, 0.9), networks=100),
)
