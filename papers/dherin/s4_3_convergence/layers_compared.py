"""dherin-layers-compared: marginal updates and in-context error along the prompt for attention, tanh RNN and GRU."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastThree, AtLeastTwo, Count, Declaration, Experiment, expectation, variable, variables
from icl_lib.measure.slope import log_log_slope
from icl_lib.models.contextual.layers import SoftmaxAttention
from icl_lib.models.contextual.weights import Weights, linear
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.dherin.along import states_along
from papers.dherin.network import Network
from papers.dherin.recurrent_layers import GRU
from papers.dherin.s4_3_convergence.along import marginal_norms
from papers.dherin.theory import agreement
from papers.dherin.trained import Training, predictions, prefix_predictions, regression, tokens, trained, untrained
from papers.dherin.trainings import PREFIX_ATTENTION, PREFIX_GRU, PREFIX_RNN

STATES = ("trained", "untrained")
LAYERS = ["softmax attention", "tanh RNN", "GRU"]


@dataclass(frozen=True)
class LayersCompared(Declaration):
    """Shipped blocks that were trained on every prefix, and the same blocks before their training.

    trials            contexts with one query each, for the updates
    tasks, held_out   prompts for the error after 0 .. N examples, and for that after N alone
    N                 examples of a prompt
    first             log-log slopes are fitted from this n on
    """

    attention: Training
    rnn: Training
    gru: Training
    trials: AtLeastTwo
    tasks: Count
    held_out: AtLeastTwo
    N: AtLeastThree
    first: Count

    def __post_init__(self):
        super().__post_init__()
        models = [each.model for each in self.trainings]
        if [getattr(model, "layer", "") for model in models] != LAYERS:
            raise ValueError(f"the trainings are to be of one block each with {', '.join(LAYERS)}, in this order")
        if len({each.replicates for each in self.trainings}) > 1 or len({model.d for model in models}) > 1:
            raise ValueError("the layers must have as many replicates and the same d as each other")
        if self.first > self.N - 2:
            raise ValueError(f"a slope needs three points: take first of at most N - 2 = {self.N - 2}")

    @property
    def trainings(self) -> tuple[Training, ...]:
        """The three trainings."""
        return self.attention, self.rnn, self.gru

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every layer, trained and not."""
        readings = [[self.readings(training, state, seed, device) for state in STATES] for training in self.trainings]
        columns = variables(NAMES, readings, "layer state seed {}")
        N = np.arange(self.N + 1)
        return xr.Dataset(columns, coords={"layer": LAYERS, "state": list(STATES), "n": N[1:], "N": N})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the error of one gradient step beside it."""
        risk = [agreement.best_step_risk(N, self.attention.model.d) for N in range(self.N + 1)]
        return dataset.assign(loss_step=variable("N", risk, "error of one step of the best size"))

    def readings(self, training: Training, state: str, seed: int, device: str) -> list[dict]:
        """Return the readings of every replicate of one layer."""
        found = trained(training, seed, device) if state == "trained" else untrained(training, seed)
        return [self.read(found.network, found.replicate(s), training.model.d, s, seed) for s in range(found.replicates)]

    def read(self, network: Network, weights: Weights, d: int, s: int, seed: int) -> dict[str, np.ndarray | float]:
        """Return the readings of one block; all layers meet the same prompts."""
        law, block = regression(d), network.blocks(weights)[0]
        sequence = tokens(law.sample(stream(seed, f"trials/{s}"), (self.trials,), self.N))
        a = states_along(network.block.joint.layer, block, sequence)
        marginal, total = marginal_norms(block["W"], a)
        output = network.read(weights, network.block.feed_forward(block, a))
        mean, share = marginal.mean(0).numpy(), update_share(network, block, sequence)
        prompts = law.sample(stream(seed, f"held-out/{s}"), (self.tasks,), self.N)
        y = torch.cat([prompts.y, prompts.y_query[..., None]], -1)
        end = law.sample(stream(seed, f"end/{s}"), (self.held_out,), self.N)
        square = (predictions(network, weights, end) - end.y_query).square()
        late, n = slice(self.first - 1, None), np.arange(self.first, self.N + 1.0)
        return {
            "marginal": mean.astype("f4"),
            "marginal_se": (marginal.std(0) / self.trials**0.5).float().numpy(),
            "slope": log_log_slope(n, mean[late]),
            "share": share.astype("f4"),
            "share_slope": log_log_slope(n, share[late]),
            "last": (marginal[:, -1].square().mean() / total.square().mean()).sqrt().item(),
            "moved": (marginal[:, self.N // 2 :].square().mean() / total.square().mean()).sqrt().item(),
            "moved_hidden": _moved(torch.einsum("mk,bik->bim", block["W"], a)),
            "moved_output": _moved(output[..., None]),
            "loss": (predicted(network, weights, prompts) - y).square().mean(0).float().numpy(),
            "loss_end": square.mean().item(),
            "loss_end_se": square.std().item() / self.held_out**0.5,
            "loss_zero": end.y_query.square().mean().item(),
        }


def predicted(network: Network, weights: Weights, prompts: Prompts) -> Tensor:
    """Return the prediction after 0 .. N examples (task, N + 1), for a portion of the prompts at a time."""
    size = max(1, 2_500_000 // prompts.y.shape[-1] ** 2)
    parts = zip(*(part.split(size) for part in prompts), strict=True)
    return torch.cat([prefix_predictions(network, weights, Prompts(*part)) for part in parts])


def update_share(network: Network, block: Weights, sequence: Tensor) -> np.ndarray:
    """Return the mean share of token n in what a layer keeps of c_1 .. c_n, n = 1 .. N; NaN for a tanh RNN, which has none.

    Attention: the softmax weight of token n. GRU: 1 - u, the part of the state that token n replaces.
    """
    layer, context = network.block.joint.layer, sequence[:, :-1]
    if isinstance(layer, SoftmaxAttention):
        W_Q, W_K = (block[name].unflatten(0, (layer.heads, layer.head_width)) for name in ("W_Q", "W_K"))
        scores = torch.einsum("hcn,btn,hcm,bm->bht", W_K, sequence.roll(1, 1), W_Q, sequence[:, -1]) / layer.head_width**0.5
        weight = np.exp((scores - scores.amax(-1, keepdim=True)).numpy())
        return (weight / weight.cumsum(-1))[..., 1:].mean((0, 1))
    if not isinstance(layer, GRU):
        return np.full(context.shape[1], np.nan)
    before = layer.everywhere(block, context, torch.arange(context.shape[1]))[:, :-1]
    before = torch.cat([torch.zeros_like(before[:, :1]), before], 1)
    gate = linear(block, "W_x", context, "b_x") + linear(block, "W_s", before)
    return (1 - gate.chunk(3, -1)[1].sigmoid()).mean((0, 2)).numpy()


def _moved(along: Tensor) -> float:
    """Return the size of the steps n > N/2 of (trial, n, m) over the spread at n = N, root mean squares over trials and m."""
    steps = along.diff(dim=1)[:, along.shape[1] // 2 :]
    return (steps.square().mean() / along[:, -1].var(0).mean()).sqrt().item()


NAMES = {
    "marginal": ("n", "mean over trials of |DeltaW_n - DeltaW_{n-1}|"),
    "marginal_se": ("n", "its standard error"),
    "slope": ("", "log-log slope of that mean"),
    "share": ("n", "mean share of token n after n tokens: attention weight, or 1 - u of a GRU"),
    "share_slope": ("", "log-log slope of that share"),
    "last": ("", "|DeltaW_N - DeltaW_{N-1}| over |DeltaW_N|, root mean squares over trials"),
    "moved": ("", "the same for all tokens n > N/2"),
    "moved_hidden": ("", "size of the steps n > N/2 of W A_n over the spread of W A_N over trials"),
    "moved_output": ("", "the same for the prediction"),
    "loss": ("N", "mean squared error after N examples"),
    "loss_end": ("", "the same after all N, on more prompts"),
    "loss_end_se": ("", "its standard error over prompts"),
    "loss_zero": ("", "the same for the prediction 0"),
}
"""Readings of one block: dimensions beside layer, state and seed, and what they are."""

_QUICK = LayersCompared(
    attention=PREFIX_ATTENTION, rnn=PREFIX_RNN, gru=PREFIX_GRU, trials=40, tasks=60, held_out=400, N=50, first=10
)
LAYERS_COMPARED = Experiment(
    slug="dherin-layers-compared",
    title="Marginal updates and error of three contextual layers",
    quick=_QUICK,
    full=replace(_QUICK, trials=1000, tasks=2000, held_out=20000),
)
