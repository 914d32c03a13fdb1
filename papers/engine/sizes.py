"""The sizes at which the training of decoders is timed, and one step of it taken apart."""

from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO

import torch

from icl_lib.companion import Count, Declaration, expectation
from icl_lib.tasks.prompts import Prompts
from icl_lib.train.loop import summed
from icl_lib.train.optimizers import FusedAdam
from papers.engine import traffic
from papers.engine.speed import Stopwatch
from papers.engine.theory import operations as theory
from papers.regression.curriculum import Ramp
from papers.regression.decoders import DecoderTraining, prefix_loss

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
        self.training(models=1, steps=1)  # refuses heads that do not divide the width

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
        size.training(models, steps).run(seed, device, watch)

    return laps(run, size.every, number, device)


def count_step(size: Size, models: int, device: str) -> traffic.Counts:
    """Count one step, from the prompts to the new weights."""
    decoder, rule = size.training(models, 1).decoder(), FusedAdam(RATE)
    gradient = summed(prefix_loss(decoder))

    def step() -> None:
        shape = (models, size.B)
        parts = ((*shape, size.N, size.d), (*shape, size.N), (*shape, size.d), shape)
        prompts = Prompts(*(torch.empty(part, device=device) for part in parts))
        weights = {name: torch.empty((models, *part), device=device) for name, part in decoder.shapes().items()}
        state = rule.start(weights)
        rule.step(weights, gradient(weights, prompts)[0], state, 0, 1.0)

    return traffic.count(step)
