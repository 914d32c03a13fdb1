"""Training causal decoders on pattern prompts, the shipped weights, and running the models on fresh prompts."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import (
    AtLeastThree,
    AtLeastTwo,
    Checkpoint,
    Count,
    Declaration,
    NotNegative,
    Positive,
    PositiveShare,
    Whole,
    obtain_weights,
    seed_of,
)
from icl_lib.models.gpt2 import GPT2, LAST, MATRICES, Weights, pattern_tokens
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from icl_lib.train.loop import summed, train
from icl_lib.train.optimizers import FusedAdam
from papers.li.classification import hinge, same_pattern
from papers.li.patterns import Codes, PatternClassification, Patterns, orthogonal_patterns, write
from papers.li.task_sets import task_set

LOSSES = 10
"""Steps over which a loss is averaged."""
CHECKPOINT_EVERY = 200
CHUNK_TOKENS = 20_000
"""Tokens that run through the models at a time: 15 MB of activations in an MLP of width 4 * 48."""


@dataclass(frozen=True)
class DecoderSetting(Declaration):
    """Adam on the hinge loss of fresh prompts; half of the steps at length l, the others at a length uniform in 2..l.

    M1          task-relevant patterns; M2: irrelevant patterns; d_Y: entries of the label embedding, a unit vector
    beta        norm of a pattern; K: bound on kappa
    layers      blocks of the decoder; heads: attention heads of a block; width: channels
    rate        Adam's learning rate; B: prompts a step; steps: of Adam
    l           most examples of a training prompt; alpha: share of examples with a pattern of the task
    positions   rows of its table of learned positions, 0 for none; prompts have up to l + 1 tokens
    """

    M1: AtLeastThree
    M2: Count
    d_Y: Count
    beta: Positive
    K: NotNegative
    layers: Count
    heads: Count
    width: Count
    rate: Positive
    B: Count
    steps: Annotated[int, Ge(LOSSES)]
    l: AtLeastTwo
    alpha: PositiveShare
    positions: Whole = 0

    def __post_init__(self):
        super().__post_init__()
        self.decoder()  # raises unless heads divide the width
        if 0 < self.positions <= self.l:
            raise ValueError(f"{self.positions} positions for prompts of l + 1 = {self.l + 1} tokens: take more, or none (0)")

    def decoder(self) -> GPT2:
        """Return the architecture."""
        return GPT2(self.layers, self.heads, self.width, self.M1 + self.M2 + self.d_Y, self.positions)

    def patterns(self) -> Patterns:
        """Return IDR and IDI patterns, the axes of R^(M1 + M2) times beta."""
        return orthogonal_patterns(self.M1, self.M2, self.M1 + self.M2, self.beta)

    def label(self) -> Float[Tensor, "d_Y"]:
        """Return the label embedding q, the first axis of R^d_Y."""
        return torch.eye(self.d_Y, dtype=torch.float64)[0]

    def law(self, tasks: Tensor, alpha: float, patterns: Patterns | None = None) -> PatternClassification:
        """Return the distribution of some tasks with share ``alpha``, on the training patterns unless others are given."""
        return PatternClassification(patterns or self.patterns(), tasks, alpha, self.K)


@dataclass(frozen=True)
class DecoderTraining(Declaration):
    """``replicates`` decoders of one setting, trained as one batch in float32 on the training tasks ``tasks``.

    name    of the shipped file; empty when weights are never shipped
    tasks   name of the set of training tasks; replicates: decoders trained as one batch
    """

    name: str
    setting: DecoderSetting
    tasks: str
    replicates: Count

    def __post_init__(self):
        super().__post_init__()
        task_set(self.tasks, self.setting.M1)  # raises for a set that is unknown

    def start(self, seed: int, device: str) -> Weights:
        """Return the weights before the first step."""
        q = self.setting.label().to(device, torch.float32)
        return start_by_fan_in(self.setting.decoder(), stream(seed, "decoder/weights", device), self.replicates, q)

    def train(self, seed: int, device: str) -> Weights:
        """Return the weights after the last step on the CPU, and every step's ``losses`` (S, steps) beside them."""
        setting, decoder = self.setting, self.setting.decoder()
        q = setting.label().to(device, torch.float32)
        own = Patterns(*(rows.to(device, torch.float32) for rows in setting.patterns()))
        law = setting.law(task_set(self.tasks, setting.M1), setting.alpha, own)

        def draw(step: int) -> tuple[Tensor, Tensor]:
            generator = stream(seed, f"decoder/data/{step}", device)
            codes = law.codes(generator, (self.replicates, setting.B), training_length(setting.l, seed, step))
            return pattern_tokens(write(codes, own), q), codes.y[..., -1]

        def loss(weights: Weights, batch: tuple[Tensor, Tensor]) -> Tensor:
            tokens, z = batch
            return hinge(z * decoder(weights, tokens, LAST)[..., 0]).mean(-1)

        checkpoint = Checkpoint.of(self, seed, device, CHECKPOINT_EVERY)
        run = train(
            loss,
            self.start(seed, device),
            draw,
            FusedAdam(setting.rate),
            setting.steps,
            differentiate=summed,
            checkpoint=checkpoint,
            title=self.name or "decoders",
        )
        checkpoint.remove()
        return {name: weight.detach().cpu() for name, weight in (run.parameters | {"losses": run.losses.T}).items()}


class Decoders(NamedTuple):
    """S models of one setting; float32 on the CPU."""

    setting: DecoderSetting
    weights: Weights


def trained(training: DecoderTraining, seed: int, device: str) -> tuple[Decoders, Float[Tensor, "S steps"]]:
    """Return the models, shipped or trained now, and the losses of their steps."""
    weights = obtain_weights(training.name, training, seed, device, lambda: training.train(seed, device))
    losses = weights.pop("losses")
    return Decoders(training.setting, weights), losses


def untrained(training: DecoderTraining, seed: int, device: str) -> Decoders:
    """Return the models of ``trained`` before their first step; shipped ones have a seed of their own."""
    drawn = training.start(seed_of(training, seed), device)
    return Decoders(training.setting, {name: weight.cpu() for name, weight in drawn.items()})


def start_by_fan_in(decoder: GPT2, generator: torch.Generator, models: int, like: Tensor) -> Weights:
    """Draw weights from N(0, 1/fan_in), biases 0 and gains 1; from GPT-2's own start the task is not learned in these steps."""
    weights = decoder.start(generator, models, like)
    for name in (*MATRICES, "read_in", "read_out"):
        fan_in = decoder.shapes()[name][-2 if weights[name].ndim > 2 else -1]
        weights[name] = normal(generator, weights[name].shape, like) / fan_in**0.5
    return {name: torch.zeros_like(w) if "bias" in name else w for name, w in weights.items()}


def training_length(l: int, seed: int, step: int) -> int:
    """Return the length of a step's prompts: l with probability 1/2, else uniform in 2..l."""
    generator = stream(seed, f"decoder/length/{step}")
    full = torch.rand((), generator=generator) < 0.5
    return l if full else int(torch.randint(2, l + 1, (), generator=generator))


class Readings(NamedTuple):
    """On fresh prompts, for S models: margins z F, and how the query's row attends in every layer and head.

    mass      attention to the contexts with the query's pattern, of that to all contexts; NaN where the pattern is absent
    itself    attention of the query to itself
    """

    margin: Float[Tensor, "S B"]
    mass: Float[Tensor, "S B layers heads"]
    itself: Float[Tensor, "S B layers heads"]


def draw_codes(law: PatternClassification, replicates: int, prompts: int, length: int, seed: int, name: str) -> Codes:
    """Draw ``prompts`` prompts for each of S models, or, over patterns (S, D, ...), for each model and draw."""
    lead = law.patterns.relevant.shape[:-2] or (replicates,)
    return law.codes(stream(seed, name), (*lead, prompts), length)


def run_decoders(models: Decoders, codes: Codes, patterns: Patterns) -> Readings:
    """Run S models on prompts of their own; prompts of all draws of patterns stand in one row."""
    size = max(1, CHUNK_TOKENS // codes.pattern[..., 0, :].numel())
    parts = [
        _run(models, Codes(*(part[..., begin : begin + size, :] for part in codes)), patterns)
        for begin in range(0, codes.pattern.shape[-2], size)
    ]
    return Readings(*(torch.cat(part, 1) for part in zip(*parts, strict=True)))


def _run(models: Decoders, codes: Codes, patterns: Patterns) -> Readings:
    tokens = pattern_tokens(write(codes, patterns), models.setting.label()).float().flatten(1, -3)
    logit, attention = models.setting.decoder().attention(models.weights, tokens)
    same = same_pattern(codes).flatten(1, -2)[:, :, None, None]
    contexts = attention[..., :-1]
    mass = (contexts * same).sum(-1) / contexts.sum(-1)
    margin = codes.y[..., -1].flatten(1) * logit
    return Readings(margin.double(), mass.masked_fill(~same.any(-1), torch.nan).double(), attention[..., -1].double())
