"""dherin-composition: every block patched in turn, the query alone at the input, in networks of several architectures."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Experiment, Several, variable
from icl_lib.models.contextual.blocks import Block, OuterSkip, PreNorm, State
from icl_lib.models.contextual.feed_forward import MLP, GatedMLP
from icl_lib.models.contextual.layers import LinearAttention, SoftmaxAttention
from icl_lib.models.contextual.norms import LayerNorm, NoNorm, RMSNorm
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import forward, patched_block, patched_network
from icl_lib.patches.sites import Bias, Matrix, Nowhere, Site
from icl_lib.seeds import stream
from papers.dherin.all_positions.position_blocks import NormedNoSkip
from papers.dherin.declared import Heads
from papers.dherin.network import Network, Regression
from papers.dherin.recurrent_layers import GRU
from papers.dherin.trained import regression, tokens

Name = Literal[
    "skips", "layer norm", "layer norm, last matrix", "RMS norm, gated", "outer skip", "no skips", "GRU", "linear attention"
]


def architecture(name: Name, width: int, heads: int) -> tuple[Block, Site]:
    """Return a block and where it takes up what the context adds to v."""
    D, layer_norm, rms_norm = width, LayerNorm(1e-5), RMSNorm(1e-6)
    attention = SoftmaxAttention(heads, D // heads, D, D)
    mlp, deep, gated = MLP(D, (2 * D,), D, "gelu"), MLP(D, (2 * D, 2 * D), D, "gelu"), GatedMLP(D, 2 * D, "silu")
    return {
        "skips": (Block(PreNorm(attention, NoNorm()), deep), Bias("b_out")),
        "layer norm": (Block(PreNorm(attention, layer_norm), deep), Bias("b_out")),
        "layer norm, last matrix": (Block(PreNorm(attention, layer_norm), mlp), Matrix("W_out")),
        "RMS norm, gated": (Block(PreNorm(attention, rms_norm), gated), Matrix("W_down")),
        "outer skip": (Block(OuterSkip(attention), mlp), Bias("b_out")),
        "no skips": (Block(NormedNoSkip(attention, layer_norm), deep), Nowhere()),
        "GRU": (Block(PreNorm(GRU(D, D), layer_norm), mlp), Bias("b_out")),
        "linear attention": (Block(PreNorm(LinearAttention(D, D, D), layer_norm), mlp), Bias("b_out")),
    }[name]


@dataclass(frozen=True)
class Composition(Heads):
    """Random networks of ``depth`` blocks on tokens of ``width`` numbers; ``prompts`` prompts of N examples for each.

    architectures   blocks of the networks, by name
    depth           blocks of a network; d: entries of an input
    width           channels of a token; heads: attention heads, which divide the width
    N               examples of a prompt; prompts: prompts shown to a network
    networks        random networks of each architecture
    """

    architectures: Several[Name]
    depth: AtLeastTwo
    d: Count
    width: Count
    heads: Count
    N: Count
    prompts: Count
    networks: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch block after block, and follow the query's token through the patched network and through two others."""
        rows = [[self.read(name, f"{name}/{s}", seed) for s in range(self.networks)] for name in self.architectures]
        columns = {}
        for name, text in NAMES.items():
            values = np.array([[one[name] for one in row] for row in rows]).swapaxes(1, 2).astype("f4")
            columns[name] = variable("architecture block network", values, text)
        return xr.Dataset(columns, coords={"architecture": list(self.architectures), "block": np.arange(1, self.depth + 1)})

    def read(self, name: str, role: str, seed: int) -> dict[str, np.ndarray]:
        """Return errors behind every block of one network, worst prompt and token."""
        block, site = architecture(name, self.width, self.heads)
        network = Network(block, self.depth, Regression(self.d + 1, self.width, RMSNorm(1e-6)))
        weights = network.start(stream(seed, f"weights/{role}"), (), torch.zeros((), dtype=torch.float64))
        prompts = regression(self.d).sample(stream(seed, f"prompts/{role}"), (self.prompts,), self.N)
        sequence = network.embed(weights, tokens(prompts))
        states, _ = network.states(weights, sequence)
        blocks = network.blocks(weights)
        expected = [network.block.feed(one, state) for one, state in zip(blocks, states, strict=True)]
        alone = sequence[:, -1:, None].expand(-1, sequence.shape[1], -1, -1)  # the query, once per token
        targets = [State(state.z[..., None, :], state.v[..., None, :]) for state in states]
        patched, _ = patched_network(network, site, weights, targets, alone)
        single = patched_alone(network, site, blocks, targets, alone)
        used = {
            "error": patched,
            "error_left_out": [blocks[0], *patched[1:]],
            "error_none": blocks,
            "error_last": [*blocks[:-1], single[-1]],
        }
        found = {key: distances(network, one, alone, expected) for key, one in used.items()}
        return found | {
            "difference": differences(network, site, blocks, patched, [sequence, *expected[:-1]]),
            "difference_alone": differences(network, site, blocks, single, [sequence, *expected[:-1]]),
            "size": np.array([relative_change(old, new) for old, new in zip(blocks, patched, strict=True)]),
        }


def distances(
    network: Network, blocks: list[Weights], alone: Float[Tensor, "B T 1 D"], expected: list[Float[Tensor, "B T D"]]
) -> np.ndarray:
    """Return |found - expected| / |expected| behind every block, worst prompt and token."""
    rows = []
    for l, full in enumerate(expected):
        alone = forward(network, blocks[l : l + 1], alone)
        rows.append(((alone[..., 0, :] - full).norm(dim=-1) / full.norm(dim=-1)).amax().item())
    return np.array(rows)


def patched_alone(
    network: Network, site: Site, blocks: list[Weights], targets: list[State], alone: Float[Tensor, "B T 1 D"]
) -> list[Weights]:
    """Return the weights of every block patched as if no other were, for what the unpatched blocks below send it."""
    patched = []
    for block, target in zip(blocks, targets, strict=True):
        bare = network.block.mix(block, alone)
        patched.append(patched_block(network.block, site, block, bare, target))
        alone = network.block.feed(block, bare)
    return patched


def differences(
    network: Network, site: Site, blocks: list[Weights], patched: list[Weights], inputs: list[Float[Tensor, "B T D"]]
) -> np.ndarray:
    """Return how far the query's patches are from those of the blocks' true inputs, over weights plus patch, worst prompt."""
    rows = []
    for weights, composed, sequence in zip(blocks, patched, inputs, strict=True):
        bare, full = network.block.mix(weights, sequence[:, -1:]), network.block.mix(weights, sequence).at(-1)
        apart = patched_block(network.block, site, weights, bare, full)
        last = {name: value[:, -1] if value.ndim > weights[name].ndim else value for name, value in composed.items()}
        names = changed(weights, apart)
        gap = sum((last[name] - apart[name]).square().flatten(1).sum(-1) for name in names)
        size = sum(weights[name].norm() + (apart[name] - weights[name]).flatten(1).norm(dim=-1) for name in names)
        rows.append((gap.sqrt() / size).amax().item())
    return np.array(rows)


def changed(old: Weights, new: Weights) -> list[str]:
    """Return the names of the weights that a patch has changed, which carry prompts."""
    return [name for name in old if new[name].ndim > old[name].ndim]


def relative_change(old: Weights, new: Weights) -> float:
    """Return |change|_F / |weights|_F of the query's patch, all patched matrices together, median over prompts."""
    names = [name for name in changed(old, new) if name.startswith("W")]
    square = sum((new[name][:, -1] - old[name]).square().flatten(1).sum(-1) for name in names)
    return (square / sum(old[name].square().sum() for name in names)).sqrt().median().item()


NAMES = {
    "error": "|patched - full| / |full| behind the block, all blocks patched in turn, worst prompt and token",
    "error_left_out": "the same patches without that of the first block",
    "error_none": "the same without patches",
    "error_last": "the same with the last block alone patched, for what reaches it",
    "difference": "distance of the query's patch from that of the block's true input, over the size of weights plus patch",
    "difference_alone": "the same for a patch made for what unpatched blocks send",
    "size": "|change|_F / |weights|_F of the matrices in the query's patch, median over prompts",
}

_QUICK = Composition(
    architectures=(
        "skips",
        "layer norm",
        "layer norm, last matrix",
        "RMS norm, gated",
        "outer skip",
        "no skips",
        "GRU",
        "linear attention",
    ),
    depth=4,
    d=2,
    width=12,
    heads=3,
    N=10,
    prompts=2,
    networks=2,
)
COMPOSITION = Experiment(
    slug="dherin-composition",
    title="Patching block after block",
    section="sequel 1",
    quick=_QUICK,
    full=replace(_QUICK, depth=32, N=50, prompts=8, networks=4),
)
