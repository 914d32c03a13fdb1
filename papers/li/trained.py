"""Training one-layer models on pattern prompts: all settings and all seeds as one batch."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import lcm
from typing import NamedTuple

import torch
from torch import Tensor

from icl_lib.companion import AtLeastThree, Count, Declaration, NotNegative, Positive, PositiveShare, Whole
from icl_lib.seeds import stream
from icl_lib.train.loop import train
from icl_lib.train.optimizers import SGD, Parameters
from papers.li.classification import hinge
from papers.li.patterns import Codes, PatternClassification, Patterns, orthogonal_patterns
from papers.li.softmax_attention import SoftmaxAttentionMLP, initial_weights, output_weights
from papers.li.task_sets import task_set


@dataclass(frozen=True)
class Setting(Declaration):
    """One training setting of the paper's one-layer model, SGD on fresh prompts (letters as in the paper).

    tasks    name of the set of training tasks, see ``papers.li.task_sets.task_set``
    M1       task-relevant patterns; M2: irrelevant patterns; d_Y: entries of the label embedding
    beta     norm of a pattern; q: norm of the label embedding; K: bound on kappa
    delta    initial diagonal of W_Q, W_K, W_V; xi: standard deviation of the initial entries of W_O
    m        neurons; eta: step size; B: prompts a step; T: steps
    l        examples of a training prompt; alpha: share of them with a pattern of the task
    """

    tasks: str
    M1: AtLeastThree
    M2: Count
    d_Y: Count
    beta: Positive
    q: Positive
    K: NotNegative
    delta: Positive
    xi: NotNegative
    m: Count
    eta: Positive
    B: Count
    T: Whole
    l: Count
    alpha: PositiveShare

    def __post_init__(self):
        super().__post_init__()
        task_set(self.tasks, self.M1)  # raises for a set that is unknown, or empty over M1 patterns

    def patterns(self) -> Patterns:
        """Return IDR and IDI patterns, the axes of R^(M1 + M2) times beta."""
        return orthogonal_patterns(self.M1, self.M2, self.M1 + self.M2, self.beta)

    def label(self) -> Tensor:
        """Return the label embedding, q times the first axis of R^d_Y."""
        return torch.eye(self.d_Y, dtype=torch.float64)[0] * self.q

    def law(self, tasks: Tensor, alpha: float, patterns: Patterns | None = None) -> PatternClassification:
        """Return the test distribution of some tasks with share ``alpha``, on the training patterns unless others are given."""
        return PatternClassification(patterns or self.patterns(), tasks, alpha, self.K)


A = Setting(
    tasks="cyclic 3",
    M1=6,
    M2=24,
    d_Y=10,
    beta=2.0,
    q=1.0,
    K=0.5,
    delta=0.2,
    xi=0.01,
    m=100,
    eta=1.0,
    B=256,
    T=1000,
    l=20,
    alpha=0.8,
)
"""The setting of most experiments; M1, M2, l and alpha are the paper's."""
B = replace(A, beta=4.0, q=0.5, eta=0.5)
"""Long patterns and a short label embedding: the feature part of a neuron weighs more beside its label part than in A."""


class Trained(NamedTuple):
    """Models of one setting, one per seed; weights (S, ...) in float64 on the CPU, losses (T, S)."""

    setting: Setting
    parameters: Parameters
    losses: Tensor

    def model(self) -> SoftmaxAttentionMLP:
        """Return the S models."""
        return SoftmaxAttentionMLP(**self.parameters, a=output_weights(self.setting.m), q=self.setting.label())


@lru_cache(maxsize=8)
def train_models(
    settings: tuple[Setting, ...], seeds: int, seed: int, device: str, marks: tuple[int, ...] = ()
) -> dict[int, tuple[Trained, ...]]:
    """Train ``seeds`` models of every setting as one batch; return the models at each step of ``marks`` and at the last.

    Settings may differ in everything but the shapes and the number of steps (M1, M2, d_Y, m, B, l, T); raises ValueError
    when they do not agree there. Step 0 is the start. Training is in float32, as on an accelerator.
    """
    one = settings[0]
    for name in ("M1", "M2", "d_Y", "m", "B", "l", "T"):
        if len({getattr(setting, name) for setting in settings}) > 1:
            raise ValueError(f"settings trained as one batch must agree in {name}: train them apart")
    each = [setting for setting in settings for _ in range(seeds)]
    column = {name: _column(each, name, device) for name in ("beta", "q", "K", "delta", "xi", "eta", "alpha")}
    law = PatternClassification(_patterns(one, column["beta"]), _tasks(each), column["alpha"], column["K"])
    q = one.label().to(column["q"]) / one.q * column["q"][:, None]
    a = output_weights(one.m, torch.float32).to(device)
    start = stream(seed, "weights", device)
    parameters = initial_weights(start, one.M1 + one.M2, one.d_Y, one.m, column["delta"], column["xi"])

    def loss(parameters: Parameters, batch: tuple[Codes, Patterns, Tensor]) -> Tensor:
        codes, patterns, q = batch
        return hinge(codes.y[..., -1] * SoftmaxAttentionMLP(**parameters, a=a, q=q).on(patterns)(codes)).mean()

    stops = sorted({*marks, one.T})
    if not 0 <= stops[0] <= stops[-1] <= one.T:
        raise ValueError(f"marks {marks} must be steps from 0 to T = {one.T}")
    losses, found, now = torch.zeros(0, len(each), device=device), {}, 0
    for stop in stops:
        if stop > now:
            draws = _Draws(law, q, seed, device, len(each), one, first=now)
            run = train(loss, parameters, draws, SGD(column["eta"]), stop - now)
            parameters, losses, now = run.parameters, torch.cat([losses, run.losses]), stop
        found[stop] = _split(settings, seeds, parameters, losses)
    return found


class _Draws(NamedTuple):
    """The batch of a step; a function of (seed, step) alone."""

    law: PatternClassification
    q: Tensor
    seed: int
    device: str
    replicates: int
    setting: Setting
    first: int

    def __call__(self, step: int) -> tuple[Codes, Patterns, Tensor]:
        generator = stream(self.seed, f"data/{self.first + step}", self.device)
        codes = self.law.codes(generator, (self.replicates, self.setting.B), self.setting.l)
        return codes, self.law.patterns, self.q


def _column(each: list[Setting], name: str, device: str) -> Tensor:
    return torch.tensor([getattr(setting, name) for setting in each], dtype=torch.float32, device=device)


def _patterns(setting: Setting, beta: Tensor) -> Patterns:
    unit = orthogonal_patterns(setting.M1, setting.M2, setting.M1 + setting.M2, 1.0)
    return Patterns(*(beta[:, None, None] * rows.to(beta) for rows in unit))


def _tasks(each: list[Setting]) -> Tensor:
    """Return the task sets as one (S, n, 2); each is repeated to a common n, which leaves the uniform draw as it is."""
    sets = [task_set(setting.tasks, setting.M1) for setting in each]
    common = lcm(*(len(tasks) for tasks in sets))
    return torch.stack([tasks.repeat(common // len(tasks), 1) for tasks in sets])


def _split(settings: tuple[Setting, ...], seeds: int, parameters: Parameters, losses: Tensor) -> tuple[Trained, ...]:
    parts = [slice(k * seeds, (k + 1) * seeds) for k in range(len(settings))]
    weights = {name: value.detach().cpu().double() for name, value in parameters.items()}
    return tuple(
        Trained(setting, {name: value[part] for name, value in weights.items()}, losses[:, part].cpu().double())
        for setting, part in zip(settings, parts, strict=True)
    )
