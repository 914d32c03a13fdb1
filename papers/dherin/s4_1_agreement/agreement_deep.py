"""dherin-agreement-deep: a patch in every block of trained pre-norm networks of four and of ten blocks."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, expectation, variable, variables
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import patched_network
from icl_lib.patches.sites import Matrix, Nowhere
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.dherin.network import Network
from papers.dherin.patch_rules import behind, exact, some
from papers.dherin.theory.agreement import best_step_risk
from papers.dherin.trained import ManyBlocks, Training, of_other_tasks, regression, tokens, trained
from papers.dherin.trainings import FOUR_BLOCKS, TEN_BLOCKS

MATRICES = ("W_gate", "W_up", "W_down")
STREAMS = ("stream", "stream_last", "stream_single")
WAYS = ("patch", "no residual patch", "no patch")
"""Both halves of the patch; gate and up alone; the weights as they are. The query alone enters."""


@dataclass(frozen=True)
class AgreementDeep(Declaration):
    """Shipped networks: patches on ``tasks`` prompts, in-context error on ``held_out`` prompts of the training's length.

    tasks   prompts for which the networks are patched; held_out: prompts of the in-context error
    """

    four: Training
    ten: Training
    tasks: Count
    held_out: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        models = self.four.model, self.ten.model
        if not all(isinstance(model, ManyBlocks) for model in models) or models[0].depth == models[1].depth:
            raise ValueError("the patches are those of two networks of different depth: take two trainings of ManyBlocks")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch and compare; differences are over the root mean square of the predictions with the context."""
        trainings = (self.four, self.ten)
        readings = [self.read(training, seed, device) for training in trainings]
        depth = max(training.model.depth for training in trainings)
        for name in ("size", *STREAMS):
            for reading in readings:
                gap = [(0, 0)] * (reading[name].ndim - 1) + [(0, depth - reading[name].shape[-1])]
                reading[name] = np.pad(reading[name], gap, constant_values=np.nan)
        columns = variables(NAMES, readings, "network {}")
        names = [f"{training.model.depth} blocks" for training in trainings]
        return xr.Dataset(columns, coords={"network": names, "way": list(WAYS), "matrix": list(MATRICES)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the error of one gradient step beside it."""
        step = [best_step_risk(training.N, training.model.d) for training in (self.four, self.ten)]
        return dataset.assign(loss_step=variable("network", step, "error of one gradient step of the best size"))

    def read(self, training: Training, seed: int, device: str) -> dict[str, np.ndarray | float]:
        """Return the readings of one network."""
        network, weights = (found := trained(training, seed, device)).network, found.replicate(0)
        law = regression(training.model.d)
        few = law.sample(stream(seed, "patched prompts"), (self.tasks,), training.N)
        with_context, patched, size = answers(network, weights, tokens(few))
        rounded = {name: w.float() for name, w in weights.items()}
        single = answers(network, rounded, tokens(few).float())
        whole, last = streams(network, weights, tokens(few))
        whole_single, _ = streams(network, rounded, tokens(few).float())
        scale = with_context.square().mean().sqrt()
        return {
            "largest": ((patched - with_context).abs().amax(-1) / scale).numpy(),
            "mean_single": ((single[1] - single[0]).abs().mean(-1) / scale).numpy(),
            "stream": whole.amax(-1).numpy(),
            "stream_last": last.amax(-1).numpy(),
            "stream_single": whole_single.mean(-1).numpy(),
            "size": size.numpy(),
            **errors(network, weights, law.sample(stream(seed, "held-out"), (self.held_out,), training.N)),
        }


def answers(network: Network, weights: Weights, sequence: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return predictions with the context (task) and by ``WAYS`` (way, task), and median |DeltaW|/|W| (matrix, block)."""
    inside = network.embed(weights, sequence)
    states, out = network.states(weights, inside)
    targets, query = [state.at(-1) for state in states], inside[..., -1:, :]
    blocks, left = patched_network(network, Matrix("W_down"), weights, targets, query)
    _, half = patched_network(network, Nowhere(), weights, targets, query)
    ways = [network.read(weights, end)[..., -1] for end in (left, half, network.states(weights, query)[1])]
    size = [
        [_size(changed[name], block[name]) for changed, block in zip(blocks, network.blocks(weights), strict=True)]
        for name in MATRICES
    ]
    return network.read(weights, out)[..., -1], torch.stack(ways), torch.tensor(size)


def streams(network: Network, weights: Weights, sequence: Tensor) -> list[Tensor]:
    """Return how far the query's token is off behind every block (block, task): all blocks patched, and the last alone."""
    inside, site = network.embed(weights, sequence), Matrix("W_down")
    full, query = [state.at(-1) for state in network.states(weights, inside)[0]], inside[..., -1:, :]
    patched = [rule(network, weights, full, query)[0] for rule in (exact(site), some(site, {network.depth - 1}))]
    return [behind(network, blocks, weights, full, query) for blocks in patched]


def errors(network: Network, weights: Weights, prompts: Prompts) -> dict[str, float]:
    """Return the mean squared error with the context, its standard error, and the errors with less to go by."""
    square = (network(weights, tokens(prompts))[..., -1] - prompts.y_query).square()
    astray = network(weights, tokens(of_other_tasks(prompts)))[..., -1]
    alone = network(weights, tokens(prompts)[..., -1:, :])[..., -1]
    return {
        "loss": square.mean().item(),
        "loss_se": square.std().item() / len(square) ** 0.5,
        "loss_astray": (astray - prompts.y_query).square().mean().item(),
        "loss_alone": (alone - prompts.y_query).square().mean().item(),
    }


def _size(changed: Tensor, W: Tensor) -> float:
    return ((changed - W).flatten(-2).norm(dim=-1) / W.norm()).median().item()


NAMES = {
    "largest": ("way", "max |prediction - prediction with the context| over the size of the latter, float64"),
    "mean_single": ("way", "mean |prediction - prediction with the context| over the size of the latter, float32"),
    "stream": ("block", "|patched - full| / |full| of the query's token behind the block, worst task, float64"),
    "stream_last": ("block", "the same with the last block alone patched"),
    "stream_single": ("block", "mean over tasks of |patched - full| / |full| behind the block, float32"),
    "size": ("matrix block", "median over tasks of |patch|/|matrix|, Frobenius norms"),
    "loss": ("", "mean squared error on held-out prompts with the context"),
    "loss_se": ("", "its standard error"),
    "loss_astray": ("", "the same with the context's labels exchanged for those of another task"),
    "loss_alone": ("", "the same without the context"),
}
"""Readings of one network: dimensions beside network, and what they are."""

_QUICK = AgreementDeep(four=FOUR_BLOCKS, ten=TEN_BLOCKS, tasks=50, held_out=200)
AGREEMENT_DEEP = Experiment(
    slug="dherin-agreement-deep",
    title="Context or patch in deep networks",
    section="4.2",
    quick=_QUICK,
    full=replace(_QUICK, tasks=100, held_out=4000),
)
