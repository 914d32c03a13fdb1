"""Rules that patch a whole network for given targets, and the ones that a control takes in their place."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import forward, patched_block, patched_network
from icl_lib.patches.sites import Bias, Site
from papers.dherin.network import Network

Patched = tuple[list[Weights], Tensor]


def each_alone(state: State, places: Tensor) -> State:
    """Return the states of some tokens as sequences of one token each, (P, 1, k)."""
    return State(state.z[places, None], state.v[places, None])


def exact(site: Site) -> Callable:
    """Return the patch of the theorem."""
    return lambda network, *rest: patched_network(network, site, *rest)


def damped(site: Site, epsilon: float) -> Callable:
    """Return the patch with |z|^2 + epsilon in place of |z|^2 in the matrices that read z.

    W (z_C - z) z^T / (|z|^2 + epsilon) is the exact patch for the target z + (z_C - z) |z|^2 / (|z|^2 + epsilon).
    """

    def rule(network: Network, weights: Weights, targets: list[State], tokens: Tensor) -> Patched:
        patched = []
        for block, full in zip(network.blocks(weights), targets, strict=True):
            bare = network.block.mix(block, tokens)
            square = bare.z.square().sum(-1, keepdim=True)
            short = State(bare.z + (full.z - bare.z) * square / (square + epsilon), full.v)
            patched.append(patched_block(network.block, site, block, bare, short))
            tokens = network.block.feed(patched[-1], bare)
        return patched, tokens

    return rule


def shifted(site: Site) -> Callable:
    """Return the patch that leaves every matrix that reads z: the norm in front of them has a bias, and += z_C - z."""

    def rule(network: Network, weights: Weights, targets: list[State], tokens: Tensor, positions=None) -> Patched:
        patched = []
        for block, full in zip(network.blocks(weights), targets, strict=True):
            bare = network.block.mix(block, tokens, positions).at(-1)
            moved = Bias("b_feed").absorb(network.block.feed_forward, block, bare.z[..., 0, :], (full.z - bare.z)[..., 0, :])
            state = network.block.mix(moved, tokens, positions)
            difference = (full.v - state.at(-1).v)[..., 0, :]
            patched.append(site.absorb(network.block.feed_forward, moved, state.at(-1).z[..., 0, :], difference))
            tokens = network.block.feed(patched[-1], state)
        return patched, tokens

    return rule


def some(site: Site, chosen: set[int]):
    """Return the rule that patches the chosen blocks and leaves the others."""

    def rule(network: Network, weights: Weights, targets: list[State], tokens: Tensor) -> tuple[list[Weights], Tensor]:
        patched = []
        for place, (block, full) in enumerate(zip(network.blocks(weights), targets, strict=True)):
            bare = network.block.mix(block, tokens)
            patched.append(patched_block(network.block, site, block, bare, full) if place in chosen else block)
            tokens = network.block.feed(patched[-1], bare)
        return patched, tokens

    return rule


def unpatched(network: Network, weights: Weights, targets: list[State], tokens: Tensor) -> Patched:
    """Return the network's own weights."""
    return network.blocks(weights), forward(network, network.blocks(weights), tokens)


def behind(
    network: Network, patched: list[Weights], weights: Weights, full: list[State], tokens: Tensor, positions=None
) -> Float[Tensor, "depth ..."]:
    """Return |patched - full| / |full| of the last token behind every block; ``full`` are its states with the context.

    The logits alone do not check the blocks below the last, whose patch takes up whatever they left wrong.
    """
    errors = []
    for block, new, state in zip(network.blocks(weights), patched, full, strict=True):
        tokens = forward(network, [new], tokens, positions)
        expected = network.block.feed(block, state)[..., 0, :]
        errors.append((tokens[..., -1, :] - expected).norm(dim=-1) / expected.norm(dim=-1))
    return torch.stack(errors)
