"""dherin-positions-training: a training run in float32, the theory beside the network at every mark."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, variables
from icl_lib.patches.network import patched_network
from icl_lib.patches.sites import Nowhere
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.train.loop import train
from icl_lib.train.optimizers import Adam, Parameters
from papers.dherin.all_positions.position_blocks import Architecture, Variant, states, theory_output, variants
from papers.dherin.all_positions.update_alignment import cosine_matrix, groups
from papers.dherin.network import Network
from papers.dherin.trained import regression, tokens


@dataclass(frozen=True)
class PositionsTraining(Declaration):
    """Networks of every variant trained on fresh prompts of N examples: Adam, 1/2 mean squared error, float32.

    N       examples of a prompt; variants: blocks that are trained, by what they have
    B       prompts a step; rate, steps: of Adam; marks: evaluations, evenly spaced from the start to the end
    tests   prompts of an evaluation; networks: trained as one batch
    """

    architecture: Architecture
    N: AtLeastTwo
    variants: Several[Variant]
    networks: Count
    B: Count
    rate: Positive
    steps: Count
    marks: AtLeastTwo
    tests: Count

    def __post_init__(self):
        super().__post_init__()
        if self.marks > self.steps + 1:
            raise ValueError(f"marks must be from 2 to steps + 1 = {self.steps + 1}, not {self.marks}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train, and compare losses and outputs at the marks."""
        marks = sorted({round(m) for m in np.linspace(0, self.steps, self.marks)})
        rows = []
        for name, shape in variants(self.architecture, self.variants).items():
            kept = self._train(shape.network(), name, marks, seed)
            rows.append([[self.read(shape, kept[m], s, m, seed) for s in range(self.networks)] for m in marks])
        columns = variables(NAMES, rows, "variant step seed {}", "f4")
        blocks = np.arange(1, self.architecture.blocks + 1)
        return xr.Dataset(columns, coords={"variant": list(self.variants), "step": marks, "block": blocks})

    def _train(self, network: Network, name: str, marks: list[int], seed: int) -> dict[int, Parameters]:
        """Return the parameters at the marks, networks first."""
        law, like = regression(self.architecture.d, torch.float32), torch.zeros((), dtype=torch.float32)

        def loss(weights: Parameters, prompts: Prompts) -> Tensor:
            return (network(weights, tokens(prompts))[..., -1] - prompts.y_query).square().mean() / 2

        def draw(step: int) -> Prompts:
            return law.sample(stream(seed, f"data/{name}/{step}"), (self.networks, self.B), self.N)

        start = network.start(stream(seed, f"weights/{name}"), (self.networks,), like)
        keeper = Marks(marks)
        keeper.save({"step": 0, "parameters": start})
        train(loss, start, draw, Adam(self.rate), self.steps, checkpoint=keeper)
        return keeper.found

    def read(self, shape: Architecture, parameters: Parameters, s: int, mark: int, seed: int) -> dict[str, np.ndarray]:
        """Return the readings of one network at one mark; prompts are drawn in float64 and rounded."""
        network, weights = shape.network(), {name: w[s].detach() for name, w in parameters.items()}
        prompts = regression(shape.d).sample(stream(seed, f"tests/{mark}"), (self.tests,), self.N)
        prompts = Prompts(*(part.float() for part in prompts))
        sequence, rows, likeness = tokens(prompts), [], []
        alone = sequence[:, -1:]
        full = network.states(weights, sequence)[0]
        _, left = patched_network(network, shape.site(), weights, [state.at(-1) for state in full], alone)
        theory = fault = sequence
        for block, state in zip(network.blocks(weights), full, strict=True):
            pair = states(network.block, block, sequence, sequence[:, -1:])
            sequence = network.block.feed(block, state)
            theory, fault = (theory_output(network.block, site, block, pair) for site in (shape.site(), Nowhere()))
            rows.append([squared(theory, sequence), squared(fault, sequence)])
            likeness.append(groups(cosine_matrix(block, pair)))

        def test_loss(rows: Float[Tensor, "B T D"]) -> np.ndarray:
            return ((network.read(weights, rows)[:, -1] - prompts.y_query).square().mean() / 2).numpy()

        difference, without = np.array(rows).T
        others, last = np.array(likeness).T
        losses = {"loss": sequence, "loss_patched": theory, "loss_composed": left, "loss_fault": fault}
        found = {name: test_loss(outputs) for name, outputs in losses.items()}
        found["loss_alone"] = test_loss(network.states(weights, alone)[1])
        return found | {"difference": difference, "difference_fault": without, "others": others, "last": last}


class Marks:
    """A checkpoint in memory that keeps the parameters of some steps."""

    every = 1

    def __init__(self, steps: list[int]):
        self.steps, self.found = set(steps), {}

    def load(self) -> None:
        """Begin at the start."""
        return None

    def save(self, state) -> None:
        """Keep the parameters when the step is one of the marks."""
        if state["step"] in self.steps:
            self.found[state["step"]] = state["parameters"]


def squared(found: Float[Tensor, "B T D"], expected: Float[Tensor, "B T D"]) -> float:
    """Return the sum of squared differences over the sum of squares, all tokens and prompts."""
    return ((found - expected).double().square().sum() / expected.double().square().sum()).item()


NAMES = {
    "loss": ("", "half the mean squared error of the network on test prompts"),
    "loss_patched": ("", "the same of the last block's patch for the query alone, made of the block's true input"),
    "loss_composed": ("", "the same of all blocks' patches, composed from the query alone"),
    "loss_fault": ("", "the same as loss_patched, b' left out"),
    "loss_alone": ("", "the same of the query alone without patches"),
    "difference": ("block", "sum of |patched - full|^2 over sum of |full|^2, all tokens"),
    "difference_fault": ("block", "the same with b' left out"),
    "others": ("block", "mean cosine of the updates of two context tokens"),
    "last": ("block", "mean cosine of the updates of a context token and of the query"),
}

_QUICK = PositionsTraining(
    architecture=Architecture(d=2, heads=3, blocks=5, widening=4, skips=True, norms=False, causal=True),
    N=50,
    variants=("skips", "skips, norms"),
    networks=2,
    B=4,
    rate=5e-2,
    steps=8,
    marks=3,
    tests=8,
)
POSITIONS_TRAINING = Experiment(
    slug="dherin-positions-training",
    title="Updates at all positions during training",
    section="sequel 1",
    quick=_QUICK,
    full=replace(_QUICK, networks=4, B=128, steps=100, marks=21, tests=128),
)
