"""dherin-linear-loss: how far each step lowers the loss of proposition 3.1, with true labels, false labels and noise."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from numpy import ndarray
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, variables
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.s3_implicit_dynamics.consumed import LIKE, Case, first_block
from papers.dherin.s3_implicit_dynamics.dynamics import vector_error
from papers.dherin.theory import dynamics
from papers.dherin.trained import OneBlock, Trained, Training, regression, tokens, trained, untrained
from papers.dherin.trainings import ONE_BLOCK

KINDS = ("true labels", "shuffled labels", "noise tokens")
NETS = ("trained", "untrained")
AT_ONCE = 200
"""Matrices W_i in memory at a time."""
ROUNDING = 1e-12
"""A rise of L_i below this share of the largest fall on its path is rounding."""


@dataclass(frozen=True)
class LinearLoss(Declaration):
    """Prompts of N examples, the same for trained networks and for their starts.

    The context's labels are true, or in another order, or the whole context is noise; the query stays.
    N          examples of a prompt
    prompts    whose matrices W_i are made; tasks: prompts, these among them, whose squared error is taken
    slope_at   multiples t of a step at which L_i(W_i - t h Delta_i) is evaluated
    """

    training: Training
    N: AtLeastTwo
    prompts: Count
    tasks: Count
    slope_at: Several[Positive]

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.training.model, OneBlock):
            raise ValueError("the losses are those of one block: take a training of OneBlock")
        if self.prompts > self.tasks:
            raise ValueError(f"{self.prompts} prompts among {self.tasks} tasks: take from 1 to all of them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every network with every kind of context."""
        law = regression(self.training.model.d)
        prompts = law.sample(stream(seed, "prompts"), (self.tasks,), self.N)
        contexts = [context(kind, tokens(prompts), seed) for kind in KINDS]
        both = trained(self.training, seed, device), untrained(self.training, seed)
        found = [
            [self.measure(networks, name, context, prompts.y_query) for context in contexts]
            for name, networks in zip(NETS, both, strict=True)
        ]
        coords = {"net": list(NETS), "kind": list(KINDS), "i": np.arange(self.N + 1), "t": list(self.slope_at)}
        return xr.Dataset(variables(NAMES, found, "net kind {}"), coords=coords)

    def measure(self, networks: Trained, name: str, sequence: Tensor, y: Tensor) -> dict[str, ndarray]:
        """Return the readings of all replicates on one context of every prompt."""
        block = networks.network.block
        few = max(1, AT_ONCE // sequence.shape[1])
        rows = []
        for s in range(networks.replicates):
            case = Case(name, block, first_block(networks, s), sequence)
            parts = sequence[: self.prompts].split(few)
            read = [self.read(Case(name, block, case.weights, part)) for part in parts]
            row = {key: np.concatenate([each[key] for each in read]) for key in read[0]}
            a = case.prefixes()
            row["fall_tasks"] = dynamics.falls(case.W.numpy(), a.numpy()).sum(1)
            row["error"] = (case.output(case.W, a)[..., -1] - y[:, None]).square().numpy()
            row["up_error"] = (np.diff(row["error"], axis=1) > 0).mean(1)
            rows.append({key: REDUCE[key](row[key], 0) for key in NAMES})
        return {key: np.array([row[key] for row in rows], width(dims)) for key, (dims, _) in NAMES.items()}

    def read(self, case: Case) -> dict[str, ndarray]:
        """Return the readings of one network, prompts first."""
        a, W_0 = case.prefixes(), case.W.numpy()
        W = (case.W + redirection(case.W, a[:, :1], a)).numpy()
        a_0, target = a[:, :1].numpy(), np.einsum("mk,bik->bim", W_0, a[:, 1:].numpy())
        Delta, h = dynamics.step_matrices(W_0, a.numpy()), dynamics.rate(a[:, 0].numpy())[:, None]
        fall = dynamics.linear_loss(Delta, W[:, :-1]) - dynamics.linear_loss(Delta, W[:, 1:])
        expected = dynamics.decrease(Delta, h)
        path = Delta, W[:, :-1], h, expected
        return {
            "decrease": vector_error(fall, expected),
            "up": (fall < -ROUNDING * expected.max(1, keepdims=True)).mean(1),
            "slope": self.slope(*path, lambda V: dynamics.linear_loss(Delta, V)),
            "slope_quadratic": self.slope(*path, lambda V: dynamics.quadratic_loss(V, a_0, target)),
            "fall": np.insert(fall.cumsum(1), 0, 0, 1),
            "fall_of_moves": np.insert(dynamics.falls(W_0, a.numpy()).cumsum(1), 0, 0, 1),
        }

    def slope(self, Delta: ndarray, W: ndarray, h: ndarray, expected: ndarray, loss) -> ndarray:
        """Return how far loss(W_i) - loss(W_i - t h Delta_i) is from t h |Delta_i|^2 at each t, prompts first."""
        moved = (W - t * h[..., None, None] * Delta for t in self.slope_at)
        found = [vector_error(loss(W) - loss(V), t * expected) for t, V in zip(self.slope_at, moved, strict=True)]
        return np.stack(found, 1)


def width(dims: str) -> str:
    """Return the type a reading is stored in: curves, which no claim judges to the last digit, in single precision."""
    return "f4" if dims.endswith(" i") else "f8"


def context(kind: str, sequence: Tensor, seed: int) -> Tensor:
    """Return the tokens (B, N + 1, d + 1) with the context's labels left, shuffled within each prompt, or all noise.

    Noise has independent entries with the variances that true tokens have, 1 and, for labels, d.
    """
    sequence, (B, N) = sequence.clone(), (sequence.shape[0], sequence.shape[1] - 1)
    if kind == "shuffled labels":
        order = torch.rand(B, N, generator=stream(seed, kind)).argsort(1)
        sequence[:, :-1, -1] = sequence[:, :-1, -1].gather(1, order)
    if kind == "noise tokens":
        sequence[:, :-1] = normal(stream(seed, kind), (B, N, sequence.shape[2]), LIKE)
        sequence[:, :-1, -1] *= (sequence.shape[2] - 1) ** 0.5
    return sequence


NAMES = {
    "decrease": ("seed", "L_i(W_i) - L_i(W_{i+1}) against h |Delta_i|^2, relative error of the vector of all i, worst prompt"),
    "up": ("seed", "share of steps that raise L_i beyond rounding, mean over prompts"),
    "up_error": ("seed", "share of steps that raise the squared error at the query, mean over prompts"),
    "slope": ("seed t", "L_i(W_i) - L_i(W_i - t h Delta_i) against t h |Delta_i|^2, relative error, worst prompt"),
    "slope_quadratic": ("seed t", "the same for Q_i in place of L_i"),
    "fall": ("seed i", "sum of the falls L_j(W_j) - L_j(W_{j+1}), j < i, mean over prompts"),
    "fall_of_moves": ("seed i", "sum of |W_0 (a_j - a_{j+1})|^2, j < i, mean over prompts"),
    "fall_tasks": ("seed", "the same for j < N, mean over all tasks"),
    "error": ("seed i", "squared error at the query after i tokens, mean over prompts"),
}
"""Readings: dimensions beside net and kind, and what they are."""
REDUCE = {name: np.max if "worst prompt" in text else np.mean for name, (_, text) in NAMES.items()}
"""How the readings of single prompts become one."""

_QUICK = LinearLoss(training=ONE_BLOCK, N=20, prompts=2, tasks=150, slope_at=(1.0, 1e6))
LINEAR_LOSS = Experiment(
    slug="dherin-linear-loss",
    title="The loss of the implicit dynamics with false labels",
    quick=_QUICK,
    full=replace(_QUICK, N=100, prompts=40, tasks=400),
)
