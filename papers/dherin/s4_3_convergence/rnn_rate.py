"""dherin-rnn-rate: tanh RNNs that differ in their starts and in the learning rate of their training alone."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, variable
from icl_lib.measure.slope import log_log_slope
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.dherin.along import states_along
from papers.dherin.s4_3_convergence.along import marginal_norms
from papers.dherin.trained import OneBlock, Trained, Training, predictions, regression, tokens, trained, untrained
from papers.dherin.trainings import PREFIX_ATTENTION, PREFIX_RNN, PREFIX_RNN_FAST


@dataclass(frozen=True)
class RNNRate(Declaration):
    """Shipped tanh RNNs, trained from the same starts on the same prompts with two rates, and attention to compare with.

    tasks, trials   held-out prompts, and contexts with one query each
    first           log-log slopes are fitted from this n on
    """

    training: Training
    faster: Training
    attention: Training
    trials: Count
    tasks: Count
    first: Count

    def __post_init__(self):
        super().__post_init__()
        trainings = (self.training, self.faster, self.attention)
        if not all(isinstance(each.model, OneBlock) for each in trainings):
            raise ValueError("the updates are those of one block: take trainings of OneBlock")
        if len({(each.N, each.replicates, each.model.d) for each in trainings}) > 1:
            raise ValueError("the trainings must share N, d and the number of replicates")
        if self.first > self.training.N - 2:
            raise ValueError(f"a slope needs three points: take first of at most N - 2 = {self.training.N - 2}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error after N examples and the log-log slope of the marginal updates."""
        kinds = {"rnn": self.training, "rnn_faster": self.faster, "attention": self.attention}
        law = regression(self.training.model.d)
        prompts = law.sample(stream(seed, "held-out"), (self.tasks,), self.training.N)
        sequence = tokens(law.sample(stream(seed, "trials"), (self.trials,), self.training.N))
        found = {kind: trained(training, seed, device) for kind, training in kinds.items()}
        found["rnn_start"] = untrained(self.training, seed)
        columns = {}
        for kind, networks in found.items():
            read = np.array([self.read(networks, s, prompts, sequence) for s in range(networks.replicates)])
            columns |= {f"loss_{kind}": variable("seed", read[:, 0], f"mean squared error after N examples, {kind}")}
            columns |= {f"slope_{kind}": variable("seed", read[:, 1], f"log-log slope of the mean marginal update, {kind}")}
        return xr.Dataset(columns)

    def read(self, networks: Trained, s: int, prompts: Prompts, sequence: Tensor) -> tuple[float, float]:
        """Return error and slope of one network."""
        network, weights = networks.network, networks.replicate(s)
        block, n = network.blocks(weights)[0], np.arange(float(self.first), sequence.shape[1])
        error = predictions(network, weights, prompts) - prompts.y_query
        marginal, _ = marginal_norms(block["W"], states_along(network.block.joint.layer, block, sequence))
        return error.square().mean().item(), float(log_log_slope(n, marginal.mean(0).numpy()[self.first - 1 :]))


RNN_RATE = Experiment(
    slug="dherin-rnn-rate",
    title="Tanh RNNs, trained twice",
    quick=RNNRate(PREFIX_RNN, PREFIX_RNN_FAST, PREFIX_ATTENTION, trials=100, tasks=1000, first=10),
    full=RNNRate(PREFIX_RNN, PREFIX_RNN_FAST, PREFIX_ATTENTION, trials=1000, tasks=10000, first=10),
)
