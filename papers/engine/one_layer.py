"""One-layer linear-attention models trained as one batch, at the size of the first part of the book."""

import torch
from torch import Tensor

from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from icl_lib.train.loop import Checkpoint, Training, train
from icl_lib.train.optimizers import SGD, Parameters
from icl_lib.train.recording import capture
from papers.engine.sizes import laps
from papers.engine.speed import Stopwatch

D, N, B, EVERY = 5, 20, 64, 20
"""Entries of x, examples and prompts of a step; steps of a lap."""


def loss(parameters: Parameters, prompts: Prompts) -> Tensor:
    """Return the squared error at the query of one model."""
    return ((LinearSelfAttention(**parameters)(prompts) - prompts.y_query) ** 2).mean()


def one_layer_training(models: int, steps: int, seed: int, device: str, checkpoint: Checkpoint | None = None) -> Training:
    """Train ``models`` models as one batch, each on prompts of its own."""
    law = LinearRegression(torch.eye(D, device=device))
    start = {name: torch.full((models, D + 1, D + 1), 0.1, device=device) for name in ("W_PV", "W_KQ")}

    def draw(step: int) -> Prompts:
        return law.sample(stream(seed, f"data/{step}", device), (models, B), N)

    record = capture if device == "cuda" else None
    return train(loss, start, draw, SGD(0.01), steps, checkpoint=checkpoint, record=record)


def one_layer_laps(models: int, number: int, seed: int, device: str) -> list[float]:
    """Return the seconds of a step that trains ``models`` one-layer models, in a number of laps."""

    def run(steps: int, watch: Stopwatch) -> None:
        one_layer_training(models, steps, seed, device, watch)

    return laps(run, EVERY, number, device)
