"""GPT-2 decoders trained to do regression in context: declarations, the training, and the shipped weights."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Checkpoint, Count, Declaration, Positive, Whole, expectation, obtain_weights
from icl_lib.models.gpt2 import GPT2, INPUTS, InContextGPT2, Weights, interleaved_tokens
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.train.loop import Checkpoint as AnyCheckpoint
from icl_lib.train.loop import Training, summed, train
from icl_lib.train.optimizers import FusedAdam, Parameters
from icl_lib.train.recording import capture
from papers.regression.curriculum import ExponentialRegression, IsotropicRegression, Ramp, SparseRegression
from papers.regression.theory.least_squares import least_squares_error

WARM_UP = 0.05
"""Share of the steps in which the learning rate rises."""
CHECKPOINT_EVERY = 500


@dataclass(frozen=True)
class DecoderTraining(Declaration):
    """One training run on fresh prompts, squared error averaged over all prefixes (0 .. N examples), as Garg et al. 2022.

    name           of the shipped file; empty when weights are never shipped
    layers         blocks; heads: attention heads of a block; width: channels; d: entries of an input
    N              examples of a prompt at the end of the curriculum
    law            of the prompts: covariance I; a "random" diagonal one, entries Exp(1) drawn for every prompt; I and a
                   "sparse" w
    sparsity       entries of a "sparse" w that are not 0; for the other distributions d
    room           examples, the query included, for which the table of positions has rows; 0: no table (frozen at 0)
    dims, points   curriculum over the entries of x and over the inputs of a prompt, the query included; end at d and N + 1
    B              prompts a step; rate: the highest learning rate; steps: of Adam; replicates: models trained as one batch
    """

    name: str
    layers: Count
    heads: Count
    width: Count
    d: Count
    N: Count
    law: Literal["fixed", "random", "sparse"]
    sparsity: Count
    room: Whole
    dims: Ramp
    points: Ramp
    B: Count
    rate: Positive
    steps: Count
    replicates: Count

    def __post_init__(self):
        super().__post_init__()
        self.decoder()  # refuses heads that do not divide the width
        if (self.dims.end, self.points.end) != (self.d, self.N + 1):
            raise ValueError(f"the curriculum must end at d = {self.d} entries and N + 1 = {self.N + 1} inputs")
        if 0 < self.room <= self.N:
            raise ValueError(f"positions for {self.room} inputs, but prompts have N + 1 = {self.N + 1}: take more, or none (0)")

    def decoder(self) -> GPT2:
        """Return the architecture."""
        return GPT2(self.layers, self.heads, self.width, entries=self.d, positions=2 * self.room)

    def prompts(self, seed: int, step: int, device: str) -> Prompts:
        """Return the batch of one step, (replicates, B) prompts, drawn on the device."""
        dims, generator = self.dims.at(step), stream(seed, f"data/{step}", device)
        if self.law == "sparse":
            law = SparseRegression(self.d, dims, min(self.sparsity, dims))
        else:
            law = {"fixed": IsotropicRegression, "random": ExponentialRegression}[self.law](self.d, dims)
        return law.sample(generator, (self.replicates, self.B), self.points.at(step) - 1)

    @expectation
    def references(self) -> dict[str, float]:
        """Return losses of other predictors at the end of the curriculum: of 0, and for the law "fixed" of least squares."""
        zero = {"predicting 0": float(self.sparsity if self.law == "sparse" else self.d)}
        if self.law != "fixed":
            return zero
        errors = [least_squares_error(self.d, k, 0.0) for k in range(self.N + 1)]
        return zero | {"least squares": self.d * sum(errors) / len(errors)}

    def run(self, seed: int, device: str, checkpoint: AnyCheckpoint | None = None) -> Training:
        """Train; the same (declaration, seed, device) gives the same weights, also when resumed from a checkpoint."""
        decoder, like = self.decoder(), torch.zeros(())
        start = decoder.start(stream(seed, "weights", device), self.replicates, like)
        return train(
            prefix_loss(decoder),
            start,
            lambda step: self.prompts(seed, step, device),
            FusedAdam(self.rate),
            self.steps,
            differentiate=summed,
            schedule=one_cycle,
            checkpoint=checkpoint,
            title=self.name or "decoders",
            references=self.references(),
            record=capture if device == "cuda" else None,
        )

    def train(self, seed: int, device: str) -> Weights:
        """Train with a checkpoint on disk, so that a killed run goes on where it was, and return the weights on the CPU."""
        checkpoint = Checkpoint.of(self, seed, device, CHECKPOINT_EVERY)
        weights = self.run(seed, device, checkpoint).parameters
        checkpoint.remove()
        return {name: weight.cpu() for name, weight in weights.items()}


def prefix_loss(decoder: GPT2) -> Callable[[Parameters, Prompts], Float[Tensor, "S"]]:
    """Return the loss (weights, prompts) -> squared error of each model, averaged over the prompts and all prefixes."""

    def loss(weights: Parameters, prompts: Prompts) -> Tensor:
        y = torch.cat([prompts.y, prompts.y_query[..., None]], -1)
        return (decoder(weights, interleaved_tokens(prompts), INPUTS) - y).square().mean((-2, -1))

    return loss


def one_cycle(progress: float) -> float:
    """Raise the learning rate linearly over the first WARM_UP of the steps, then lower it to 0 along half a cosine."""
    if progress < WARM_UP:
        return (progress + 1e-3) / (WARM_UP + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP)))


def trained(training: DecoderTraining, seed: int, device: str) -> InContextGPT2:
    """Return the trained models: the shipped weights where they answer for this training and seed, else trained now."""
    weights = obtain_weights(training.name, training, seed, device, lambda: training.train(seed, device))
    return InContextGPT2(training.decoder(), weights)


def repeated(training: DecoderTraining, runs: int, seed: int, device: str) -> list[InContextGPT2]:
    """Return the models of ``runs`` trainings that differ in their seed alone, shipped where they answer for it."""
    weights = [obtain_weights(training.name, training, seed, device, run=run) for run in range(runs)]
    return [InContextGPT2(training.decoder(), each) for each in weights]
