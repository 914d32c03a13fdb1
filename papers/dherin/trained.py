"""Networks trained to do linear regression in context: declarations, the training, and the shipped weights."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Count, Declaration, Positive, obtain_weights, seed_of
from icl_lib.models.contextual.blocks import Block, NoSkip, PreNorm
from icl_lib.models.contextual.feed_forward import MLP, GatedMLP
from icl_lib.models.contextual.layers import ContextualLayer, SoftmaxAttention
from icl_lib.models.contextual.norms import RMSNorm
from icl_lib.models.contextual.weights import Weights
from icl_lib.models.linear_attention import embed
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from icl_lib.train.loop import train
from icl_lib.train.optimizers import Adam, Parameters
from papers.dherin.network import LastEntry, Network, Regression
from papers.dherin.recurrent_layers import GRU, TanhRNN


@dataclass(frozen=True)
class OneBlock(Declaration):
    """The paper's network: a contextual layer and an MLP with one hidden layer, no skips, no norms, no positions.

    layer    softmax attention, tanh RNN or GRU; of ``width`` outputs, attention with ``heads`` heads
    d        entries of an input; width: outputs of the layer; heads: attention heads
    hidden   neurons of the MLP's hidden layer, ReLU
    """

    layer: Literal["softmax attention", "tanh RNN", "GRU"]
    d: Count
    width: Count
    heads: Count
    hidden: Count

    def __post_init__(self):
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads of {self.width} channels: heads must divide the width")

    def network(self) -> Network:
        """Return the shape of the network on tokens (x; y) of d + 1 numbers."""
        n = self.d + 1
        return Network(Block(NoSkip(self._layer(n)), MLP(self.width, (self.hidden,), n, "relu")), 1, LastEntry())

    def _layer(self, n: int) -> ContextualLayer:
        if self.layer == "softmax attention":
            return SoftmaxAttention(self.heads, self.width // self.heads, n, self.width)
        return {"tanh RNN": TanhRNN, "GRU": GRU}[self.layer](n, self.width)


@dataclass(frozen=True)
class ManyBlocks(Declaration):
    """Pre-norm blocks as in Llama, without positions: causal attention, RMS norms, SwiGLU.

    depth    blocks; d: entries of an input; width: channels; heads: attention heads of a block
    hidden   channels of the SwiGLU
    """

    depth: Count
    d: Count
    width: Count
    heads: Count
    hidden: Count

    def __post_init__(self):
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads of {self.width} channels: heads must divide the width")

    def network(self) -> Network:
        """Return the shape of the network on tokens (x; y) of d + 1 numbers."""
        norm = RMSNorm(1e-6)
        layer = SoftmaxAttention(self.heads, self.width // self.heads, self.width, self.width)
        block = Block(PreNorm(layer, norm), GatedMLP(self.width, self.hidden, "silu"))
        return Network(block, self.depth, Regression(self.d + 1, self.width, norm))


@dataclass(frozen=True)
class Training(Declaration):
    """One training run on fresh prompts, x and w from N(0, I_d), y = <w, x>: Adam with a cosine schedule, squared error.

    name      of the shipped file; empty when weights are never shipped
    N         examples of a prompt; every_prefix: whether the error counts after 0 .. N examples, or after N alone
    B         prompts a step; rate: initial learning rate; steps: of Adam; replicates: networks trained as one batch
    """

    name: str
    model: OneBlock | ManyBlocks
    N: Count
    every_prefix: bool
    B: Count
    rate: Positive
    steps: Count
    replicates: Count

    def train(self, seed: int, device: str) -> Weights:
        """Return the weights after the last step, on the CPU."""
        return train_marks(self, seed, device, ())[self.steps].weights


class Trained(NamedTuple):
    """Networks of one training: the shape, and weights (S, ...) in float64 on the CPU."""

    network: Network
    weights: Weights

    def replicate(self, s: int) -> Weights:
        """Return the weights of one network."""
        return {name: weight[s] for name, weight in self.weights.items()}

    @property
    def replicates(self) -> int:
        """S."""
        return len(next(iter(self.weights.values())))


def regression(d: int, dtype: torch.dtype = torch.float64) -> LinearRegression:
    """Return the distribution of prompts: x_i, x_query and w from N(0, I_d), labels without noise."""
    return LinearRegression(torch.eye(d, dtype=dtype))


def tasks(prompts: Prompts) -> Float[Tensor, "... d"]:
    """Return w of prompts of at least d examples: labels have no noise, so least squares gives w itself."""
    return torch.linalg.lstsq(prompts.x, prompts.y[..., None]).solution[..., 0]


def of_other_tasks(prompts: Prompts) -> Prompts:
    """Return B prompts with their inputs and queries, and the labels that the task of the prompt before gives the inputs."""
    return prompts._replace(y=torch.einsum("bnd,bd->bn", prompts.x, tasks(prompts).roll(1, 0)))


def tokens(prompts: Prompts) -> Float[Tensor, "... T n"]:
    """Return the columns (x_i; y_i) and (x_query; 0) as the rows of one sequence."""
    return embed(prompts).mT


def predictions(network: Network, weights: Weights, prompts: Prompts) -> Float[Tensor, "..."]:
    """Return the output at the query of every prompt, for one network."""
    sequence = tokens(prompts)
    if network.depth == 1 and isinstance(network.block.joint, NoSkip):  # the query's row is enough
        block = network.blocks(weights)[0]
        a = network.block.joint.layer(block, sequence)
        return network.read(weights, network.block.feed_forward(block, a[..., None, :]))[..., 0]
    return network(weights, sequence)[..., -1]


def prefix_predictions(network: Network, weights: Weights, prompts: Prompts) -> Float[Tensor, "... P"]:
    """Return the predictions for x_{i+1} after i = 0 .. N examples, x_{N+1} = x_query, P = N + 1; one block without skips."""
    sequence = tokens(prompts)
    queries = sequence.clone()
    queries[..., -1] = 0
    block = network.blocks(weights)[0]
    a = network.block.joint.layer.prefixes(block, sequence[..., :-1, :], queries)
    return network.read(weights, network.block.feed_forward(block, a))


def start(training: Training, seed: int, device: str) -> Parameters:
    """Return the weights before the first step, (S, ...) in float32."""
    like = torch.zeros((), dtype=torch.float32)
    return training.model.network().start(stream(seed, "weights", device), (training.replicates,), like)


def cosine(progress: float) -> float:
    """Lower the learning rate to 0 along half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * progress))


def train_marks(training: Training, seed: int, device: str, marks: tuple[int, ...]) -> dict[int, Trained]:
    """Train, and return the networks at each step of ``marks`` and at the last; step 0 is the start."""
    network, parameters = training.model.network(), start(training, seed, device)
    law = regression(training.model.d, torch.float32)

    def loss(weights: Parameters, prompts: Prompts) -> Tensor:
        if not training.every_prefix:
            return (predictions(network, weights, prompts) - prompts.y_query).square().mean()
        y = torch.cat([prompts.y, prompts.y_query[..., None]], -1)
        return (prefix_predictions(network, weights, prompts) - y).square().mean()

    def draw(step: int) -> Prompts:
        return law.sample(stream(seed, f"data/{step}", device), (training.replicates, training.B), training.N)

    stops = sorted({*marks, training.steps})
    if not 0 <= stops[0] <= stops[-1] <= training.steps:
        raise ValueError(f"marks {marks} must be steps from 0 to {training.steps}")
    found, keeper = {}, _Marks(stops)
    run = train(loss, parameters, draw, Adam(training.rate), training.steps, schedule=cosine, checkpoint=keeper)
    for stop, weights in {0: parameters, **keeper.found, training.steps: run.parameters}.items():
        if stop in stops:
            found[stop] = Trained(network, {name: w.detach().cpu().double() for name, w in weights.items()})
    return found


class _Marks:
    """A checkpoint in memory that keeps the parameters of some steps."""

    every = 1

    def __init__(self, stops: list[int]):
        self.stops, self.found = set(stops), {}

    def load(self) -> None:
        """Begin at the start."""
        return None

    def save(self, state) -> None:
        """Keep the parameters when the step is one of the marks."""
        if state["step"] in self.stops:
            self.found[state["step"]] = {name: p.clone() for name, p in state["parameters"].items()}


def trained(training: Training, seed: int, device: str) -> Trained:
    """Return the trained networks: the shipped weights where they answer for this training and seed, else trained now."""

    weights = obtain_weights(training.name, training, seed, device, lambda: training.train(seed, device))
    return Trained(training.model.network(), {name: w.double() for name, w in weights.items()})


def untrained(training: Training, seed: int) -> Trained:
    """Return the networks of ``trained`` before their first step; shipped ones have a seed of their own."""
    drawn = start(training, seed_of(training, seed), "cpu")
    return Trained(training.model.network(), {name: w.double() for name, w in drawn.items()})
