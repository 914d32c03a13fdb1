"""li-first-push: the expected first push on attention and values, enumerated, and the maps that training makes of it."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
import xarray as xr
from scipy.optimize import brentq
from torch import Tensor
from torch.func import grad

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.li.trained import A, Setting, Trained, train_models
from icl_lib.experiments.li.unseen_tasks import QUICK, SHORT, UNCOVERED, Sets, settings_of
from icl_lib.measure.classification import hinge
from icl_lib.measure.mechanism import bilinear_form
from icl_lib.models.softmax_attention import SoftmaxAttentionMLP
from icl_lib.results import variable
from icl_lib.tasks.patterns import Codes, Patterns, orthogonal_patterns, write
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.task_sets import task_set
from icl_lib.theory.li import coverage


@dataclass(frozen=True)
class Enumerated:
    """Every prompt of a small law with its probability; kappa is +K or -K, one irrelevant pattern, an odd length l."""

    M1: int
    l: int
    alpha: float
    beta: float
    q: float
    K: float
    c: float

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
class FirstPush:
    """Exact pushes for the sets ``named``; then W_K^T W_Q after training on ``tested`` against the grown first push.

    ``sets`` are trained as one batch, ``tested`` are those of them that are read; ``score`` is e^score, the weight of the
    query's own pattern, where attention is to be selective.
    """

    law: Enumerated
    named: tuple[str, ...]
    score: float
    base: Setting
    sets: Sets
    tested: Sets
    seeds: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Differentiate the loss over all prompts; train, and fit the one free number of each trained map."""
        pushes = [self._pushes(name) for name in self.named]
        models = train_models(settings_of(self.base, self.sets), self.seeds, seed, device, (0,))[self.base.T]
        trained = [models[self.sets.index(one)] for one in self.tested]
        forms = np.stack([_form(one) for one in trained])
        grown = np.stack([[_fitted(one.setting, form) for form in each] for one, each in zip(trained, forms, strict=True)])
        others = [one.setting for one in trained[1:] + trained[:1]]
        swapped = np.stack([[_fitted(one, form) for form in each] for one, each in zip(others, forms, strict=True)])
        size = np.linalg.norm(forms, axis=(-2, -1))
        names = ("push", "push_theory", "push_selective", "value", "value_theory", "rest")
        texts = ("push on W_K^T W_Q", "formula", "push at selective attention", "push on the value function", "formula", "rest")
        dims = ("named key query", "named key query", "named key query", "named key", "named key", "named")
        M1 = self.base.M1
        return xr.Dataset(
            {
                name: variable(dim, np.stack([found[k] for found in pushes]), text)
                for k, (name, dim, text) in enumerate(zip(names, dims, texts, strict=True))
            }
            | {
                "form": variable("set row column", forms.mean(1), "W_K^T W_Q between unit vectors, mean over seeds"),
                "form_theory": variable("set row column", grown.mean(1), "grown first push, one fitted number a model"),
                "kind": variable("set row column", np.stack([_kinds(one.setting) for one in trained]), "kind of entry"),
                "miss": variable("set seed", np.linalg.norm(forms - grown, axis=(-2, -1)) / size, "relative distance"),
                "miss_swapped": variable("set seed", np.linalg.norm(forms - swapped, axis=(-2, -1)) / size, "other tasks"),
            },
            coords={
                "named": list(self.named),
                "set": [f"{tasks}, β={beta:g}" for tasks, beta, _ in self.tested],
                "row": [*(str(k) for k in range(M1)), "label"],
                "column": range(M1),
                "seed": range(self.seeds),
            },
        )

    def _pushes(self, name: str) -> tuple[np.ndarray, ...]:
        law, tasks = self.law, task_set(name, self.law.M1).numpy()
        prompts, weight = law.prompts(tasks)
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
        theory = coverage.expected_push(tasks, M1, law.alpha, law.l, law.c)
        value_theory = coverage.value_push(tasks, M1, coverage.attention_gap(law.alpha, law.l, self.score))
        return uniform, theory, chosen, value[key].numpy() / length, value_theory, rest.abs().max().numpy()


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

FIRST_PUSH = Experiment(
    slug="li-first-push",
    title="The first push and what grows out of it",
    paper="li",
    section="3.2",
    notebook="li_3_2_data_and_tasks",
    quick=FirstPush(law=SMALL, named=NAMED, score=0.5, base=SHORT, sets=QUICK, tested=QUICK[:8], seeds=3),
    full=FirstPush(law=SMALL, named=NAMED, score=0.5, base=HALF, sets=LONG, tested=LONG, seeds=10),
)
