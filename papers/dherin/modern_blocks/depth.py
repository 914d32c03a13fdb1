"""dherin-depth: patches of deep networks, and which blocks need one."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, variable
from papers.dherin.architectures import Name, Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.patch_rules import behind, damped, each_alone, exact, some

PATCHED = ("all blocks", "last block", "all but the last", "all, epsilon", "none")
NAMES = {"error": "of the logits over positions", "stream": "of the token behind a block, over blocks and positions"}


@dataclass(frozen=True)
class Depth(Declaration):
    """Random networks of each depth; positions: how many of the last ``tokens`` are patched, nothing of the context kept.

    architectures   of the networks, by name; depths: blocks of a network
    tokens          of a text; positions: last tokens for each of which the network is patched
    epsilon         what a control adds to |z|^2
    seeds           networks of each architecture and depth
    """

    architectures: Several[Name]
    depths: Several[Count]
    sizes: Sizes
    tokens: AtLeastTwo
    positions: Count
    epsilon: Positive
    seeds: Count

    def __post_init__(self):
        super().__post_init__()
        if self.positions >= self.tokens:
            raise ValueError(f"{self.positions} of {self.tokens} tokens have no context: take positions from 1 to tokens - 1")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the errors of logits and stream for every choice of blocks that get a patch."""
        error = np.array(
            [
                [[self.read(name, depth, seed, s, device) for s in range(self.seeds)] for depth in self.depths]
                for name in self.architectures
            ]
        )
        coords = {"architecture": list(self.architectures), "depth": list(self.depths), "patched": list(PATCHED)}
        columns = {
            name: variable("architecture depth seed patched", error[..., k], f"largest relative error {text}")
            for k, (name, text) in enumerate(NAMES.items())
        }
        return xr.Dataset(columns, coords=coords)

    def read(self, name: str, depth: int, seed: int, s: int, device: str) -> list[list[float]]:
        """Return both errors of one network for every choice."""
        built = architecture(name, depth, self.sizes)
        network, weights = built.network, {key: weight.to(device) for key, weight in built.weights(seed, s).items()}
        tokens = network.embed(weights, words(seed, f"words/{s}", self.sizes, self.tokens).to(device))
        states, out = network.states(weights, tokens)
        places = torch.arange(self.tokens - self.positions, self.tokens, device=tokens.device)
        targets, alone = [each_alone(state, places) for state in states], tokens[places][:, None]
        rules = (
            exact(built.site),
            *(some(built.site, chosen) for chosen in ({depth - 1}, set(range(depth - 1)))),
            damped(built.site, self.epsilon),
            some(built.site, set()),
        )
        expected, found = network.read(weights, out[places]), []
        for rule in rules:
            patched, left = rule(network, weights, targets, alone)
            logits = relative(network.read(weights, left)[:, 0], expected)
            found.append([logits.max().item(), behind(network, patched, weights, targets, alone).max().item()])
        return found


_QUICK = Depth(
    architectures=("Llama",),
    depths=(1, 2, 8, 32),
    sizes=Sizes(width=48, heads=6, hidden=128, experts=4, active=2, vocabulary=97),
    tokens=40,
    positions=3,
    epsilon=1e-2,
    seeds=1,
)
DEPTH = Experiment(
    slug="dherin-depth",
    title="Depth",
    section="sequel 2",
    quick=_QUICK,
    full=replace(
        _QUICK,
        architectures=("Llama", "vanilla, bias", "Gemma, conditioned"),
        depths=(1, 2, 4, 8, 16, 32),
        positions=39,
        seeds=8,
    ),
)
