"""dherin-identity: a contextual block without part of its context, with and without its update, for four layers."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Experiment, Several, Share, variables
from icl_lib.models.contextual.blocks import Block, NoSkip
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import ContextualLayer
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import patched_block
from icl_lib.patches.rank_one import rank_one, redirection
from icl_lib.patches.sites import Nowhere
from papers.dherin.distance import relative
from papers.dherin.s2_contextual_blocks.random_blocks import LAYERS, RandomBlocks, leave_out, state, subset_sizes

MLPS = ("one hidden layer", "three hidden layers")
"""The second has a square first matrix, so that the transposed update can be tried."""


@dataclass(frozen=True)
class Identity(RandomBlocks):
    """Random blocks; Y is a random part of the context.

    shares     of the context in Y; the empty set and the whole context are always there
    networks   blocks per layer; hidden: width of the MLP's hidden layers
    """

    shares: Several[Share]
    N: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compare every block with its patched self; everything is small and stays on the CPU."""
        sizes = subset_sizes(self.shares, self.N)
        found = [self._one_layer(name, sizes, seed) for name in LAYERS]
        columns = variables(NAMES, found, "layer {} network", "f4")
        coords = {"layer": list(LAYERS), "mlp": list(MLPS), "size": sizes, "share": ("size", np.array(sizes) / self.N)}
        return xr.Dataset(columns, coords=coords)

    def _one_layer(self, name: str, sizes: list[int], seed: int) -> dict[str, np.ndarray]:
        layer = self.layer(name)
        weights = self.start(layer.shapes, seed, f"identity/{name}")
        tokens, order = self.prompts(seed, f"identity/prompts/{name}"), self.orders(seed, f"identity/Y/{name}")
        full = layer(weights, tokens)
        bare = torch.stack([layer(weights, leave_out(tokens, order[:, :size])) for size in sizes])
        plain, square = (
            self._block(layer, widths, seed) for widths in ((self.hidden,), (self.width, self.hidden, self.hidden))
        )
        return {
            "error": torch.stack([patched_error(*each, bare, full) for each in (plain, square)]).numpy(),
            "error_single": single_precision_error(*plain, bare, full).numpy(),
            "error_bare": bare_error(*plain, bare, full).numpy(),
            "error_full_row": wrong_error(*plain, bare, full, full_row).numpy(),
            "error_transposed": wrong_error(*square, bare, full, transposed).numpy(),
            "additivity": additivity(plain[1]["W"], layer, weights, tokens, order).numpy(),
            "first_over_last": self._first_over_last(plain, layer, weights, tokens, full).numpy(),
        }

    def _block(self, layer: ContextualLayer, widths: tuple[int, ...], seed: int) -> tuple[Block, Weights]:
        mlp = MLP(self.width, widths, self.d + 1, "gelu")
        return Block(NoSkip(layer), mlp), self.start(mlp.shapes, seed, f"identity/mlp/{len(widths)}")

    def _first_over_last(self, plain, layer: ContextualLayer, weights: Weights, tokens: Tensor, full: Tensor) -> Tensor:
        """Return how much leaving out the first token changes the block's output, over the same for the last of the context."""
        places = torch.tensor([[0], [self.N - 1]])[:, None].expand(2, self.networks, 1)
        bare = torch.stack([layer(weights, leave_out(tokens, Y)) for Y in places])
        first, last = bare_error(*plain, bare, full)
        return first / last


def patched_error(block: Block, weights: Weights, bare: Tensor, full: Tensor) -> Tensor:
    """Return the relative error of the patched block without Y, for every Y, against the block with all of its context."""
    outputs = block.feed_forward.outputs
    before, after = state(bare, outputs), state(full.expand_as(bare), outputs)
    patched = patched_block(block, Nowhere(), weights, before, after)
    return relative(block.feed(patched, before)[..., 0, :], block.feed(weights, after)[..., 0, :])


def single_precision_error(block: Block, weights: Weights, bare: Tensor, full: Tensor) -> Tensor:
    """Return the same with every number and every operation behind the layer in float32."""
    return patched_error(block, {name: weight.float() for name, weight in weights.items()}, bare.float(), full.float())


def bare_error(block: Block, weights: Weights, bare: Tensor, full: Tensor) -> Tensor:
    """Return the relative error of leaving out Y without a patch."""
    outputs = block.feed_forward.outputs
    expected = block.feed(weights, state(full, outputs))[..., 0, :]
    return relative(block.feed(weights, state(bare, outputs))[..., 0, :], expected)


def wrong_error(block: Block, weights: Weights, bare: Tensor, full: Tensor, wrong_update) -> Tensor:
    """Return the relative error with a wrong update in the place of the theorem's."""
    outputs = block.feed_forward.outputs
    patched = {**weights, "W": weights["W"] + wrong_update(weights["W"], bare, full.expand_as(bare))}
    expected = block.feed(weights, state(full, outputs))[..., 0, :]
    return relative(block.feed(patched, state(bare, outputs))[..., 0, :], expected)


def full_row(W: Tensor, a: Tensor, a_full: Tensor) -> Tensor:
    """Return the update with A(C, x) in the row and the denominator, in the place of A(C without Y, x)."""
    return rank_one(torch.einsum("...mn,...n->...m", W, a_full - a), a_full)


def transposed(W: Tensor, a: Tensor, a_full: Tensor) -> Tensor:
    """Return the update with row and column exchanged."""
    return redirection(W, a, a_full).mT


def additivity(
    W: Float[Tensor, "S m n"],
    layer: ContextualLayer,
    weights: Weights,
    tokens: Float[Tensor, "S T k"],
    order: Int[Tensor, "S N"],
) -> Float[Tensor, "S"]:
    """Return |W DA(Y1) + W DA(Y2) - W DA(C)| / |W DA(C)| for the halves Y1 and Y2 of the context."""
    N = order.shape[-1]
    parts = (order[:, : N // 2], order[:, N // 2 :], order)
    change = torch.stack([layer(weights, tokens) - layer(weights, leave_out(tokens, Y)) for Y in parts])
    one, other, union = torch.einsum("smn,ysn->ysm", W, change)
    return relative(one + other, union)


NAMES = {
    "error": ("mlp size", "relative error of the patched block"),
    "error_single": ("size", "relative error of the patched block in float32, one hidden layer"),
    "error_bare": ("size", "relative error without a patch, one hidden layer"),
    "error_full_row": ("size", "relative error with A(C, x) in the row and the denominator, one hidden layer"),
    "error_transposed": ("size", "relative error with the transposed update, three hidden layers"),
    "additivity": ("", "relative distance of W DA(Y1) + W DA(Y2) from W DA(C), halves Y1 and Y2 of C"),
    "first_over_last": ("", "change of the output without the first token over that without the last of the context"),
}

_QUICK = Identity(shares=(0.01, 0.1, 0.5), networks=10, d=2, N=100, width=32, heads=8, hidden=128)
IDENTITY = Experiment(
    slug="dherin-identity",
    title="A block without part of its context, with the update and without",
    quick=_QUICK,
    full=replace(_QUICK, shares=(0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9), networks=30),
)
