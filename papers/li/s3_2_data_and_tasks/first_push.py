"""li-first-push: the expected first push on attention and values, enumerated, and the maps that training makes of it."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
import xarray as xr
from scipy.optimize import brentq
from torch import Tensor
from torch.func import grad

from icl_lib.companion import (
    AtLeastThree,
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    InnerShare,
    NotNegative,
    Positive,
    PositiveShare,
    Several,
    expectation,
    variable,
)
from icl_lib.tasks.prompts import Prompts
from papers.li.classification import hinge
from papers.li.mechanism import bilinear_form
from papers.li.patterns import Codes, Patterns, orthogonal_patterns, write
from papers.li.s3_2_data_and_tasks.unseen_tasks import QUICK, SHORT, UNCOVERED, Sets, settings_of
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.task_sets import task_set
from papers.li.theory import coverage
from papers.li.trained import A, Setting, Trained, train_models


@dataclass(frozen=True)
class Enumerated(Declaration):
    """Every prompt of a small distribution with its probability; kappa is +K or -K, one irrelevant pattern, an odd length l.

    M1      task-relevant patterns; l: examples of a prompt, an odd number
    alpha   share of contexts with a pattern of the task
    beta    norm of a pattern; q: norm of the label embedding; K: kappa is +K or -K
    c       what the value function gives for the label embedding, where the pushes are taken
    """

    M1: AtLeastThree
    l: Count
    alpha: PositiveShare
    beta: Positive
    q: Positive
    K: NotNegative
    c: InnerShare

    def __post_init__(self):
        super().__post_init__()
        if self.l % 2 == 0:
            raise ValueError(f"l = {self.l}: an even number of votes can tie at the kink of the ReLU, take an odd one")

    def patterns(self) -> Patterns:
        """Return M1 relevant patterns and one irrelevant pattern."""
        return orthogonal_patterns(self.M1, 1, self.M1 + 1, self.beta)

    def prompts(self, tasks: np.ndarray) -> tuple[Prompts, Tensor]:
        """Return all prompts of these tasks and their probabilities, which sum to 1."""
        rows, weights = zip(*(self._of_task(a, b) for a, b in tasks.tolist()), strict=True)
        codes = Codes(*(torch.cat(parts) for parts in zip(*rows, strict=True)))
        weight = torch.cat(weights)
        return write(codes, self.patterns()), weight / len(tasks)

    def _of_task(self, a: int, b: int) -> tuple[Codes, Tensor]:
        bystander = (1 - self.alpha) / (self.M1 - 2) / 2
        cells = [(a, 1.0, self.alpha / 2), (b, -1.0, self.alpha / 2)]
        cells += [(k, sign, bystander) for k in range(self.M1) if k not in (a, b) for sign in (1.0, -1.0)]
        contexts = [(k, sign, kappa, weight / 2) for k, sign, weight in cells for kappa in (-self.K, self.K)]
        queries = [(k, sign, kappa, 0.25) for k, sign in ((a, 1.0), (b, -1.0)) for kappa in (-self.K, self.K)]
        tokens = torch.tensor(list(product(*[range(len(contexts))] * self.l, range(len(queries)))))
        table, last = torch.tensor(contexts, dtype=torch.float64), torch.tensor(queries, dtype=torch.float64)
        entries = torch.cat([table[tokens[:, :-1]], last[tokens[:, -1:]]], 1)
        pattern = entries[..., 0].long()
        return Codes(pattern, torch.zeros_like(pattern), entries[..., 2], entries[..., 1]), entries[..., 3].prod(-1)

    def loss(self, prompts: Prompts, weight: Tensor, score: Tensor, v: Tensor) -> Tensor:
        """Return the mean hinge loss of the layer with W_K^T W_Q = score and the value function phi(p) = v^T p."""
        eye = torch.eye(len(v), dtype=v.dtype)
        a = torch.tensor([1.0, -1.0], dtype=v.dtype)
        q = torch.tensor([self.q], dtype=v.dtype)
        layer = SoftmaxAttentionMLP(W_Q=score, W_K=eye, W_V=eye, W_O=torch.stack([v, -v]), a=a, q=q)
        return (weight * hinge(prompts.y_query * layer(prompts))).sum()


@dataclass(frozen=True)
class FirstPush(Declaration):
    """Exact pushes for the sets ``named``; then W_K^T W_Q after training on ``tested`` against the grown first push.

    named    names of the task sets whose pushes are exact
    score    of the query's own pattern where attention is to be selective, so that its weight is e^score
    sets     trained as one batch: name of the training tasks, norms beta and |q|
    tested   those of ``sets`` that are read
    seeds    models of each set
    """

    law: Enumerated
    named: Several[str]
    score: float
    base: Setting
    sets: Sets
    tested: Sets
    seeds: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if not set(self.tested) <= set(self.sets):
            raise ValueError("only sets that are trained can be tested: take tested out of sets")
        for name in self.named:
            task_set(name, self.law.M1)  # raises for a set that is unknown, or empty over M1 patterns

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Differentiate the loss over all prompts; train, and read the trained maps."""
        pushes = [self._pushes(name) for name in self.named]
        models = train_models(settings_of(self.base, self.sets), self.seeds, seed, device, (0,))[self.base.T]
        forms = np.stack([_form(models[self.sets.index(one)]) for one in self.tested])
        names = {
            "push": ("named key query", "push on W_K^T W_Q"),
            "push_selective": ("named key query", "push at selective attention"),
            "value": ("named key", "push on the value function"),
            "rest": ("named", "rest"),
        }
        columns = {
            name: variable(dims, np.stack([found[k] for found in pushes]), text)
            for k, (name, (dims, text)) in enumerate(names.items())
        }
        return xr.Dataset(
            columns
            | {
                "forms": variable("set seed row column", forms, "W_K^T W_Q between unit vectors"),
                "form": variable("set row column", forms.mean(1), "W_K^T W_Q between unit vectors, mean over seeds"),
            },
            coords={
                "named": list(self.named),
                "set": [f"{tasks}, β={beta:g}" for tasks, beta, _ in self.tested],
                "row": [*(str(k) for k in range(self.base.M1)), "label"],
                "column": range(self.base.M1),
                "seed": range(self.seeds),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the formulas beside the pushes; fit the one free number of each trained map."""
        law, forms, settings = self.law, dataset.forms.values, settings_of(self.base, self.tested)
        named = [task_set(name, law.M1).numpy() for name in self.named]
        gap = coverage.attention_gap(law.alpha, law.l, self.score)
        push = [coverage.expected_push(tasks, law.M1, law.alpha, law.l, law.c) for tasks in named]
        value = [coverage.value_push(tasks, law.M1, gap) for tasks in named]
        grown, swapped = (
            np.stack([[_fitted(one, form) for form in each] for one, each in zip(order, forms, strict=True)])
            for order in (settings, settings[1:] + settings[:1])
        )
        size = np.linalg.norm(forms, axis=(-2, -1))
        return dataset.assign(
            push_theory=variable("named key query", push, "formula"),
            value_theory=variable("named key", value, "formula"),
            form_theory=variable("set row column", grown.mean(1), "grown first push, one fitted number a model"),
            kind=variable("set row column", [_kinds(one) for one in settings], "kind of entry"),
            miss=variable("set seed", np.linalg.norm(forms - grown, axis=(-2, -1)) / size, "relative distance"),
            miss_swapped=variable("set seed", np.linalg.norm(forms - swapped, axis=(-2, -1)) / size, "other tasks"),
        )

    def _pushes(self, name: str) -> tuple[np.ndarray, ...]:
        """Return the pushes at uniform and at selective attention, on the values, and the largest of all other entries."""
        law = self.law
        prompts, weight = law.prompts(task_set(name, law.M1).numpy())
        D, M1 = law.M1 + 2, law.M1  # the patterns, one irrelevant pattern, one label axis
        v = torch.zeros(D, dtype=torch.float64)
        v[-1] = law.c / law.q
        selective = torch.zeros(D, D, dtype=torch.float64)
        selective[range(M1), range(M1)] = self.score / law.beta**2
        at = [-grad(lambda S: law.loss(prompts, weight, S, v))(S) for S in (torch.zeros_like(selective), selective)]
        value = -grad(lambda v: law.loss(prompts, weight, selective, v))(v)
        key = [*range(M1), D - 1]
        length = np.append(np.full(M1, law.beta), law.q)
        uniform, chosen = ((S[key][:, :M1].numpy() / length[:, None] / law.beta) for S in at)
        rest = at[0].clone()
        rest[key, :M1] = 0.0
        return uniform, chosen, value[key].numpy() / length, rest.abs().max().numpy()


def _form(trained: Trained) -> np.ndarray:
    """Return W_K^T W_Q of every seed between unit vectors, rows patterns and label, columns patterns."""
    setting = trained.setting
    key = [*range(setting.M1), setting.M1 + setting.M2]
    return bilinear_form(trained.model())[:, key][:, :, : setting.M1].numpy()


def _fitted(setting: Setting, form: np.ndarray) -> np.ndarray:
    """Return the grown first push whose norm is that of ``form``: the effective time is the one fitted number."""
    tasks, M1 = task_set(setting.tasks, setting.M1).numpy(), setting.M1
    G = coverage.unit_push(tasks, M1, setting.alpha, setting.beta, setting.q)
    longest = 8 / np.linalg.norm(G, 2)
    size = np.linalg.norm(form)

    def grown(tau: float) -> np.ndarray:
        return coverage.grown_form(G, setting.delta, tau)[:, :M1]

    if size <= np.linalg.norm(grown(0.0)):
        return grown(0.0)
    return grown(brentq(lambda tau: np.linalg.norm(grown(tau)) - size, 0.0, longest))


def _kinds(setting: Setting) -> np.ndarray:
    """Return 0 for a pattern with itself, 1 for pairs trained together, 2 for other pairs, 3 for the label."""
    L = coverage.pair_laplacian(task_set(setting.tasks, setting.M1).numpy(), setting.M1)
    return np.vstack([np.where(np.eye(len(L)) > 0, 0, np.where(L < 0, 1, 2)), np.full(len(L), 3)])


SMALL = Enumerated(M1=4, l=3, alpha=0.7, beta=1.5, q=0.8, K=0.4, c=0.1)
NAMED = ("cyclic 1", "cyclic 2", "both directions", "one-sided", "single", "first half")
HALF = replace(A, B=128)
"""Half the batch: many settings fit into one batch of models."""
LONG = (
    *((name, 2.0, 1.0) for name in ("cyclic 1", "cyclic 2", "cyclic 3", "all", "both directions")),
    *(("cyclic 1", 1.0, 1.0), ("both directions", 1.0, 1.0)),
    *UNCOVERED,
)

_QUICK = FirstPush(law=SMALL, named=NAMED, score=0.5, base=SHORT, sets=QUICK, tested=QUICK[:8], seeds=3)
FIRST_PUSH = Experiment(
    slug="li-first-push",
    title="The first push and what grows out of it",
    quick=_QUICK,
    full=replace(_QUICK, base=HALF, sets=LONG, tested=LONG, seeds=10),
)
