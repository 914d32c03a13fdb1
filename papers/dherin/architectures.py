"""Transformer blocks by name: the block, and the site where its patch takes up what the context adds behind the norms."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration
from icl_lib.models.contextual.blocks import Block, PreNorm
from icl_lib.models.contextual.feed_forward import MLP, GatedMLP
from icl_lib.models.contextual.norms import LayerNorm, RMSNorm
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import rank_one
from icl_lib.patches.sites import Bias, Gain, Matrix, MatrixAndGain, Site
from icl_lib.seeds import stream
from papers.dherin.modern_parts import MixtureOfExperts, Parallel, PostNormGatedMLP, RotarySoftmaxAttention, SandwichNorm
from papers.dherin.network import Network, Vocabulary

LIKE = torch.zeros((), dtype=torch.float64)


@dataclass(frozen=True)
class Sizes(Declaration):
    """Sizes of a network: D = width, heads of D/heads channels, H = hidden channels (of each expert), tokens = vocabulary.

    width        channels D of a token; heads: attention heads, of D/heads channels each
    hidden       channels H of the feed-forward part, of each expert where there are several
    experts      feed-forward parts of a mixture; active: feed-forward parts that each token goes through
    vocabulary   different tokens
    """

    width: Count
    heads: Count
    hidden: Count
    experts: Count
    active: Count
    vocabulary: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.width % self.heads or self.width // self.heads % 2:
            raise ValueError(f"{self.heads} heads of {self.width} channels: each head needs an even, whole number of channels")
        if self.active > self.experts:
            raise ValueError(f"{self.active} of {self.experts} experts cannot be active: take active of at most experts")

    def attention(self) -> RotarySoftmaxAttention:
        """Return causal attention with rotary positions."""
        return RotarySoftmaxAttention(self.heads, self.width // self.heads, self.width, self.width)


@dataclass(frozen=True)
class EachExpert:
    """W_down of every active expert e takes up the whole difference: += difference h_e^T / |h_e|^2.

    The shares sum to one, so that the weighted sum of the experts moves by the difference. ``Matrix`` changes the experts'
    matrices side by side as one, which takes the least norm.
    """

    name: str

    def absorb(
        self, feed_forward: MixtureOfExperts, weights: Weights, z: Float[Tensor, "... n"], difference: Float[Tensor, "... D"]
    ) -> Weights:
        """Return the weights with the last matrix of every active expert changed."""
        parts = feed_forward.hidden(weights, z[..., None, :])[..., 0, :].unflatten(-1, (feed_forward.experts, -1))
        shares = feed_forward.shares(weights, z[..., None, :])[..., 0, :, None]
        h = torch.where(shares > 0, parts / shares, torch.ones_like(parts))
        change = rank_one(difference[..., None, :].expand(*h.shape[:-1], -1), h) * (shares > 0)[..., None]
        return {**weights, self.name: weights[self.name] + change.movedim(-3, -2).flatten(-2)}


class Architecture(NamedTuple):
    """A network and the site of its patches; architectures of one family differ in the site alone."""

    family: str
    network: Network
    site: Site

    def weights(self, seed: int, replicate: int) -> Weights:
        """Draw the weights of one network, in float64."""
        return self.network.start(stream(seed, f"{self.family}/{self.network.depth}/{replicate}"), (), LIKE)


def architecture(name: str, depth: int, sizes: Sizes) -> Architecture:
    """Return an architecture by name, a key of ``SITES``."""
    D, H = sizes.width, sizes.hidden
    attention, layer_norm, rms = sizes.attention(), LayerNorm(1e-5), RMSNorm(1e-6)
    blocks = {
        "vanilla": Block(PreNorm(attention, layer_norm), MLP(D, (H,), D, "gelu")),
        "Llama": Block(PreNorm(attention, rms), GatedMLP(D, H, "silu")),
        "Gemma": Block(SandwichNorm(attention, rms), PostNormGatedMLP(D, H, "gelu", rms.epsilon)),
        "parallel": Block(Parallel(attention, rms), GatedMLP(D, H, "silu")),
        "experts": Block(PreNorm(attention, rms), MixtureOfExperts(D, H, sizes.experts, sizes.active, "silu")),
    }
    family = name.partition(",")[0]
    norm = layer_norm if family == "vanilla" else rms
    return Architecture(family, Network(blocks[family], depth, Vocabulary(sizes.vocabulary, D, norm)), SITES[name])


SITES: dict[str, Site] = {
    "vanilla, bias": Bias("b_out"),
    "vanilla, matrix": Matrix("W_out"),
    "Llama": Matrix("W_down"),
    "Gemma": Gain("m_post"),
    "Gemma, conditioned": MatrixAndGain("W_down", "m_post"),
    "parallel": Matrix("W_down"),
    "experts": Matrix("W_down"),
    "experts, each": EachExpert("W_down"),
}
"""Family of the block, and where the patch takes up what the context adds to v."""
Name = Literal[*SITES]
"""Names of architectures."""


def words(seed: int, name: str, sizes: Sizes, *shape: int) -> Int[Tensor, "..."]:
    """Draw tokens, uniform over the vocabulary."""
    return torch.randint(sizes.vocabulary, shape, generator=stream(seed, name))
