"""dherin-stale-patches: patches used where they were not made: for the next token, for the same token again, elsewhere."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, variable
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import forward, patched_network
from papers.dherin.architectures import Architecture, Name, Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.generation.generation import gumbel
from papers.dherin.patch_rules import each_alone, exact, some
from papers.dherin.patched_generation import generate, sampled, with_context

PATCHES = ("recomputed", "first block without", "stale", "none")
"""Made for the token; in all blocks but the first; made for the token before; in no block."""
PLACES = ("alone", "window", "scattered")
"""Nothing kept; the last tokens kept; as many tokens of the context with gaps between them."""


@dataclass(frozen=True)
class StalePatches(Declaration):
    """Random networks on text that they sampled themselves: a random prompt of ``prompt`` tokens, then ``steps`` tokens.

    architectures   of the networks, by name; depth: blocks of a network
    prompt          random tokens that a text begins with; steps: tokens that the network samples after the prompt
    kept            tokens that stay in view when positions are renumbered; they lie 2 apart when scattered
    seeds           networks of each architecture, one text each
    """

    architectures: Several[Name]
    sizes: Sizes
    depth: Count
    prompt: AtLeastTwo
    steps: AtLeastTwo
    kept: Count
    seeds: Count

    def __post_init__(self):
        super().__post_init__()
        if 2 * self.kept >= self.prompt + self.steps:
            raise ValueError(f"{self.kept} tokens kept: prompt and steps must together exceed twice as many tokens as kept")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the logits' error token by token for every kind of patch."""
        readings = [[self.read(name, seed, s, device) for s in range(self.seeds)] for name in self.architectures]
        columns = {
            key: variable(
                f"architecture seed {dims}".split(), np.array([[one[key] for one in row] for row in readings], "f4"), text
            )
            for key, (dims, text) in NAMES.items()
        }
        coords = {
            "architecture": list(self.architectures),
            "patches": list(PATCHES),
            "place": list(PLACES),
            "token": np.arange(self.prompt + 1, self.prompt + self.steps + 1),
        }
        return xr.Dataset(columns, coords=coords)

    def read(self, name: str, seed: int, s: int, device: str) -> dict[str, np.ndarray]:
        """Return the readings of one network."""
        built = architecture(name, self.depth, self.sizes)
        weights = {key: weight.to(device) for key, weight in built.weights(seed, s).items()}
        prompt = words(seed, f"prompts/{s}", self.sizes, self.prompt).to(device)
        noise = gumbel(seed, f"gumbel/{s}", self.steps, self.sizes.vocabulary).to(device)
        text = generate(with_context(built.network, weights), prompt, self.steps, sampled(noise)).tokens
        twice = words(seed, f"twice/{s}", self.sizes, (self.prompt + self.steps) // 2).repeat_interleave(2).to(device)
        doubled = errors(built, weights, twice, 0)
        last = slice(self.prompt - self.prompt % 2, None)
        return {
            "error": errors(built, weights, text, self.prompt).cpu().numpy(),
            "same": doubled[2, last][1::2].median().cpu().numpy(),
            "different": doubled[2, last][::2].median().cpu().numpy(),
            "without": doubled[3, last].median().cpu().numpy(),
            "renumbered": np.array([self.renumber(built, weights, text, place) for place in PLACES]),
        }

    def renumber(self, built: Architecture, weights: Weights, text: Int[Tensor, "T"], place: str) -> float:
        """Return the error when patches are made at absolute positions and used at positions 0, 1, ..."""
        T = len(text)
        kept = {"alone": [], "window": range(T - 1 - self.kept, T - 1), "scattered": range(T - 1 - 2 * self.kept, T - 1, 2)}[
            place
        ]
        positions = torch.tensor([*kept, T - 1], device=text.device)
        network, tokens = built.network, built.network.embed(weights, text)
        states, out = network.states(weights, tokens)
        targets = [state.at(-1) for state in states]
        patched, _ = patched_network(network, built.site, weights, targets, tokens[positions], positions)
        left = forward(network, patched, tokens[positions])
        return relative(network.read(weights, left[-1:]), network.read(weights, out[-1:])).item()


def errors(built: Architecture, weights: Weights, text: Int[Tensor, "T"], begin: int) -> Float[Tensor, "patches steps"]:
    """Return the error of the logits of every token from ``begin`` on, for each kind of patches; the first has its own."""
    network, tokens = built.network, built.network.embed(weights, text)
    states, out = network.states(weights, tokens)
    places = torch.arange(max(begin - 1, 0), len(text), device=text.device)
    targets, alone = [each_alone(state, places) for state in states], tokens[places][:, None]
    patched, left = exact(built.site)(network, weights, targets, alone)
    but_first = some(built.site, set(range(1, len(states))) or {0})(network, weights, targets, alone)[1]
    old = [before(block, new) for block, new in zip(network.blocks(weights), patched, strict=True)]
    lefts = (left, but_first, forward(network, old, alone), forward(network, network.blocks(weights), alone))
    expected = network.read(weights, out[places])
    error = torch.stack([relative(network.read(weights, one)[:, 0], expected) for one in lefts])
    return error[:, len(places) - (len(text) - begin) :]


def before(block: Weights, new: Weights) -> Weights:
    """Return the patches (P, ...) moved on by one token; the first token keeps its own."""
    moved = {name: torch.cat([weight[:1], weight[:-1]]) for name, weight in new.items() if weight.dim() > block[name].dim()}
    return {**block, **moved}


NAMES = {
    "error": ("patches token", "relative error of the logits"),
    "same": ("", "median relative error with the patch of the token before, which was the same token"),
    "different": ("", "the same where the token before was another one"),
    "without": ("", "the same without patches"),
    "renumbered": ("place", "relative error when patches made at absolute positions are used at positions 0, 1, ..."),
}

_QUICK = StalePatches(
    architectures=("vanilla, bias", "Llama", "Gemma", "parallel", "experts"),
    sizes=Sizes(width=48, heads=6, hidden=128, experts=4, active=2, vocabulary=97),
    depth=6,
    prompt=8,
    steps=6,
    kept=4,
    seeds=5,
)
STALE_PATCHES = Experiment(
    slug="dherin-stale-patches",
    title="Patches used for another token",
    quick=_QUICK,
    full=replace(_QUICK, prompt=16, steps=32, kept=6, seeds=12),
)
