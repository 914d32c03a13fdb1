"""dherin-agreement: the loss with the context and the loss with the patch in its place, while one block is trained."""

from dataclasses import dataclass, replace

import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, variables
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import patched_block
from icl_lib.patches.sites import Nowhere
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.dherin.network import Network
from papers.dherin.trained import OneBlock, Training, of_other_tasks, regression, tokens, train_marks
from papers.dherin.trainings import ONE_BLOCK

WAYS = ("context", "patch", "no patch", "another task's patch", "the last mark's patch")
"""How a query is answered: with the context; without it and with a patched W, which is right, absent, or a stale one."""


@dataclass(frozen=True)
class Agreement(Declaration):
    """Networks trained by ``training``, looked at every ``every`` steps on ``tasks`` held-out prompts each.

    every   steps of training from one look to the next; tasks: held-out prompts of a network, the same at every look
    Patches are for Y = C: the query alone enters the patched block.
    """

    training: Training
    every: Count
    tasks: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.every > self.training.steps:
            raise ValueError(f"marks every {self.every} steps do not fit into {self.training.steps} steps: make every smaller")
        if not isinstance(self.training.model, OneBlock):
            raise ValueError("the training has many blocks and one is patched here: take a training of OneBlock")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train and compare; differences are over the root mean square of the predictions with the context."""
        law = regression(self.training.model.d)
        prompts = law.sample(stream(seed, "held-out"), (self.training.replicates, self.tasks), self.training.N)
        found = train_marks(self.training, seed, device, tuple(range(0, self.training.steps + 1, self.every)))
        readings, before = [], [None] * self.training.replicates
        for networks in found.values():
            row = []
            for s in range(self.training.replicates):
                own = Prompts(*(part[s] for part in prompts))
                reading, before[s] = compare(networks.network, networks.replicate(s), own, before[s])
                row.append(reading)
            readings.append(row)
        return self.dataset(list(found), readings)

    def dataset(self, marks: list[int], readings: list[list[dict]]) -> xr.Dataset:
        """Return the readings, by mark and network, as one dataset."""
        return xr.Dataset(variables(NAMES, readings, "step seed {}"), coords={"step": marks, "way": list(WAYS)})


def compare(network: Network, weights: Weights, prompts: Prompts, before: Tensor | None) -> tuple[dict, Tensor]:
    """Return all readings of one network, and the updates of W, which the next mark may try out."""
    exact, update = answers(network, weights, prompts, before)
    small = {name: w.float() for name, w in weights.items()}
    coarse, _ = answers(network, small, Prompts(*(part.float() for part in prompts)), None)
    y, size = prompts.y_query, exact[0].square().mean().sqrt()
    astray = answers(network, weights, of_other_tasks(prompts), None)[0][0]
    loss = (exact - y).square().mean(-1)
    coarse_loss = (coarse - y.float()).square().mean(-1)
    return {
        "loss": loss.numpy(),
        "loss_astray": (astray - y).square().mean().item(),
        "loss_zero": y.square().mean().item(),
        "difference": ((exact - exact[0]).abs().amax(-1) / size).numpy(),
        "difference_single": ((coarse - coarse[0]).abs().amax(-1) / size).numpy(),
        "gap": ((loss - loss[0]).abs() / y.square().mean()).numpy(),
        "gap_single": ((coarse_loss - coarse_loss[0]).abs() / y.square().mean()).numpy(),
    }, update


def answers(network: Network, weights: Weights, prompts: Prompts, before: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the predictions by ``WAYS`` (way, task), NaN without ``before``, and the updates DeltaW (task, m, k)."""
    block, sequence = network.blocks(weights)[0], tokens(prompts)
    layer = network.block.joint.layer
    full, bare = (_state(layer(block, part)) for part in (sequence, sequence[..., -1:, :]))
    patched = patched_block(network.block, Nowhere(), block, bare, full)
    update = patched["W"] - block["W"]
    nothing = torch.full_like(full.z[..., 0, 0], torch.nan)

    def read(changed: Weights, state: State) -> Tensor:
        return network.read(weights, network.block.feed_forward(changed, state.z))[..., 0]

    def stale(change: Tensor) -> Tensor:
        return read({**block, "W": block["W"] + change}, bare)

    return torch.stack(
        [
            read(block, full),
            read(patched, bare),
            read(block, bare),
            stale(update.roll(1, 0)),
            nothing if before is None else stale(before),
        ]
    ), update


def _state(a: Tensor) -> State:
    return State(a[..., None, :], torch.zeros_like(a[..., None, :]))


NAMES = {
    "loss": ("way", "mean squared error on held-out prompts, float64"),
    "loss_astray": ("", "the same with the context's labels exchanged for those of another task"),
    "loss_zero": ("", "the same for the prediction 0"),
    "difference": ("way", "max |prediction - prediction with the context| over the size of the latter, float64"),
    "difference_single": ("way", "the same, float32"),
    "gap": ("way", "|loss - loss with the context| over the loss of the prediction 0, float64"),
    "gap_single": ("way", "the same, float32"),
}
"""Readings of one network at one mark: dimensions beside step and seed, and what they are."""

AGREEMENT = Experiment(
    slug="dherin-agreement",
    title="Context or patch, during training",
    section="4.2",
    quick=Agreement(training=replace(ONE_BLOCK, name="", B=32, steps=100), every=50, tasks=64),
    full=Agreement(training=replace(ONE_BLOCK, name=""), every=100, tasks=1024),
)
