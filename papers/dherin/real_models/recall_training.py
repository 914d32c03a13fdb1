"""Small models of two classes, trained to look up pairs in the context, whose weights are shipped in ``book/data/weights``.

A context is a set of pairs, one token each; a query is a filler, then a key. The answer is the value that the context pairs
with the key, so that each query asks for a fact of its own, and no vector answers all.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.func import functional_call

from icl_lib.companion import Count, Declaration, Positive, obtain_weights
from icl_lib.models.contextual.weights import Weights
from icl_lib.seeds import stream
from icl_lib.train.loop import summed, train
from icl_lib.train.optimizers import Adam, Parameters
from papers.dherin.transformers_models import ModelSizes, Name, blank, made


@dataclass(frozen=True)
class Facts(Declaration):
    """Pairs of a key and a value, each key once; a query is a filler and a key.

    keys, values   that there are
    pairs          of a context
    fillers        tokens with which queries begin
    """

    keys: Count
    values: Count
    pairs: Count
    fillers: Count

    def __post_init__(self):
        super().__post_init__()
        if self.pairs > self.keys:
            raise ValueError(f"{self.pairs} pairs of {self.keys} keys: a context has each key once")

    @property
    def vocabulary(self) -> int:
        """Tokens: one for each pair, key, filler and value."""
        return self.keys * self.values + self.keys + self.fillers + self.values

    def draw(self, generator: torch.Generator, contexts: int) -> "Contexts":
        """Draw keys without repetition and values with."""
        order = torch.rand(contexts, self.keys, generator=generator).argsort(-1)
        keys = order[:, : self.pairs]
        return Contexts(keys, torch.randint(self.values, keys.shape, generator=generator))

    def tokens(self, contexts: "Contexts") -> Int[Tensor, "... P"]:
        """Return the tokens of the pairs."""
        return contexts.keys * self.values + contexts.values

    def key(self, keys: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
        """Return the tokens of keys that are asked for."""
        return self.keys * self.values + keys

    def filler(self, fillers: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
        """Return the tokens of fillers."""
        return self.keys * self.values + self.keys + fillers

    @property
    def answers(self) -> slice:
        """The tokens of the values, the last of the vocabulary."""
        return slice(-self.values, None)


class Contexts(NamedTuple):
    """Keys and values of the pairs, context by context."""

    keys: Int[Tensor, "... P"]
    values: Int[Tensor, "... P"]


class Batch(NamedTuple):
    """Tokens of contexts with some queries behind each, and the values that are asked for at the keys."""

    tokens: Int[Tensor, "S B T"]
    values: Int[Tensor, "S B Q"]


@dataclass(frozen=True)
class RecallTraining(Declaration):
    """Adam with a cosine schedule on fresh contexts, cross-entropy of the values that are asked for.

    name            of the shipped files; empty when weights are never shipped
    model           class of the package
    width, hidden   of the stream, and of the feed-forward part
    depth, heads    blocks, and heads of attention
    asked           queries behind a context
    B               contexts a step
    rate, steps     of Adam
    """

    name: str
    model: Name
    facts: Facts
    width: Count
    hidden: Count
    depth: Count
    heads: Count
    asked: Count
    B: Count
    rate: Positive
    steps: Count

    @property
    def sizes(self) -> ModelSizes:
        """The sizes of the model."""
        return ModelSizes(self.width, self.hidden, self.depth, self.heads, self.facts.vocabulary)

    def train(self, seed: int, device: str) -> Weights:
        """Return the weights after the last step, on the CPU."""
        model = made(self.model, self.sizes, stream(seed, "weights"))
        parameters = {name: (scale(name) * weight.detach())[None].to(device) for name, weight in model.named_parameters()}
        model = model.to(device)

        def loss(weights: Parameters, batch: Batch) -> Tensor:
            own = {name: weight[0] for name, weight in weights.items()}
            asked = {"input_ids": batch.tokens[0], "attention_mask": torch.ones_like(batch.tokens[0]), "use_cache": False}
            logits = functional_call(model, own, (), asked).logits[:, self.facts.pairs + 1 :: 2, self.facts.answers]
            return nn.functional.cross_entropy(logits.flatten(0, 1), batch.values[0].flatten())[None]

        def draw(step: int) -> Batch:
            return self.batch(stream(seed, f"data/{step}"), device)

        found = train(loss, parameters, draw, Adam(self.rate), self.steps, schedule=cosine, differentiate=summed)
        return {name: weight[0].cpu() for name, weight in found.parameters.items()}

    def batch(self, generator: torch.Generator, device: str) -> Batch:
        """Draw contexts, and queries for keys in them."""
        contexts = self.facts.draw(generator, self.B)
        shape = self.B, self.asked
        places = torch.randint(self.facts.pairs, shape, generator=generator)
        fillers = self.facts.filler(torch.randint(self.facts.fillers, shape, generator=generator))
        keys = self.facts.key(contexts.keys.gather(1, places))
        queries = torch.stack([fillers, keys], -1).flatten(1)
        tokens = torch.cat([self.facts.tokens(contexts), queries], -1)
        return Batch(tokens[None].to(device), contexts.values.gather(1, places)[None].to(device))

    def trained(self, seed: int, run: int) -> nn.Module:
        """Return the trained model of one run, in float32 on the CPU."""
        weights = obtain_weights(self.name or "recall", self, seed, "cpu", lambda: self.train(seed + run, "cpu"), run=run)
        model = blank(self.model, self.sizes, {})
        model.load_state_dict(weights, strict=False)  # a head that is tied to the embedding stands there once
        return model


def scale(name: str) -> float:
    """Return what a parameter is multiplied with before the first step: embeddings of N(0, 1) would drown what is trained."""
    return 0.1 if "wpe" in name else 0.3 if "wte" in name or "embed" in name else 1.0


def cosine(progress: float) -> float:
    """Lower the learning rate to 0 along half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * progress))


FACTS = Facts(keys=16, values=16, pairs=8, fillers=8)
LLAMA = RecallTraining("recall-llama", "Llama", FACTS, 48, 96, 2, 4, asked=4, B=64, rate=3e-3, steps=600)
GPT = replace(LLAMA, name="recall-gpt2", model="GPT-2")
TRAININGS = (LLAMA, GPT)
