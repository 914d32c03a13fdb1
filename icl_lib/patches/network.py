"""The patch of a block, and of a network block by block. All that is asked of a block is its protocol.

A block has ``mix`` (tokens -> state of every token), ``feed`` (state -> output) and ``feed_forward`` with ``reads``, the
names of the matrices that are applied to z. What the context adds to z is put into those matrices; what it adds to v
is put into the output by a site. Weights of patched blocks carry the leading dimensions of the states.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import redirection
from icl_lib.patches.sites import Patchable, Site
from icl_lib.typed import refuse


@runtime_checkable
class PatchableBlock(Protocol):
    """A block of ours or an adapter around another one; its weights are an argument."""

    feed_forward: Patchable

    def mix(self, weights: Weights, tokens: Tensor, positions: Tensor | None = None) -> State:
        """Return the state of every token, of tokens (..., T, D)."""
        ...

    def feed(self, weights: Weights, state: State) -> Tensor:
        """Return the block's output at every token of a state, (..., T, D)."""
        ...


@runtime_checkable
class PatchableNetwork(Protocol):
    """Blocks of one shape one after another; ``blocks`` takes the weights apart."""

    block: PatchableBlock

    def blocks(self, weights: Weights) -> list[Weights]:
        """Return the weights of each block, in order."""
        ...


def patched_block(block: PatchableBlock, site: Site, weights: Weights, bare: State, full: State) -> Weights:
    """Return weights with which the block computes from ``bare`` what it computes from ``full`` (Dherin et al., theorem 2.2).

    block.feed(patched, bare) = block.feed(weights, full), where both states are of one token, (..., 1, k). Every matrix W
    that reads z becomes W + DeltaW with (W + DeltaW) z = W z_full, so that what follows is as with the context; then the
    site adds v_full - v, for which it has to name the last matrix, bias or gain of the feed-forward part. Raises ValueError
    when z = 0, when a state is of several tokens, and where the site does.

    The block makes 24 of the query 2 after the context 1, and 20 of the query alone, until it is patched:

    >>> import torch
    >>> from icl_lib.models.contextual import blocks, feed_forward, layers
    >>> from icl_lib.patches import network, sites
    >>> block = blocks.Block(blocks.OuterSkip(layers.LinearAttention(1, 1, 1)), feed_forward.MLP(1, (1,), 1, "relu"))
    >>> weights, tokens = {name: torch.ones(shape) for name, shape in block.shapes.items()}, torch.tensor([[1.0], [2.0]])
    >>> for full in (block.mix(weights, tokens[1:]), block.mix(weights, tokens).at(1)):
    ...     patched = network.patched_block(block, sites.Bias("b_out"), weights, block.mix(weights, tokens[1:]), full)
    ...     print(block(patched, tokens[1:]).tolist(), block.feed(weights, full).tolist())
    [[20.0]] [[20.0]]
    [[24.0]] [[24.0]]
    """
    if (lengths := (bare.z.shape[-2], full.z.shape[-2])) != (1, 1):
        raise ValueError("states of {} and {} tokens: give those of one token, such as state.at(-1)".format(*lengths))
    z, z_full = bare.z[..., 0, :], full.z[..., 0, :]
    read = {name: weights[name] + redirection(weights[name], z, z_full) for name in block.feed_forward.reads}
    return site.absorb(block.feed_forward, {**weights, **read}, z, full.v[..., 0, :] - bare.v[..., 0, :])


def patched_network(
    network: PatchableNetwork,
    site: Site,
    weights: Weights,
    targets: list[State],
    tokens: Float[Tensor, "... K D"],
    positions: Int[Tensor, "K"] | None = None,
) -> tuple[list[Weights], Float[Tensor, "... K D"]]:
    """Patch every block so that the last of ``tokens`` leaves the network as it does with the whole context.

    targets   the state of that token in every block with the whole context, (..., 1, k) each
    tokens    (C without Y, x) as they enter the first block; the query alone for Y = C. positions are theirs

    Blocks are patched in order, each for the tokens that the patched blocks below really send it. Returns the weights of
    the patched blocks and the tokens that leave the last one.
    """
    refuse(
        len(targets) != len(network.blocks(weights)),
        f"{len(targets)} targets for {len(network.blocks(weights))} blocks: give one for each",
    )
    patched = []
    for block, full in zip(network.blocks(weights), targets, strict=True):
        bare = network.block.mix(block, tokens, positions)
        patched.append(patched_block(network.block, site, block, bare.at(-1), full))
        tokens = network.block.feed(patched[-1], bare)
    return patched, tokens


def forward(
    network: PatchableNetwork,
    blocks: list[Weights],
    tokens: Float[Tensor, "... T D"],
    positions: Int[Tensor, "T"] | None = None,
) -> Float[Tensor, "... T D"]:
    """Return the tokens that leave the network with the weights of its blocks given one by one, patched or not."""
    for block in blocks:
        tokens = network.block.feed(block, network.block.mix(block, tokens, positions))
    return tokens
