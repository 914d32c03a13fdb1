"""dherin-generation: decoding with the context, and with a network that sees the last token only, its patches made anew."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Positive, Several, variable
from icl_lib.models.contextual.weights import Weights
from icl_lib.seeds import stream
from papers.dherin.architectures import Architecture, Name, Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.patch_rules import some
from papers.dherin.patched_generation import Predictor, generate, sampled, with_context, with_patches

PATCHES = ("recomputed", "with a window", "last block without", "none")
"""Made anew for every token; also with the last tokens kept; in all blocks but the last; in no block."""
CHOICES = ("greedy", "sampled")


@dataclass(frozen=True)
class Generation(Declaration):
    """Random networks that continue ``prompts`` random prompts of ``prompt`` tokens by ``steps`` tokens.

    architectures   of the networks, by name; depth: blocks of a network
    prompt          tokens of a prompt; steps: tokens that continue a prompt; prompts: of a network
    temperature     of the sampled choice; both decodings meet the same Gumbel noise
    window          tokens kept before the last one, in one of the decodings
    seeds           networks of each architecture
    """

    architectures: Several[Name]
    sizes: Sizes
    depth: Count
    prompt: Count
    steps: Count
    prompts: Count
    temperature: Positive
    window: Count
    seeds: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Decode with every kind of patches, and compare with decoding with the context."""
        readings = [[self.read(name, seed, s, device) for s in range(self.seeds)] for name in self.architectures]
        columns = {
            key: variable(f"architecture seed {dims}".split(), np.array([[one[key] for one in row] for row in readings]), text)
            for key, (dims, text) in NAMES.items()
        }
        coords = {"architecture": list(self.architectures), "choice": list(CHOICES), "patches": list(PATCHES)}
        return xr.Dataset(columns, coords=coords)

    def read(self, name: str, seed: int, s: int, device: str) -> dict[str, np.ndarray]:
        """Return the readings of one network; both choices run as one batch, (choice, prompt, ...)."""
        built = architecture(name, self.depth, self.sizes)
        weights = {key: weight.to(device) for key, weight in built.weights(seed, s).items()}
        prompt = words(seed, f"prompts/{s}", self.sizes, self.prompts, self.prompt).expand(2, -1, -1).to(device)
        noise = self.temperature * gumbel(seed, f"gumbel/{s}", self.prompts, self.steps, self.sizes.vocabulary).to(device)
        choose = sampled(torch.stack([torch.zeros_like(noise), noise]))  # no noise: greedy
        expected = generate(with_context(built.network, weights), prompt, self.steps, choose)
        found = [generate(one, prompt, self.steps, choose) for one in self.predictors(built, weights)]
        differ = [(one.tokens != expected.tokens)[..., self.prompt :].double().mean((1, 2)) for one in found]
        distinct = [[len(row.unique()) for row in rows] for rows in expected.tokens[..., self.prompt :]]
        return {
            "differ": torch.stack(differ).cpu().numpy(),
            "error": torch.stack([relative(one.logits, expected.logits).amax((1, 2)) for one in found]).cpu().numpy(),
            "distinct": np.array(distinct, float).mean(-1),
        }

    def predictors(self, built: Architecture, weights: Weights) -> tuple[Predictor, ...]:
        """Return a predictor for every kind of patches."""
        network, site = built.network, built.site
        return (
            with_patches(network, site, weights),
            with_patches(network, site, weights, self.window),
            partly(built, weights, set(range(self.depth - 1))),
            partly(built, weights, set()),
        )


def partly(built: Architecture, weights: Weights, chosen: set[int]) -> Predictor:
    """Return the predictor that sees the last token alone and patches the chosen blocks."""
    rule = some(built.site, chosen)

    def predict(tokens: Int[Tensor, "... T"]) -> Float[Tensor, "... V"]:
        embedded = built.network.embed(weights, tokens)
        targets = [state.at(-1) for state in built.network.states(weights, embedded)[0]]
        _, left = rule(built.network, weights, targets, embedded[..., -1:, :])
        return built.network.read(weights, left)[..., 0, :]

    return predict


def gumbel(seed: int, name: str, *shape: int) -> Float[Tensor, "..."]:
    """Draw Gumbel noise: argmax(logits + noise) is a draw from softmax(logits)."""
    uniform = torch.rand(shape, generator=stream(seed, name), dtype=torch.float64).clamp(min=1e-300)
    return -(-uniform.log()).log()


NAMES = {
    "differ": ("patches choice", "share of generated tokens that differ from decoding with the context"),
    "error": ("patches choice", "largest relative error of the logits along the generation"),
    "distinct": ("choice", "distinct tokens among the generated ones"),
}

FIVE = ("vanilla, bias", "Llama", "Gemma", "parallel", "experts")
SIZES = Sizes(width=48, heads=6, hidden=128, experts=4, active=2, vocabulary=97)

_QUICK = Generation(architectures=FIVE, sizes=SIZES, depth=3, prompt=8, steps=4, prompts=2, temperature=1.0, window=4, seeds=1)
GENERATION = Experiment(
    slug="dherin-generation",
    title="Generation without the context",
    quick=_QUICK,
    full=replace(_QUICK, architectures=(*FIVE, "Gemma, conditioned"), depth=6, prompt=16, steps=48, seeds=4),
)
