"""The networks of the section on all positions, and the update of every token with the query alone as base."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.companion import Count, Declaration
from icl_lib.models.contextual.blocks import Block, Joint, PreNorm, State
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import SoftmaxAttention
from icl_lib.models.contextual.norms import LayerNorm, NoNorm, Norm
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import patched_block
from icl_lib.patches.sites import Bias, Nowhere, Site
from icl_lib.seeds import stream
from papers.dherin.network import LastEntry, Network
from papers.dherin.trained import regression, tokens


@dataclass(frozen=True)
class NormedNoSkip:
    """z = norm_2(A(norm_1(C, x))), v = 0: a pre-norm block without its skip connections."""

    layer: SoftmaxAttention
    norm: Norm

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights."""
        D = self.layer.inputs
        return {**self.layer.shapes, **self.norm.shapes("mix", D), **self.norm.shapes("feed", D)}

    def __call__(self, weights: Weights, tokens: Float[Tensor, "... T D"], positions: Int[Tensor, "T"]) -> State:
        """Return the state of every token."""
        a = self.layer.everywhere(weights, self.norm(weights, "mix", tokens), positions)
        return State(self.norm(weights, "feed", a), torch.zeros_like(tokens))


@dataclass(frozen=True)
class Architecture(Declaration):
    """Blocks on tokens (x; y) of d + 1 numbers: attention of ``heads`` heads, an MLP of two hidden layers, GELU.

    d          entries of an input; heads: attention heads of a block; blocks: of a network
    widening   width of the hidden layers over d + 1; heads must divide d + 1
    skips      around attention and MLP; norms: layer norms before both (epsilon 1e-5)
    causal     whether tokens attend to none that come later
    """

    d: Count = 2
    heads: Count = 3
    blocks: Count = 5
    widening: Count = 4
    skips: bool = True
    norms: bool = False
    causal: bool = True

    def __post_init__(self):
        super().__post_init__()
        if (self.d + 1) % self.heads:
            raise ValueError(f"{self.heads} heads of tokens of {self.d + 1} numbers: heads must divide d + 1")

    def network(self) -> Network:
        """Return the shape of the network; the output at a token is its last entry."""
        n = self.d + 1
        layer = SoftmaxAttention(self.heads, n // self.heads, n, n, self.causal)
        norm = LayerNorm(1e-5) if self.norms else NoNorm()
        joint: Joint = PreNorm(layer, norm) if self.skips else NormedNoSkip(layer, norm)
        hidden = self.widening * n
        return Network(Block(joint, MLP(n, (hidden, hidden), n, "gelu")), self.blocks, LastEntry())

    def site(self) -> Site:
        """Return where v is taken up: the last bias, or nowhere when there is no v."""
        return Bias("b_out") if self.skips else Nowhere()


Variant = Literal["skips", "skips, norms", "not causal", "not causal, norms", "no skips", "no skips, norms"]
VARIANTS: dict[Variant, dict[str, bool]] = {
    "skips": {},
    "skips, norms": {"norms": True},
    "not causal": {"causal": False},
    "not causal, norms": {"causal": False, "norms": True},
    "no skips": {"skips": False},
    "no skips, norms": {"skips": False, "norms": True},
}
"""Blocks by what they are made of."""


class Pair(NamedTuple):
    """States of the base token alone, once per token, and of all tokens of the sequence, (..., T, 1, k) each."""

    bare: State
    full: State


def states(block: Block, weights: Weights, sequence: Float[Tensor, "... T D"], base: Float[Tensor, "... 1 D"]) -> Pair:
    """Return the states that the updates of all tokens are made of."""
    full, bare = block.mix(weights, sequence), block.mix(weights, base)
    alone = State(*(part[..., None, :].expand(*whole.shape[:-1], 1, -1) for part, whole in zip(bare, full, strict=True)))
    return Pair(alone, State(full.z[..., None, :], full.v[..., None, :]))


def theory_output(block: Block, site: Site, weights: Weights, pair: Pair) -> Float[Tensor, "... T D"]:
    """Return what the block makes of the base token alone with the update of each token of the sequence."""
    return block.feed(patched_block(block, site, weights, *pair), pair.bare)[..., 0, :]


def draw(
    architecture: Architecture, N: int, prompts: int, name: str, seed: int
) -> tuple[Network, Weights, Float[Tensor, "B T D"]]:
    """Return a random network and prompts of N examples of linear regression, the query last."""
    network = architecture.network()
    like = torch.zeros((), dtype=torch.float64)
    weights = network.start(stream(seed, f"weights/{name}"), (), like)
    return network, weights, tokens(regression(architecture.d).sample(stream(seed, f"prompts/{name}"), (prompts,), N))


def variants(architecture: Architecture, names: tuple[Variant, ...]) -> dict[Variant, Architecture]:
    """Return the named variants of an architecture."""
    return {name: replace(architecture, **VARIANTS[name]) for name in names}
