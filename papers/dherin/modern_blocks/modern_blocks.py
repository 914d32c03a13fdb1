"""dherin-modern-blocks: whole networks without their context, patched block by block, for every architecture and position."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, Share, variables
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.sites import Nowhere, Site
from icl_lib.seeds import stream
from papers.dherin.architectures import Name, Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.network import Network
from papers.dherin.patch_rules import behind, damped, each_alone, exact, shifted, unpatched

NORM_BIAS = "vanilla, norm bias"
"""The vanilla block again: no matrix changes, the second norm's bias takes up what the context adds to z."""
PATCHES = ("whole", "epsilon", "input half", "neighbour", "none")
"""The patch; with an epsilon in the denominator; without its site; made for the token before; no patch."""
CHUNK = 64
"""Positions patched at a time: each has matrices of its own."""


class Text(NamedTuple):
    """A text in a network: the tokens that enter, the state of every token in every block, and the logits, all with context."""

    network: Network
    weights: Weights
    tokens: Float[Tensor, "T D"]
    states: list[State]
    logits: Float[Tensor, "T V"]


@dataclass(frozen=True)
class ModernBlocks(Declaration):
    """Random networks of ``depth`` blocks on ``tokens`` random tokens; ``seeds`` networks of each architecture.

    architectures   of the networks, by name; depth: blocks of a network; tokens: of a text
    kept            shares of the context that stay, for the last token; elsewhere nothing stays
    epsilon         what a control adds to |z|^2
    seeds           networks of each architecture, one text each
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
        coords = {"architecture": list(self.architectures), "patch": list(PATCHES), "kept": list(self.kept)}
        return xr.Dataset(variables(NAMES, readings, "architecture seed {}", "f4"), coords=coords)

    def read(self, name: str, seed: int, s: int, device: str) -> dict[str, np.ndarray | float]:
        """Return all readings of one network."""
        built = architecture("vanilla, bias" if name == NORM_BIAS else name, self.depth, self.sizes)
        network, rules = built.network, self.rules(name, built.site)
        weights = {key: weight.to(device) for key, weight in built.weights(seed, s).items()}
        tokens = network.embed(weights, words(seed, f"words/{s}", self.sizes, self.tokens).to(device))
        states, out = network.states(weights, tokens)
        text = Text(network, weights, tokens, states, network.read(weights, out))
        rule = rules.pop("whole")
        whole = everywhere(text, rule, 0, changes)
        found = {patch: everywhere(text, made, int(patch == "neighbour")) for patch, made in rules.items()} | {"whole": whole}
        missing = dict.fromkeys(ERRORS, torch.full_like(whole["error"], torch.nan))
        error, off = (torch.stack([found.get(patch, missing)[key] for patch in PATCHES]) for key in ERRORS)
        return {
            "error": error.amax(-1).cpu().numpy(),
            "median": error[:, 1:].median(-1).values.cpu().numpy(),
            "agreement": whole["same"].double().mean().item(),
            "stream": off.amax(-1).cpu().numpy(),
            "error_kept": np.array([self.keep(text, rule, share, seed, s) for share in self.kept]),
            **{side: whole[side][1:].median(0).values.cpu().numpy() for side in SIDES},
        }

    def rules(self, name: str, site: Site) -> dict[str, Callable]:
        """Return how each kind of patch is made; the norm's bias has no denominator for an epsilon."""
        made = shifted if name == NORM_BIAS else exact
        whole = made(site)
        rules = {"whole": whole, "neighbour": whole, "input half": made(Nowhere()), "none": unpatched}
        return rules if name == NORM_BIAS else {**rules, "epsilon": damped(site, self.epsilon)}

    def keep(self, text: Text, rule: Callable, share: float, seed: int, s: int) -> float:
        """Return the larger of two errors at the last token when a share of its context stays: logits, worst block's stream."""
        N, (network, weights, tokens, states, expected) = self.tokens - 1, text
        order = torch.randperm(N, generator=stream(seed, f"kept/{s}"))
        positions = torch.cat([order[: round(share * N)].sort().values, torch.tensor([N])]).to(tokens.device)
        full, left = [state.at(-1) for state in states], tokens[positions]
        patched, out = rule(network, weights, full, left, positions)
        off = behind(network, patched, weights, full, left, positions)
        return max(relative(network.read(weights, out[-1:]), expected[-1:]).item(), off.max().item())


def everywhere(text: Text, rule: Callable, shift: int, *looks: Callable) -> dict[str, Tensor]:
    """Patch for every token alone, from the states ``shift`` tokens before, and return what is found by position.

    Where there is no token so far before, from those of the first.

    error, same   of the logits: relative error, and whether the most likely token is the same
    off           relative error of the token behind a block, of the worst one
    looks         read the patched blocks too
    """
    (network, weights, tokens, states, expected), found = text, []
    for places in torch.arange(len(tokens), device=tokens.device).split(CHUNK):
        targets, full = ([each_alone(state, at) for state in states] for at in ((places - shift).clamp(min=0), places))
        alone = tokens[places][:, None]
        patched, left = rule(network, weights, targets, alone)
        logits, off = network.read(weights, left)[:, 0], behind(network, patched, weights, full, alone)
        of_logits = {"error": relative(logits, expected[places]), "same": logits.argmax(-1) == expected[places].argmax(-1)}
        found.append({**of_logits, "off": off.amax(0)})
        for look in looks:
            found[-1] |= look(network, weights, patched)
    return {key: torch.cat([each[key] for each in found]) for key in found[0]}


def changes(network: Network, weights: Weights, patched: list[Weights]) -> dict[str, Tensor]:
    """Return |change| / |weight| of every block, (position, block): what reads z (or the bias before it), and the site's."""
    reads, found = (*network.block.feed_forward.reads, "b_feed"), {side: [] for side in SIDES}
    for block, new in zip(network.blocks(weights), patched, strict=True):
        changed = [name for name in block if new[name].dim() > block[name].dim()]
        for side, inner in zip(SIDES, (True, False), strict=True):
            names = [name for name in changed if (name in reads) == inner]
            change = sum((new[name] - block[name]).square().flatten(1).sum(-1) for name in names)
            found[side].append((change / sum(block[name].square().sum() for name in names)).sqrt())
    return {side: torch.stack(sizes, -1) for side, sizes in found.items()}


ERRORS, SIDES = ("error", "off"), ("size_in", "size_out")
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

_QUICK = ModernBlocks(architectures=ALL, sizes=SIZES, depth=3, tokens=8, kept=(0.25, 0.75, 1.0), epsilon=1e-2, seeds=1)
MODERN_BLOCKS = Experiment(
    slug="dherin-modern-blocks",
    title="Patches of modern blocks",
    section="sequel 2",
    quick=_QUICK,
    full=replace(_QUICK, depth=6, tokens=24, seeds=20),
)
