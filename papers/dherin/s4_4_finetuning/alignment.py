"""dherin-alignment: cosine of the patch and of what finetuning changes, with its ceiling, its reason and its controls."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, expectation, near_misses, variable
from icl_lib.measure.cosine import cosine
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, normal
from papers.dherin.s4_4_finetuning.finetuned import LIKE, Finetunable, Plain, draw_tasks, require_readable
from papers.dherin.theory import finetuning
from papers.dherin.trained import Training, trained
from papers.dherin.trainings import ONE_BLOCK

LABELS = ("true", "another task", "shuffled", "mirrored task", "query's label reversed", "negated")
"""Labels that finetuning sees; the patch always sees the true ones.

The mirrored task has the same label at the query and the opposite slope across it. With the query's label reversed it
is the other way round.
"""


@dataclass(frozen=True)
class Alignment(Declaration):
    """Alignment after i examples, i from 1 to N on a logarithmic grid of ``lengths`` values.

    tasks             tasks of each trained network
    N                 examples of a task; lengths: points of the logarithmic grid of i, before those that round alike are merged
    pace              learning rate times the factor of the loss
    checked           tasks of a trained network whose alignment is taken from full matrices, too
    untrained         networks as drawn at the start of the training
    untrained_tasks   tasks of an untrained network
    queries           fresh queries a task, for the mean of kappa^2
    One size: d: that of the shipped networks; the formula meets draws in other dimensions in its tests.
    """

    training: Training
    tasks: AtLeastTwo
    N: Count
    lengths: AtLeastTwo
    pace: Positive
    checked: Count
    untrained: AtLeastTwo
    untrained_tasks: AtLeastTwo
    queries: Count

    def __post_init__(self):
        super().__post_init__()
        require_readable(self.training)
        if self.checked > self.tasks:
            raise ValueError(f"{self.checked} of {self.tasks} tasks cannot be checked: take checked of at most tasks")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Finetune every network on its own tasks with every kind of labels, and compare with the patch."""
        networks = trained(self.training, seed, device)
        found = [
            self.read(Plain.of(networks.network, networks.replicate(s)), seed, f"trained/{s}", self.tasks)
            for s in range(networks.replicates)
        ]
        starts = networks.network.start(stream(seed, "untrained"), (self.untrained,), LIKE)
        others = []
        for s in range(self.untrained):
            plain = Plain.of(networks.network, {name: weight[s] for name, weight in starts.items()})
            others.append(self.read(plain, seed, f"untrained/{s}", self.untrained_tasks, checked=0))
        columns = {
            name: variable(f"seed {dims}", np.array([each[name] for each in found], dtype), text)
            for name, (dims, dtype, text) in NAMES.items()
        }
        for name in ("alignment", "alignment_label"):
            values = np.array([np.reshape(each[name], (-1, len(self.marks)))[0] for each in others], "f4")
            columns[f"{name}_untrained"] = variable("start i", values, f"{NAMES[name][2]}, untrained networks, true labels")
        return xr.Dataset(columns, coords={"i": self.marks, "labels": list(LABELS)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put beside it what the cosine of S with u (G w)^T comes to, the mean of kappa^2 over queries, and near misses."""
        d, approach, ceiling, quotient, error = self.training.model.d, [], [], [], []
        for s, (K, gram) in enumerate(zip(dataset.K.values, dataset.gram.values, strict=True)):
            _, w = draw_tasks(stream(seed, f"trained/{s}"), (self.tasks,), self.N, d)
            approach.append(np.mean([[finetuning.approach(K, each, i) for i in self.marks] for each in w.numpy()], 0))
            each, other = (
                np.einsum("tidg,de,ef,fg->ti", gram, K, M, K) for M in (finetuning.mean_direction(K), np.eye(d) / np.trace(K))
            )
            ceiling.append(each.mean(0))
            quotient.append(other.mean(0))
            error.append((dataset.ceiling_of.values[s] - each).std(0, ddof=1) / self.tasks**0.5)  # paired: the same S
        near = {"1/(d + 1) for 1/d": np.array(ceiling) * d / (d + 1), "the quotient of means for the mean quotient": quotient}
        kappa = "mean of kappa^2 over queries that finetuning does not know"
        tasks = {"long_name": "standard error over tasks", "units": "1", "blocks": self.tasks}
        return dataset.assign(
            towards_mean_theory=variable("seed i", np.array(approach, "f4"), "cosine for many examples and slow finetuning"),
            ceiling=dataset.ceiling_of.mean("task").assign_attrs(dataset.ceiling_of.attrs),
            ceiling_theory=variable("seed i", np.array(ceiling), kappa),
            ceiling_near=near_misses("seed i", near),
            ceiling_se=(("seed", "i"), np.array(error), tasks),
        )

    @property
    def marks(self) -> list[int]:
        """The numbers of examples at which the alignment is read."""
        return sorted({round(i) for i in np.geomspace(1, self.N, self.lengths)})

    def read(self, plain: Plain, seed: int, name: str, tasks: int, checked: int | None = None) -> dict[str, np.ndarray]:
        """Return all readings of one network."""
        prompts, w = draw_tasks(stream(seed, name), (tasks,), self.N, self.training.model.d)
        a_full = plain.after(prompts, self.marks)
        shift = plain.shift(a_full, prompts)  # task, i, H
        D = self.changes(plain, prompts, w, stream(seed, f"{name}/shuffle"))  # label, task, i, H, d
        seen = plain.moved(D, prompts.x_query[:, None])
        a = prompts.x_query @ plain.G.mT
        kappa = seen.norm(dim=-1) / (plain.size(D) * a.norm(dim=-1)[:, None])
        rho = cosine(shift, seen)
        found = self.parts(plain, prompts, shift, D[0], (D[0] - D[LABELS.index("negated")]) / 2)
        found |= self.reasons(plain, prompts, w, shift, D, (kappa * rho)[0])
        cell = {"alignment": kappa * rho, "alignment_query": rho[0], "share": kappa[0]}
        found["ceiling_of"] = self.ceiling(plain, D[0], stream(seed, f"{name}/queries")).numpy()
        cell["mirror_gap"] = cell["alignment"][0] - cell["alignment"][LABELS.index("mirrored task")]
        found |= {key: value.mean(-2).numpy() for key, value in cell.items()}
        found |= {f"{key}_se": error(cell[key]) for key in ("alignment", "mirror_gap")}
        found["positive"] = (cell["alignment"] > 0).double().mean(-2).numpy()
        checked = self.checked if checked is None else checked
        exact = self.exact(plain, prompts, a_full, checked)
        wrong = rho[0] * share_at(plain, D[0], a_full)
        for key, value in (("factor_error", cell["alignment"][0]), ("factor_error_full", wrong)):
            found[key] = (value[:checked] - exact).abs().numpy().max(initial=0)
        return found

    def changes(self, plain: Finetunable, prompts: Prompts, w: Tensor, shuffle: torch.Generator) -> Tensor:
        """Return D of finetuning on every kind of labels, (label, task, i, H, d)."""
        x, y, x_query, y_query = prompts
        slope = 2 * (y_query / x_query.square().sum(-1))[:, None] * torch.einsum("tnd,td->tn", x, x_query)
        order = torch.rand(y.shape, generator=shuffle, dtype=y.dtype).argsort(-1)
        other = torch.einsum("tnd,td->tn", x, w.roll(1, 0))
        labels = torch.stack([y, other, y.gather(-1, order), slope - y, y - slope, -y])
        marks = self.marks
        return torch.stack([D for i, D in enumerate(plain.finetune(x, labels, self.pace)) if i in marks], -3)

    def ceiling(self, plain: Plain, D: Tensor, generator: torch.Generator) -> Tensor:
        """Return the mean of kappa^2 over fresh queries, (task, i); kappa is the alignment of a change with a query."""
        length, found = plain.size(D).square(), 0
        for x in normal(generator, (self.queries, len(D), D.shape[-1]), LIKE):
            found = found + plain.moved(D, x[:, None]).square().sum(-1) / (x @ plain.G.mT).square().sum(-1)[:, None]
        return found / length / self.queries

    def parts(self, plain: Plain, prompts: Prompts, shift: Tensor, D: Tensor, D_label: Tensor) -> dict[str, np.ndarray]:
        """Return the alignment of the label parts: half the difference between true and negated labels, of both changes."""
        negated = plain.shift(plain.after(prompts._replace(y=-prompts.y), self.marks), prompts)
        part = (shift - negated) / 2
        seen = plain.moved(D_label, prompts.x_query[:, None])
        length = plain.size(D_label) * (prompts.x_query @ plain.G.mT).norm(dim=-1)[:, None]
        both = (part * seen).sum(-1) / (part.norm(dim=-1) * length)
        first = share_at(plain, D, (prompts.x[:, :1] @ plain.G.mT).expand(-1, D.shape[1], -1))
        return {
            "alignment_label": both.mean(0).numpy(),
            "alignment_label_se": error(both),
            "label_part": (part.square().sum(-1) / shift.square().sum(-1)).mean(0).numpy(),
            "share_squared_first": first.square().mean(0).numpy(),
        }

    def reasons(
        self, plain: Plain, prompts: Prompts, w: Tensor, shift: Tensor, D: Tensor, aligned: Tensor
    ) -> dict[str, np.ndarray]:
        """Return what may explain the alignment: the mean change u (G w)^T, the span of S, and the answer written in."""
        x, K, shuffled, D = prompts.x_query, plain.K, D[LABELS.index("shuffled")], D[0]
        size = plain.size(D)
        mean = plain.u[:, None] * w[:, None, None, :]  # u w^T, and G^T on its right
        towards, by_chance = (
            torch.einsum("tihd,de,tihe->ti", each, K, mean.expand_as(each)) / (plain.size(each) * plain.size(mean))
            for each in (D, shuffled)
        )
        patch_mean = cosine(shift, plain.moved(mean, x[:, None])) * share_at(plain, mean, (x @ plain.G.mT)[:, None])
        gram = torch.einsum("tihd,tihg,ti->tidg", D, D, size**-2)
        hidden = plain.hidden(x)
        gates, gap = (hidden > 0) * plain.u, prompts.y_query - plain.output(hidden)
        wrong = prompts.y_query.roll(1) - plain.output(hidden)
        seen, length = plain.moved(D, x[:, None]), size * (x @ plain.G.mT).norm(dim=-1)[:, None]
        answer = (gates[:, None] * seen).sum(-1) / (gates.norm(dim=-1)[:, None] * length)
        cell = {"towards_mean": towards, "alignment_mean": patch_mean, "answer": answer * gap.sign()[:, None]}
        cell |= {"towards_mean_shuffled": by_chance, "answer_wrong": answer * wrong.sign()[:, None]}
        cell["apart"] = aligned - patch_mean
        found = {name: values.mean(0).numpy() for name, values in cell.items()}
        found |= {f"{name}_se": error(cell[name]) for name in ("towards_mean", "answer", "apart")}
        return found | {"gram": gram.numpy(), "K": K.numpy()}

    def exact(self, plain: Plain, prompts: Prompts, a_full: Tensor, checked: int) -> Tensor:
        """Return the alignment of some tasks by its definition: full matrices, and gradients by automatic differentiation."""
        x, y, x_query, _ = (part[:checked] for part in prompts)
        W, bare = plain.weights["W"], x_query @ plain.G.mT
        path = [W.expand(checked, -1, -1)]
        for a_i, y_i in zip((x @ plain.G.mT).unbind(1), y.unbind(1), strict=True):
            now = path[-1].clone().requires_grad_()
            p = plain.output(torch.einsum("thk,tk->th", now, a_i) + plain.weights["b"])
            path.append(path[-1] - self.pace * torch.autograd.grad((p - y_i).square().sum(), now)[0])
        S = torch.stack([path[i] for i in self.marks], 1) - W
        patch = redirection(W, bare[:, None].expand_as(a_full[:checked]), a_full[:checked])
        return cosine(patch.flatten(-2), S.flatten(-2))


def share_at(plain: Plain, D: Tensor, vector: Tensor) -> Tensor:
    """Return |S v|/(|S| |v|) for vectors v that W might read."""
    seen = torch.einsum("tihd,kd,tik->tih", D, plain.G, vector)
    return seen.norm(dim=-1) / (plain.size(D) * vector.norm(dim=-1))


def error(values: Tensor) -> np.ndarray:
    """Return the standard error of the mean over tasks, the last dimension but one."""
    return (values.std(-2) / values.shape[-2] ** 0.5).numpy()


NAMES = {
    "alignment": ("labels i", "f4", "mean alignment of the patch and of finetuning"),
    "alignment_se": ("labels i", "f4", "standard error over tasks"),
    "positive": ("labels i", "f4", "share of tasks with positive alignment"),
    "alignment_query": ("i", "f4", "mean of rho, the alignment of both changes applied to A(x)"),
    "share": ("i", "f4", "mean of kappa, the share of finetuning that the query sees: the ceiling"),
    "ceiling_of": ("task i", "f4", "mean of kappa^2 over fresh queries"),
    "share_squared_first": ("i", "f4", "mean of kappa^2 at the first example in place of the query"),
    "mirror_gap": ("i", "f4", "alignment with true labels minus that with labels of the mirrored task"),
    "mirror_gap_se": ("i", "f4", "standard error over tasks"),
    "alignment_label": ("i", "f4", "mean alignment of the label parts"),
    "alignment_label_se": ("i", "f4", "standard error over tasks"),
    "label_part": ("i", "f4", "share of the label part in the squared length of the patch"),
    "towards_mean": ("i", "f4", "mean cosine of what finetuning changes and u (G w)^T"),
    "towards_mean_se": ("i", "f4", "standard error over tasks"),
    "towards_mean_shuffled": ("i", "f4", "the same for finetuning on shuffled labels"),
    "alignment_mean": ("i", "f4", "mean alignment of the patch and u (G w)^T"),
    "apart": ("i", "f4", "alignment of the patch with finetuning minus that with u (G w)^T"),
    "apart_se": ("i", "f4", "standard error over tasks"),
    "answer": ("i", "f4", "mean alignment of finetuning with the gradient step on the query's own label"),
    "answer_se": ("i", "f4", "standard error over tasks"),
    "answer_wrong": ("i", "f4", "the same with another query's label"),
    "gram": ("task i row column", "f4", "D^T D/|S|^2, S = D G^T what finetuning changes"),
    "K": ("row column", "f8", "K = G^T G, A(x) = G x"),
    "factor_error": ("", "f8", "largest distance between kappa rho and the alignment of the full matrices"),
    "factor_error_full": ("", "f8", "the same with A(C_i, x) in place of A(x) in kappa"),
}
"""Variables: dimensions beside the network, type on disk, and what they are."""

_QUICK = Alignment(
    training=ONE_BLOCK, tasks=120, N=100, lengths=8, pace=0.01, checked=1, untrained=4, untrained_tasks=20, queries=64
)
ALIGNMENT = Experiment(
    slug="dherin-alignment",
    title="Alignment of the patch and of finetuning",
    quick=_QUICK,
    full=replace(_QUICK, tasks=500, lengths=14, checked=10, untrained=48, untrained_tasks=100, queries=128),
)
