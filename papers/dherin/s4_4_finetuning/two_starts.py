"""dherin-two-starts: finetuning and alignment of networks trained alike from two starts, with one patch for many queries."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Declaration, Experiment, expectation, variable, variables
from icl_lib.measure.cosine import cosine
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.s4_4_finetuning.alignment import ALIGNMENT, LABELS, Alignment, error
from papers.dherin.s4_4_finetuning.finetuned import LIKE, Plain, draw_tasks
from papers.dherin.s4_4_finetuning.finetuning import FINETUNING, Finetuning
from papers.dherin.theory import finetuning
from papers.dherin.trained import Training, trained
from papers.dherin.trainings import ONE_BLOCK_NARROWER

STARTS = ("1/columns", "1/(3 columns)")
"""Variance of the matrices before the training."""


@dataclass(frozen=True)
class TwoStarts(Declaration):
    """What ``finetuning`` and ``alignment`` read of their own networks and of those of ``other``.

    queries   of one patch of W for all of them, fitted to the same context: d or more

    Shared stream: two starts/#: the patches of one query and of many are made for the same tasks.
    Shared stream: two starts/#/shuffle: the same finetuning for the patch of one query and of many.
    """

    finetuning: Finetuning
    alignment: Alignment
    other: Training
    queries: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.queries < self.alignment.training.model.d:
            raise ValueError(f"{self.queries} queries leave the patch open in some direction: take d or more")
        if self.finetuning.training != self.alignment.training:
            raise ValueError("loss and alignment are those of the same networks: take one training for both")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read the networks of both starts, and the block whose patch is a step of gradient descent."""
        rows = [self.networks(training, seed, device) for training in (self.alignment.training, self.other)]
        columns = variables(NAMES, rows, "start seed {}", "f4") | variables(EXACT, self.exact(seed), "{}", "f4")
        coords = {"start": list(STARTS), "labels": list(LABELS), "i": self.alignment.marks}
        return xr.Dataset(columns, coords=coords | {"factor": list(self.finetuning.factors), "n": self.finetuning.marks})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the alignment of an exact gradient step with a task learnt beside it."""
        found = finetuning.mean_cosine(self.alignment.training.model.d)
        return dataset.assign(exact_theory=variable("", found, "mean of |cos(w, x)|"))

    def networks(self, training: Training, seed: int, device: str) -> list[dict[str, np.ndarray]]:
        """Return the readings of every network of a training, each on tasks of its own."""
        found, models = [], trained(training, seed, device)
        losses, alignment = (replace(each, training=training) for each in (self.finetuning, self.alignment))
        for s in range(models.replicates):
            plain, role = Plain.of(models.network, models.replicate(s)), f"two starts/{s}"
            prompts, _ = draw_tasks(stream(seed, f"{role}/losses"), (losses.tasks,), losses.N, training.model.d)
            own = losses.losses(plain, prompts, prompts.y, [factor * losses.rate for factor in losses.factors])
            read = alignment.read(plain, seed, role, alignment.tasks, checked=0)
            read |= {"loss_own": own.mean(1)[..., losses.marks]}
            read |= {"loss_patch": losses.patched(plain, prompts, prompts.y).mean(0)[losses.marks]}
            found.append(read | self.joint(plain, alignment, seed, role))
        return found

    def joint(self, plain: Plain, alignment: Alignment, seed: int, role: str) -> dict[str, np.ndarray]:
        """Return the alignment of one patch for all queries, on the tasks of ``Alignment.read``."""
        prompts, w = draw_tasks(stream(seed, role), (alignment.tasks,), alignment.N, self.other.model.d)
        x = normal(stream(seed, f"{role}/joint queries"), (self.queries, *prompts.x_query.shape), LIKE)
        asked = [prompts._replace(x_query=each) for each in x]
        shifts = torch.stack([plain.shift(plain.after(one, alignment.marks), one) for one in asked], -1)
        patch = fitted(plain, shifts, x)
        D = alignment.changes(plain, prompts, w, stream(seed, f"{role}/shuffle"))
        aligned = torch.einsum("tihd,de,ltihe->lti", patch, plain.K, D) / (plain.size(patch) * plain.size(D))
        return {"joint": aligned.mean(1).numpy(), "joint_se": error(aligned)}

    def exact(self, seed: int) -> dict[str, np.ndarray]:
        """Return the alignment of the block of Example 2.5 with W = (0, -1), whose context makes an exact gradient step.

        Its W reads (x, 0), so finetuning moves w_0 alone; the step is sum_j y_j x_j up to its length.
        """
        alignment, d = self.alignment, self.alignment.training.model.d
        prompts, w = draw_tasks(stream(seed, "exact step"), (alignment.tasks,), alignment.N, d)
        S = alignment.changes(Linear(d), prompts, w, stream(seed, "exact step/shuffle"))[:, :, :, 0]
        step = torch.stack([torch.einsum("tn,tnd->td", prompts.y[:, :i], prompts.x[:, :i]) for i in alignment.marks], 1)
        at_query = (step * prompts.x_query[:, None]).sum(-1).sign()
        one = at_query * cosine(S, prompts.x_query[:, None])
        gap, joint = one[0] - one[LABELS.index("mirrored task")], cosine(S, step)
        means = {"exact": one.mean(1), "exact_gap": gap.mean(0), "exact_joint": joint.mean(1)}
        return {name: values.numpy() for name, values in means.items()} | {"exact_gap_se": error(gap)}


class Linear:
    """Finetuning of w in p(x) = <w, x> from w = 0, one example at a time, in the form of ``Plain``: one row."""

    def __init__(self, d: int):
        self.d = d

    def finetune(self, x: Float[Tensor, "... N d"], y: Float[Tensor, "... N"], pace: float) -> Iterator[Tensor]:
        """Yield w after 0, 1, ..., N examples, (..., 1, d)."""
        w = torch.zeros(*(x[..., 0, 0] + y[..., 0]).shape, 1, self.d, dtype=x.dtype)
        yield w
        for x_i, y_i in zip(x.unbind(-2), y.unbind(-1), strict=True):
            w = w - 2 * pace * ((w[..., 0, :] * x_i).sum(-1) - y_i)[..., None, None] * x_i[..., None, :]
            yield w


def fitted(plain: Plain, shifts: Float[Tensor, "t i h K"], x: Float[Tensor, "K t d"]) -> Float[Tensor, "t i h d"]:
    """Return D of the joint patch D G^T of least norm: the least-squares fit of D K x_k to the shifts W Delta A_k."""
    inverse = torch.linalg.pinv(torch.einsum("de,kte->tdk", plain.K, x))
    return torch.einsum("tihk,tkd->tihd", shifts, inverse)


NAMES = {
    "loss_own": ("factor n", "test loss after finetuning at the paper's rate"),
    "loss_patch": ("n", "test loss of the patch of n examples"),
    "alignment": ("labels i", "mean alignment of the patch for one query and of finetuning"),
    "alignment_se": ("labels i", "standard error over tasks"),
    "mirror_gap": ("i", "alignment with true labels minus that with labels of the mirrored task"),
    "mirror_gap_se": ("i", "standard error over tasks"),
    "share": ("i", "mean of kappa, the share of finetuning that the query sees: the ceiling"),
    "label_part": ("i", "share of the label part in the squared length of the patch"),
    "answer": ("i", "mean alignment of finetuning with the gradient step on the query's own label"),
    "joint": ("labels i", "mean alignment of one patch for all queries and of finetuning"),
    "joint_se": ("labels i", "standard error over tasks"),
}
EXACT = {
    "exact": ("labels i", "the same for the block whose patch is an exact gradient step, one query"),
    "exact_gap": ("i", "its alignment with true labels minus that with labels of the mirrored task"),
    "exact_gap_se": ("i", "standard error over tasks"),
    "exact_joint": ("labels i", "its alignment with the whole gradient step"),
}
"""Variables: dimensions beside start and network, and what they are."""

_FINETUNING = replace(FINETUNING.quick, tasks=50, sweep_tasks=2, rates=(0.01,), scales=(1.0,))
_QUICK = TwoStarts(
    finetuning=_FINETUNING, alignment=replace(ALIGNMENT.quick, tasks=80, lengths=5), other=ONE_BLOCK_NARROWER, queries=10
)
_FULL = replace(
    _QUICK, finetuning=replace(_FINETUNING, tasks=1000), alignment=replace(_QUICK.alignment, tasks=500, lengths=10), queries=20
)
TWO_STARTS = Experiment(
    slug="dherin-two-starts", title="The same network from two starts, one patch for many queries", quick=_QUICK, full=_FULL
)
