"""dherin-modern-blocks: whole networks without their context, patched block by block, for every architecture and position."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, Share, variable
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.sites import Nowhere
from icl_lib.seeds import stream
from papers.dherin.architectures import Architecture, Name, Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.network import Network
from papers.dherin.patch_rules import behind, damped, each_alone, exact, shifted, unpatched

NORM_BIAS = "vanilla, norm bias"
"""The vanilla block again: no matrix changes, the second norm's bias takes up what the context adds to z."""
PATCHES = ("whole", "epsilon", "input half", "neighbour", "none")
"""The patch; with an epsilon in the denominator; without its site; made for the token before; no patch."""
CHUNK = 64
"""Positions patched at a time: each has matrices of its own."""


@dataclass(frozen=True)
class ModernBlocks(Declaration):
    """Random networks of ``depth`` blocks on ``tokens`` random tokens; ``seeds`` networks of each architecture.

    kept      shares of the context that stay, for the last token; elsewhere nothing stays
    epsilon   what a control adds to |z|^2
    """

    architectures: Several[Name | Literal[NORM_BIAS]]
    sizes: Sizes
    depth: Count
    tokens: AtLeastTwo
    kept: Several[Share]
    epsilon: Positive
    seeds: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch every network at every position, and measure the logits against those with the context."""
        readings = [[self.read(name, seed, s, device) for s in range(self.seeds)] for name in self.architectures]
        columns = {
            key: variable(
                f"architecture seed {dims}".split(), np.array([[one[key] for one in row] for row in readings], "f4"), text
            )
            for key, (dims, text) in NAMES.items()
        }
        coords = {"architecture": list(self.architectures), "patch": list(PATCHES), "kept": list(self.kept)}
        return xr.Dataset(columns, coords=coords)

    def read(self, name: str, seed: int, s: int, device: str) -> dict[str, np.ndarray]:
        """Return all readings of one network."""
        built = architecture("vanilla, bias" if name == NORM_BIAS else name, self.depth, self.sizes)
        weights = {key: weight.to(device) for key, weight in built.weights(seed, s).items()}
        tokens = built.network.embed(weights, words(seed, f"words/{s}", self.sizes, self.tokens).to(device))
        states, out = built.network.states(weights, tokens)
        expected, rules = built.network.read(weights, out), self.rules(name, built)
        error, stream, same, sizes = [], [], None, []
        for patch in PATCHES:
            if patch not in rules:
                error.append(torch.full_like(expected[:, 0], torch.nan))
                stream.append(error[-1])
                continue
            patched = everywhere(built, rules[patch], weights, tokens, states, shift=int(patch == "neighbour"))
            logits = torch.cat([each for each, _, _ in patched])
            error.append(relative(logits, expected))
            stream.append(torch.cat([each for _, _, each in patched], 1).amax(0))
            if patch == "whole":
                same = (logits.argmax(-1) == expected.argmax(-1)).double().mean()
                sizes = [
                    torch.cat(part)[1:] for part in zip(*(changes(built, weights, new) for _, new, _ in patched), strict=True)
                ]
        found = torch.stack(error)
        kept = [self.keep(rules["whole"], built.network, weights, tokens, share, seed, s) for share in self.kept]
        return {
            "error": found.amax(-1).cpu().numpy(),
            "median": found[:, 1:].median(-1).values.cpu().numpy(),
            "agreement": same.cpu().numpy(),
            "stream": torch.stack(stream).amax(-1).cpu().numpy(),
            "error_kept": np.array(kept),
            **{key: part.median(0).values.cpu().numpy() for key, part in zip(SIDES, sizes, strict=True)},
        }

    def rules(self, name: str, built: Architecture) -> dict[str, Callable]:
        """Return how each kind of patch is made; the norm's bias has no denominator for an epsilon."""
        if name == NORM_BIAS:
            whole = shifted(built.site)
            return {"whole": whole, "neighbour": whole, "input half": shifted(Nowhere()), "none": unpatched}
        whole, half = exact(built.site), exact(Nowhere())
        small = damped(built.site, self.epsilon)
        return {"whole": whole, "neighbour": whole, "input half": half, "epsilon": small, "none": unpatched}

    def keep(
        self, rule: Callable, network: Network, weights: Weights, tokens: Tensor, share: float, seed: int, s: int
    ) -> float:
        """Return the larger of two errors at the last token when a share of its context stays: logits, worst block's stream."""
        N = self.tokens - 1
        order = torch.randperm(N, generator=stream(seed, f"kept/{s}"))
        positions = torch.cat([order[: round(share * N)].sort().values, torch.tensor([N])]).to(tokens.device)
        states, out = network.states(weights, tokens)
        full = [state.at(-1) for state in states]
        patched, left = rule(network, weights, full, tokens[positions], positions)
        logits = relative(network.read(weights, left[-1:]), network.read(weights, out[-1:])).item()
        return max(logits, behind(network, patched, weights, full, tokens[positions], positions).max().item())


def everywhere(
    built: Architecture, rule: Callable, weights: Weights, tokens: Tensor, states: list[State], shift: int
) -> list[tuple[Tensor, list[Weights], Tensor]]:
    """Patch for every token alone, from the states ``shift`` tokens before.

    Returns by chunk the logits, the patched blocks, and how far the token is off behind every block.
    """
    found = []
    for places in torch.arange(len(tokens), device=tokens.device).split(CHUNK):
        targets = [each_alone(state, places - shift) for state in states]
        alone, full = tokens[places][:, None], [each_alone(state, places) for state in states]
        patched, left = rule(built.network, weights, targets, alone)
        found.append((built.network.read(weights, left)[:, 0], patched, behind(built.network, patched, weights, full, alone)))
    return found


def changes(built: Architecture, weights: Weights, patched: list[Weights]) -> tuple[Tensor, ...]:
    """Return |change| / |weight| of every block, (position, block): what reads z (or the bias before it), and the site's."""
    reads = (*built.network.block.feed_forward.reads, "b_feed")
    sides: tuple[list, ...] = ([], [])
    for block, new in zip(built.network.blocks(weights), patched, strict=True):
        for side, inner in zip(sides, (True, False), strict=True):
            names = [name for name in block if new[name].dim() > block[name].dim() and (name in reads) == inner]
            change = sum((new[name] - block[name]).square().flatten(1).sum(-1) for name in names)
            side.append((change / sum(block[name].square().sum() for name in names)).sqrt())
    return tuple(torch.stack(side, -1) for side in sides)


SIDES = ("size_in", "size_out")
NAMES = {
    "error": ("patch", "largest relative error of the logits over positions"),
    "median": ("patch", "median relative error of the logits over positions that have a context"),
    "agreement": ("", "share of positions with the same most likely token"),
    "stream": ("patch", "largest relative error of the token behind a block over blocks and positions"),
    "error_kept": ("kept", "the larger of both errors at the last token when part of the context stays"),
    "size_in": ("block", "size of the change over that of the weights, what reads z; median over positions"),
    "size_out": ("block", "size of the change over that of the weights, at the site; median over positions"),
}

ALL = (
    "vanilla, bias",
    "vanilla, matrix",
    NORM_BIAS,
    "Llama",
    "Gemma",
    "Gemma, conditioned",
    "parallel",
    "experts",
    "experts, each",
)
SIZES = Sizes(width=48, heads=6, hidden=128, experts=4, active=2, vocabulary=97)

_QUICK = ModernBlocks(architectures=ALL, sizes=SIZES, depth=6, tokens=16, kept=(0.25, 0.75, 1.0), epsilon=1e-2, seeds=1)
MODERN_BLOCKS = Experiment(
    slug="dherin-modern-blocks",
    title="Patches of modern blocks",
    section="sequel 2",
    quick=_QUICK,
    full=replace(_QUICK, tokens=24, seeds=20),
)
