"""dherin-skip-connections: patches of blocks with skips for random parts Y of the context, and with parts of them missing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Several, Share, variable
from icl_lib.models.contextual.blocks import Block, OuterSkip, PreNorm, State
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import ContextualLayer, LinearAttention, SoftmaxAttention, without
from icl_lib.models.contextual.norms import LayerNorm, NoNorm, RMSNorm
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import patched_block
from icl_lib.patches.rank_one import redirection
from icl_lib.patches.sites import Bias
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.recurrent_layers import GRU, TanhRNN
from papers.dherin.trained import regression, tokens

WAYS = (
    "both parts",
    "without the bias",
    "without the matrix",
    "no patch",
    "one symbol, z",
    "one symbol, v",
    "attention alone",
    "another query",
)
NORMS = {"x inside, no norm": NoNorm(), "x inside, LayerNorm": LayerNorm(1e-5), "x inside, RMSNorm": RMSNorm(1e-6)}
LIKE = torch.zeros((), dtype=torch.float64)


@dataclass(frozen=True)
class SkipConnections(Declaration):
    """Prompts of N examples, embedded in ``width`` dimensions, shown to random blocks with skips.

    layers       contextual layers of the block of v1; the block with x inside has softmax attention
    d            entries of an input; N: examples of a prompt
    width        channels of an embedded token; heads: heads of softmax attention
    hidden       widths of the MLP's hidden layers; shares: |Y|/N, Y random among the N places; Y = C is always looked at
    activation   of the MLP
    networks     random networks of each block; prompts: of a network
    """

    layers: Several[Literal["softmax attention", "linear attention", "tanh RNN", "GRU"]]
    d: Count
    N: Count
    width: Count
    heads: Count
    hidden: Several[Count]
    activation: Literal["gelu", "relu", "silu", "tanh"]
    shares: tuple[Share, ...]
    networks: Count
    prompts: Count

    def blocks(self) -> dict[str, Block]:
        """Return the blocks by name."""
        feed_forward = MLP(self.width, self.hidden, self.width, self.activation)
        found = {layer: Block(OuterSkip(self.layer(layer)), feed_forward) for layer in self.layers}
        usual = self.layer("softmax attention")
        return found | {name: Block(PreNorm(usual, norm), feed_forward) for name, norm in NORMS.items()}

    def layer(self, name: str) -> ContextualLayer:
        """Return a contextual layer from the tokens' space to itself."""
        D = self.width
        if name == "softmax attention":
            return SoftmaxAttention(self.heads, max(1, D // self.heads), D, D)
        return {"linear attention": LinearAttention(D, D, D), "tanh RNN": TanhRNN(D, D), "GRU": GRU(D, D)}[name]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every block with every way to patch it, for every share."""
        shares = sorted({*self.shares, 1.0})
        sizes = [round(share * self.N) for share in shares]
        found = {name: np.concatenate(list(self.errors(name, block, sizes, seed)), 2) for name, block in self.blocks().items()}
        error = np.stack(list(found.values()))  # (block, way, share, case)
        dims = "block way share"
        columns = {
            "error": variable(dims, error.max(-1), "relative error of the block's output, worst network, prompt and Y"),
            "median": variable(dims, np.median(error, -1), "the same, median"),
            "size": variable("share", sizes, "|Y|"),
        }
        return xr.Dataset(columns, coords={"block": list(found), "way": list(WAYS), "share": shares})

    def errors(self, name: str, block: Block, sizes: list[int], seed: int) -> Iterator[Float[ndarray, "way share B"]]:
        """Yield the errors of each network, every one with its own prompts and its own Y of each size."""
        for k in range(self.networks):
            role = f"{name}/{k}"
            weights = block.start(stream(seed, f"weights/{role}"), (), LIKE)
            drawn = tokens(regression(self.d).sample(stream(seed, f"prompts/{role}"), (self.prompts,), self.N))
            embedding = normal(stream(seed, f"embedding/{role}"), (self.width, self.d + 1), LIKE) / (self.d + 1) ** 0.5
            prompt = torch.einsum("kn,btn->btk", embedding, drawn)
            query = normal(stream(seed, f"query/{role}"), (self.prompts, 1, self.d), LIKE)
            other = torch.cat([prompt[:, :-1], torch.einsum("kn,btn->btk", embedding[:, :-1], query)], 1)
            places = torch.randperm(self.N, generator=stream(seed, f"Y/{role}")).tolist()
            yield np.stack([measure(block, weights, prompt, other, places[:size]) for size in sizes], 1)


def measure(block: Block, weights: Weights, prompt: Tensor, other: Tensor, Y: list[int]) -> Float[ndarray, "way B"]:
    """Return the error of every way to leave out Y; ``other`` has the same context and another query."""
    full, bare = (block.mix(weights, part).at(-1) for part in (prompt, without(prompt, Y)))
    full_other, bare_other = (block.mix(weights, part).at(-1) for part in (other, without(other, Y)))
    x, bias = prompt[:, -1:], Bias("b_out")
    both = patched_block(block, bias, weights, bare, full)
    ways = [
        both,
        {**both, "b_out": weights["b_out"]},
        {**both, "W": weights["W"]},
        weights,
        patch(weights, bare.z, full.z, full.z - bare.z),
        patch(weights, bare.v, full.v, full.v - bare.v),
        patch(weights, bare.v - x, full.v - x, full.v - bare.v),
        patched_block(block, bias, weights, bare_other, full_other),
    ]
    expected = block.feed(weights, full)[:, 0]
    return np.stack([error(block, way, bare, expected) for way in ways])


def patch(
    weights: Weights, u: Float[Tensor, "B 1 k"], u_full: Float[Tensor, "B 1 k"], difference: Float[Tensor, "B 1 k"]
) -> Weights:
    """Return weights patched as if the MLP read u and the skip added ``difference``."""
    W = weights["W"] + redirection(weights["W"], u[:, 0], u_full[:, 0])
    return {**weights, "W": W, "b_out": weights["b_out"] + difference[:, 0]}


def error(block: Block, weights: Weights, bare: State, expected: Float[Tensor, "B k"]) -> ndarray:
    """Return |output - expected| / |expected|."""
    return ((block.feed(weights, bare)[:, 0] - expected).norm(dim=1) / expected.norm(dim=1)).numpy()


_QUICK = SkipConnections(
    layers=("softmax attention", "linear attention", "tanh RNN", "GRU"),
    d=2,
    N=30,
    width=32,
    heads=8,
    hidden=(128,),
    activation="gelu",
    shares=(0.0, 0.1, 0.5, 1.0),
    networks=4,
    prompts=3,
)
SKIP_CONNECTIONS = Experiment(
    slug="dherin-skip-connections",
    title="Blocks with skip connections",
    section="Appendix: skip connections",
    quick=_QUICK,
    full=replace(
        _QUICK,
        N=60,
        hidden=(128, 64),
        shares=(0.0, 1 / 60, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        networks=25,
        prompts=4,
    ),
)
