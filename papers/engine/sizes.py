"""The sizes at which the training of decoders is timed, and one step of it taken apart."""

from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO

import torch
from torch import Tensor

from icl_lib.companion import Count, Declaration, expectation
from icl_lib.models.gpt2 import GPT2, INPUTS, interleaved_tokens
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.train.loop import Checkpoint, FusedAdam, Parameters, Training, mixed_precision, summed, train
from icl_lib.train.recording import capture
from papers.engine import traffic
from papers.engine.speed import Stopwatch
from papers.engine.theory import operations as theory
from papers.regression.curriculum import Ramp
from papers.regression.decoders import DecoderTraining, one_cycle

ON_CUDA = 50
"""How many times longer a lap is on CUDA, so that waiting for its end does not count."""
RATE = 1e-4


@dataclass(frozen=True)
class Size(Declaration):
    """A decoder and its prompts: covariance I, N examples from the first step on, B prompts a step; ``every`` steps a lap.

    name     what the size is called
    layers   blocks; heads: attention heads of a block; width: channels; d: entries of an input
    N        examples of a prompt; B: prompts a step; every: steps of a lap, on CUDA fifty times as many
    """

    name: str
    layers: Count
    heads: Count
    width: Count
    d: Count
    N: Count
    B: Count
    every: Count

    def __post_init__(self):
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"the width is {self.width}: take a multiple of the {self.heads} heads")

    def training(self, models: int, steps: int) -> DecoderTraining:
        """Return the training of ``models`` models as one batch."""
        return DecoderTraining(
            "",
            self.layers,
            self.heads,
            self.width,
            self.d,
            self.N,
            law="fixed",
            sparsity=self.d,
            room=self.N + 1,
            dims=Ramp(self.d, self.d, 1, 1),
            points=Ramp(self.N + 1, self.N + 1, 1, 1),
            B=self.B,
            rate=RATE,
            steps=steps,
            replicates=models,
        )

    @expectation
    def operations(self, models: int) -> int:
        """Return the operations of the matrix products of one step."""
        return models * theory.step_operations(self.layers, self.width, self.d, self.N, self.B)

    def products(self, models: int) -> list[tuple[int, int, int, int]]:
        """Return the four products of a block with its matrices, (models, tokens, inputs, outputs)."""
        D, tokens = self.width, self.B * (2 * self.N + 1)
        return [(models, tokens, rows * D, columns * D) for rows, columns in ((1, 3), (1, 1), (1, 4), (4, 1))]


TINY = Size("tiny", layers=3, heads=2, width=64, d=5, N=10, B=64, every=5)
SMALL = Size("small", layers=6, heads=4, width=128, d=10, N=20, B=64, every=2)
STANDARD = Size("standard", layers=12, heads=8, width=256, d=20, N=40, B=64, every=1)


def laps(run: Callable[[int, Stopwatch], object], every: int, number: int, device: str) -> list[float]:
    """Return the seconds of a step in ``number`` laps of ``run(steps, stopwatch)``, after one lap as a warm-up."""
    every *= ON_CUDA if device == "cuda" else 1
    watch = Stopwatch(every)
    with redirect_stderr(StringIO()):  # a progress bar would be timed too
        run(every * (number + 1), watch)
    return watch.laps()


def engine_laps(size: Size, models: int, number: int, seed: int, device: str) -> list[float]:
    """Return the seconds of a step of the training loop in a number of laps."""

    def run(steps: int, watch: Stopwatch) -> None:
        train_watched(size.training(models, steps), seed, device, watch)

    return laps(run, size.every, number, device)


def train_watched(training: DecoderTraining, seed: int, device: str, checkpoint: Checkpoint) -> Training:
    """Train as ``DecoderTraining.run`` does, with anything in place of a checkpoint that a training loop takes for one."""
    decoder = training.decoder()
    start = decoder.start(stream(seed, "weights", device), training.replicates, torch.zeros(()))
    return train(
        mixed_precision(prefix_loss(decoder)),
        start,
        lambda step: training.prompts(seed, step, device),
        FusedAdam(training.rate),
        training.steps,
        differentiate=summed,
        schedule=one_cycle,
        checkpoint=checkpoint,
        record=capture if device == "cuda" else None,
    )


def prefix_loss(decoder: GPT2) -> Callable[[Parameters, Prompts], Tensor]:
    """Return the loss that ``DecoderTraining`` minimises: the squared error averaged over all prefixes."""

    def loss(weights: Parameters, prompts: Prompts) -> Tensor:
        y = torch.cat([prompts.y, prompts.y_query[..., None]], -1)
        return (decoder(weights, interleaved_tokens(prompts), INPUTS) - y).square().mean((-2, -1))

    return loss


def count_step(size: Size, models: int, device: str) -> traffic.Counts:
    """Count one step, from the prompts to the new weights."""
    decoder, rule = size.training(models, 1).decoder(), FusedAdam(RATE)
    gradient = summed(mixed_precision(prefix_loss(decoder)))

    def step() -> None:
        shape = (models, size.B)
        parts = ((*shape, size.N, size.d), (*shape, size.N), (*shape, size.d), shape)
        prompts = Prompts(*(torch.empty(part, device=device) for part in parts))
        weights = {name: torch.empty((models, *part), device=device) for name, part in decoder.shapes().items()}
        state = rule.start(weights)
        rule.step(weights, gradient(weights, prompts)[0], state, 0, 1.0)

    return traffic.count(step)
