"""li-magnitudes: how long the rows of W_O are after training, which rows stay short, and since when."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import MinLen
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, Whole, expectation, variable
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.li.evaluate import in_domain
from papers.li.mechanism import neurons
from papers.li.patterns import PatternClassification
from papers.li.pruning import small_neurons
from papers.li.softmax_attention import OnPatterns
from papers.li.task_sets import task_set
from papers.li.theory import pruning
from papers.li.trained import A, B, Setting, Trained, train_models

KINDS = ("right label only", "both labels", "wrong label only", "neither label")
"""Rows at the start, by the inputs (mu_j, +-q) that activate them; right is the label with the sign of a_r."""
RARELY = 0.02
"""A row counts as silent when it is active on less than this share of prompts."""


@dataclass(frozen=True)
class Magnitudes(Declaration):
    """Lengths of the rows of W_O in several settings; the first is the main one, the second has a large initialisation.

    settings                  name and letters of each setting; seeds: models of each setting
    marks                     steps at which the main setting is looked at; prompts: what tells whether a row is ever active
    rows, batch, steps, rate  rows trained one by one while attention rests: their number, prompts a step, steps, step size
    """

    settings: Annotated[tuple[tuple[str, Setting], ...], MinLen(2)]
    seeds: AtLeastTwo
    marks: Several[Whole]
    prompts: Count
    rows: Count
    batch: Count
    steps: Count
    rate: Positive

    def __post_init__(self):
        super().__post_init__()
        (_, main), (_, long), *_ = self.settings
        if main.m != long.m:
            raise ValueError(f"the first two settings have {main.m} and {long.m} rows and are shown as one: take equal m")
        if self.marks[0] != 0 or list(self.marks) != sorted(set(self.marks)):
            raise ValueError(f"marks {self.marks} must rise from 0: the rows are told apart by how they start")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train every setting and measure."""
        names, settings = zip(*self.settings, strict=True)
        found = train_each(settings, self.seeds, seed, device, self.marks)
        models = [marks[setting.T] for marks, setting in zip(found, settings, strict=True)]
        small = np.array([_per_seed(small_neurons(model.parameters["W_O"])) for model in models])
        lengths = [model.parameters["W_O"].norm(dim=-1).sort(-1).values.numpy() for model in models]
        medians = np.array([_medians(rows, small[0]) for rows in lengths])
        silent = [silent_share(model, self.prompts, seed) for model in models]
        alone = [self.silent_alone(setting, seed) for setting in settings]
        columns = {
            "small": variable("setting seed", small, "share of rows shorter than half the longest"),
            "ratio": variable("setting seed", medians[..., 0] / medians[..., 1], "median of the shortest rows over the rest's"),
            "short_length": variable("setting seed", medians[..., 0], "median length of the shortest rows"),
            "silent": variable("setting seed", silent, "share of rows that next to no prompt activates"),
            "silent_alone": variable("setting", alone, "the same, rows trained one by one while attention rests"),
            "length": variable("group seed row", np.array(lengths[:2], "f4"), "lengths of the rows of W_O, sorted"),
        }
        columns |= self._in_time(found[0], seed) | _by_start(found[0][0], models[0]) | _at_start(found[0][0])
        return xr.Dataset(
            columns, coords={"setting": list(names), "group": list(names[:2]), "step": list(self.marks), "kind": list(KINDS)}
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the length of a row at the start and the predicted shares of silent rows beside them."""
        (_, main), *_ = self.settings
        size = np.array([pruning.start_size(s.xi, s.M1 + s.M2 + s.d_Y) for _, s in self.settings])
        shape = (main.beta, main.q, main.M1)
        gaussian = normal(stream(seed, "push"), (2000, main.M1 + 1), torch.empty(0, dtype=torch.float64)).numpy()
        pushed = pruning.push(gaussian[:, 1:], gaussian[:, 0], *shape[:2])
        return dataset.assign(
            start_size=variable("setting", size, "xi sqrt(m_b), length of a row at the start"),
            silent_means_theory=variable("", pruning.silent_share_means(*shape), "arctan(|mu_bar|/q)/pi"),
            silent_inputs_theory=variable("", pruning.silent_share_inputs(*shape), "the orthant integral"),
            pushed_means_theory=variable("", pruning.pushed_share_means(*shape), "min(1/4 + arctan(|mu_bar|/q)/pi, 1/2)"),
            pushed_inputs_theory=variable("", pushed.mean(), "silent after the push on all (mu_j, +-q)"),
        )

    def _in_time(self, found: dict[int, Trained], seed: int) -> dict[str, xr.Variable]:
        """Return since when short rows rest, and how attention and the long rows grow."""
        setting = found[0].setting
        final = found[setting.T].parameters["W_O"]
        small = small_neurons(final)
        tasks, rest, length, mass = task_set(setting.tasks, setting.M1), [], [], []
        for mark in self.marks:
            model = found[mark]
            still = (model.parameters["W_O"] == final).all(-1)
            rest.append([((still & group).sum(-1) / group.sum(-1)).numpy() for group in (small, ~small)])
            length.append((model.parameters["W_O"].norm(dim=-1) * ~small).sum(-1) / (~small).sum(-1))
            probe = {"alpha": setting.alpha, "length": setting.l, "prompts": 500, "seed": seed, "name": f"mass/{mark}"}
            mass.append(in_domain(model, tasks, **probe).mass.nanmean(-1))
        return {
            "at_rest": variable("step seed", np.array(rest)[:, 0], "short rows that do not move any more, share"),
            "at_rest_long": variable("step seed", np.array(rest)[:, 1], "long rows that do not move any more, share"),
            "long_size": variable("step seed", torch.stack(length), "mean length of the finally long rows"),
            "mass": variable("step seed", torch.stack(mass), "attention on contexts with the query's pattern"),
        }

    def silent_alone(self, setting: Setting, seed: int) -> float:
        """Return the share of silent rows when each follows its own gradient and attention stays as it is at the start.

        While F is near 0 the hinge is active on every prompt, and row r moves along a_r E[z 1[row active] p_bar]. The
        rows here have a_r > 0; by the symmetry of the labels the others are their mirror image.
        """
        start = train_models((replace(setting, T=0),), 1, seed, "cpu")[0][0]
        law = setting.law(task_set(setting.tasks, setting.M1), setting.alpha)
        model, generator = start.model().on(law.patterns), stream(seed, "alone")
        W = normal(generator, (self.rows, setting.M1 + setting.M2 + 1), torch.empty(0, dtype=torch.float64))
        for _ in range(self.steps):
            p_bar, z = averages(model, law, setting, generator, self.batch)
            W = W + self.rate / self.batch * ((p_bar @ W.mT > 0) * z[:, None]).mT @ p_bar
        p_bar, _ = averages(model, law, setting, generator, 10 * self.batch)
        return float(_rarely(p_bar @ W.mT > 0).double().mean())


def train_each(
    settings: Sequence[Setting], seeds: int, seed: int, device: str, marks: tuple[int, ...] = ()
) -> list[dict[int, Trained]]:
    """Train every setting and return its models by step; settings of the same shapes and steps train as one batch."""
    found: dict[Setting, dict[int, Trained]] = {}
    shape = attrgetter("M1", "M2", "d_Y", "m", "B", "l", "T")
    for _, same in groupby(sorted(settings, key=shape), key=shape):
        batch = tuple(same)
        trained = train_models(batch, seeds, seed, device, marks)
        found |= {setting: {step: models[k] for step, models in trained.items()} for k, setting in enumerate(batch)}
    return [found[setting] for setting in settings]


def averages(
    model: OnPatterns, law: PatternClassification, setting: Setting, generator: torch.Generator, count: int
) -> tuple[Tensor, Tensor]:
    """Draw prompts; return p_bar = sum_i attn_i p_i in coordinates along patterns and label, and the query's label z."""
    codes = law.codes(generator, (1, count), setting.l)
    attention = model.attention(codes)
    pattern, distractor, kappa, y = (part[..., :-1] for part in codes)
    weights = attention.new_zeros(1, count, setting.M1 + setting.M2)
    weights = weights.scatter_add(-1, pattern, attention).scatter_add(-1, setting.M1 + distractor, kappa * attention)
    label = (y * attention).sum(-1, keepdim=True)
    return torch.cat([setting.beta * weights, setting.q * label], -1)[0], codes.y[0, :, -1]


def silent_share(trained: Trained, prompts: int, seed: int) -> np.ndarray:
    """Return per seed the share of rows that next to no training prompt activates."""
    setting = trained.setting
    law = setting.law(task_set(setting.tasks, setting.M1), setting.alpha)
    model = trained.model().on(law.patterns)
    one_row_each = replace(model, table=model.table[:, None], neurons=model.neurons[:, None], a=torch.eye(setting.m).double())
    codes = law.codes(stream(seed, "silent"), (len(model.table), 1, prompts), setting.l)
    return _per_seed(_rarely((one_row_each(codes) > 0).mT.flatten(0, -3)))


def activity(trained: Trained) -> Tensor:
    """Return <w_r, W_V p> on p = (mu_j, +-q), the label's sign times the sign of a_r: (seed, right/wrong, row, j)."""
    setting, rows = trained.setting, neurons(trained.model())
    feature = torch.einsum("smd,jd->smj", rows.feature, setting.patterns().relevant)
    label = torch.einsum("smk,k->sm", rows.label, setting.label()) * trained.model().a.sign()
    return torch.stack([feature + label[..., None], feature - label[..., None]], 1)


def _by_start(start: Trained, end: Trained) -> dict[str, xr.Variable]:
    """Return how many rows of each kind there are at the start, and how many of them end short."""
    right, wrong = (activity(start) > 0).any(-1).unbind(1)
    small = small_neurons(end.parameters["W_O"])
    kinds = (right & ~wrong, right & wrong, ~right & wrong, ~right & ~wrong)
    return {
        "rows": variable("kind seed", torch.stack([kind.sum(-1) for kind in kinds]), "rows at the start"),
        "rows_small": variable("kind seed", torch.stack([(kind & small).sum(-1) for kind in kinds]), "of these end short"),
    }


def _at_start(start: Trained) -> dict[str, xr.Variable]:
    """Return the silent rows of the start, counted on the two means and on all 2 M1 inputs."""
    values = activity(start)
    means, inputs = (values.mean(-1) <= 0).all(1), (values <= 0).all(-1).all(1)
    return {
        "silent_means": variable("seed", _per_seed(means), "share of rows silent on the two means, at the start"),
        "silent_inputs": variable("seed", _per_seed(inputs), "share of rows silent on all (mu_j, +-q), at the start"),
    }


def _medians(rows: np.ndarray, small: np.ndarray) -> np.ndarray:
    """Return the medians of the shortest rows and of the rest, (seed, 2); ``rows`` sorted, ``small`` the share of the short."""
    counts = np.maximum(1, np.round(small * rows.shape[-1])).astype(int)
    return np.array([[np.median(row[:k]), np.median(row[k:])] for row, k in zip(rows, counts, strict=True)])


def _rarely(active: Tensor) -> Tensor:
    return active.double().mean(-2) < RARELY


def _per_seed(rows: Tensor) -> np.ndarray:
    """Return the share of marked rows."""
    return rows.double().mean(-1).numpy()


MAGNITUDES = Experiment(
    slug="li-magnitudes",
    title="Two groups of neurons by length",
    quick=Magnitudes(
        settings=(("A", replace(A, T=100, B=96)), ("ξ = 1/√m", replace(A, T=100, B=96, xi=0.1))),
        seeds=8,
        marks=(0, 20, 30, 40, 50, 70, 100),
        prompts=500,
        rows=400,
        batch=128,
        steps=100,
        rate=3.0,
    ),
    full=Magnitudes(
        settings=(
            ("A", A),
            ("ξ = 1/√m", replace(A, xi=0.1)),
            ("r = 1", replace(A, tasks="cyclic 1", T=400)),
            ("B", replace(B, T=400)),
            ("β = 1", replace(A, beta=1.0, T=600)),
            ("ξ = 0.003", replace(A, xi=0.003, T=400)),
            ("α = 0.6", replace(A, alpha=0.6, T=400)),
            ("M₁ = 4", replace(A, M1=4, T=400)),
            ("M₁ = 12", replace(A, M1=12, T=400)),
        ),
        seeds=16,
        marks=(0, 10, 20, 25, 30, 35, 40, 45, 50, 60, 80, 120, 200, 400),
        prompts=2000,
        rows=2000,
        batch=256,
        steps=400,
        rate=3.0,
    ),
)
