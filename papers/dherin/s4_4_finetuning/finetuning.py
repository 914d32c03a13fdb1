"""dherin-finetuning: test loss of finetuning and of the patch over the number of examples, for several learning rates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from icl_lib.measure.estimate import ratio_of_means
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.dherin.s4_4_finetuning.finetuned import Plain, draw_tasks, require_readable
from papers.dherin.theory import finetuning
from papers.dherin.trained import Training, trained
from papers.dherin.trainings import ONE_BLOCK

CEILING = 1e9
"""Losses above this are shown as this: finetuning has diverged."""
CHUNK = 100
"""Tasks whose attention matrices are in memory together."""


@dataclass(frozen=True)
class Finetuning(Declaration):
    """Finetuning of W of trained networks on N examples of new tasks, one at a time, and the patch of the same context.

    tasks    new tasks of a network; sweep_tasks: the first tasks of a network, which meet every rate
    N        examples of a task; rate: the paper's learning rate, which all tasks meet
    rates    learning rates of the sweep; factors: of the loss, factor * (p - y)^2
    scales   s of the rescaled networks (s W, s b, W_out/s), which are finetuned at ``rate`` and at s^2 ``rate``
    """

    training: Training
    tasks: AtLeastTwo
    sweep_tasks: AtLeastTwo
    N: Count
    rate: Positive
    rates: Several[Positive]
    factors: Several[Positive]
    scales: Several[Positive]

    def __post_init__(self):
        super().__post_init__()
        require_readable(self.training)
        if self.sweep_tasks > self.tasks:
            raise ValueError(f"{self.sweep_tasks} of {self.tasks} tasks cannot meet every rate: make sweep_tasks smaller")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Finetune every network on its own tasks; all rates and tasks are one batch."""
        networks = trained(self.training, seed, device)
        found = []
        for s in range(networks.replicates):
            plain = Plain.of(networks.network, networks.replicate(s))
            prompts, w = draw_tasks(stream(seed, f"tasks/{s}"), (self.tasks,), self.N, self.training.model.d)
            few = Prompts(*(part[: self.sweep_tasks] for part in prompts))
            found.append({**self.sweep(plain, few), **self.at_rate(plain, prompts, w), **self.rescale(plain, few)})
        columns = {}
        for name, (dims, dtype, text) in NAMES.items():
            values = np.array([each[name] for each in found], dtype)
            columns[name] = variable(f"seed {dims}", values[..., self.marks] if dims.endswith("i") else values, text)
        columns["rate_of_paper"] = variable("", self.rate, "the paper's learning rate")
        columns["d"] = variable("", self.training.model.d, "dimension of x")
        coords = {"factor": list(self.factors), "rate": list(self.rates), "scale": list(self.scales), "i": self.marks}
        return xr.Dataset(columns, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the predicted losses beside it, and the rate at which they fall."""
        networks = list(zip(dataset.K.values, dataset.u_squared.values, strict=True))
        paces = [factor * self.rate for factor in self.factors]

        def predicted(paces: Sequence[float], before: xr.DataArray, text: str, dim: str = "factor") -> xr.Variable:
            share = [[[finetuning.loss_share(*each, pace, i) for i in self.marks] for pace in paces] for each in networks]
            return variable(f"seed {dim} i", np.array(before.values[:, None, None] * share, "f4"), text)

        own = "predicted test loss after finetuning at the paper's rate"
        speed = [u_squared * np.trace(K) / len(K) for K, u_squared in networks]
        return dataset.assign(
            loss_theory=predicted(self.rates, dataset.loss_few, "predicted test loss after finetuning with factor 1", "rate"),
            loss_own_theory=predicted(paces, dataset.loss_before, own),
            loss_doubled=predicted([2 * pace for pace in paces], dataset.loss_before, "the same with twice the exponent"),
            speed=variable("seed", speed, "|u|^2 tr K/d: rate at which the loss falls, over rate times factor"),
        )

    @property
    def marks(self) -> list[int]:
        """The numbers of examples that are kept: all up to 10, then a logarithmic grid."""
        first = min(10, self.N)
        return sorted({*range(first + 1), *(round(i) for i in np.geomspace(first, self.N, 14))})

    def sweep(self, plain: Plain, prompts: Prompts) -> dict[str, np.ndarray]:
        """Return loss curves of finetuning at every factor and rate."""
        grid = [factor * rate for factor in self.factors for rate in self.rates]
        paces = sorted(set(grid))
        losses = self.losses(plain, prompts, prompts.y, paces)[[paces.index(pace) for pace in grid]]
        shape = (len(self.factors), len(self.rates), self.N + 1)
        return {
            "loss": losses.mean(1).reshape(shape),
            "loss_se": standard_error(losses).reshape(shape),
            "loss_few": losses[0, :, 0].mean(),
        }

    def at_rate(self, plain: Plain, prompts: Prompts, w: Tensor) -> dict[str, np.ndarray]:
        """Return loss curves at the paper's rate, and of the patch, with true labels and with those of another task."""
        paces = [factor * self.rate for factor in self.factors]
        wrong = torch.einsum("tnd,td->tn", prompts.x, w.roll(1, 0))
        own, other = (self.losses(plain, prompts, y, paces) for y in (prompts.y, wrong))
        patch, patch_other = (self.patched(plain, prompts, y) for y in (prompts.y, wrong))
        fallen = ratio_of_means(torch.from_numpy(own).mT, torch.from_numpy(patch[:, 0]))
        return {
            "loss_own": own.mean(1),
            "loss_own_se": standard_error(own),
            "fallen": fallen.value,
            "fallen_se": fallen.standard_error,
            "loss_other": other.mean(1),
            "loss_patch": patch.mean(0),
            "loss_patch_se": standard_error(patch[None])[0],
            "loss_patch_other": patch_other.mean(0),
            "loss_before": patch[:, 0].mean(),
            "K": plain.K.numpy(),
            "u_squared": plain.u.square().sum().item(),
        }

    def rescale(self, plain: Plain, prompts: Prompts) -> dict[str, np.ndarray]:
        """Return the curves of the rescaled networks at ``rate``, and how far those at s^2 rate are from the first ones."""

        def curve(network: Plain, rate: float) -> np.ndarray:
            return self.losses(network, prompts, prompts.y, [rate])[0].mean(0)

        before = curve(plain, self.rate)
        curves = np.array([curve(plain.rescaled(s), self.rate) for s in self.scales])
        same = np.array([curve(plain.rescaled(s), self.rate * s**2) for s in self.scales])
        error, unequal = (np.max(abs(each - before) / before, -1) for each in (same, curves))
        return {"loss_scaled": curves, "rescaling_error": error, "rescaling_error_same_rate": unequal}

    def patched(self, plain: Plain, prompts: Prompts, y: Tensor) -> np.ndarray:
        """Return squared errors at the query, W patched with the first 0 .. N examples and labels y, (task, N + 1)."""
        found = []
        for first in range(0, self.tasks, CHUNK):
            part = Prompts(*(each[first : first + CHUNK] for each in prompts._replace(y=y)))
            shift = plain.shift(plain.after(part, list(range(self.N + 1))), part)
            found.append(plain.output(plain.hidden(part.x_query)[:, None] + shift))
        return squared_errors(torch.cat(found), prompts)

    def losses(self, plain: Plain, prompts: Prompts, y: Tensor, paces: list[float]) -> np.ndarray:
        """Return squared errors at the query after 0 .. N examples, (pace, task, N + 1)."""
        steps = plain.finetune(prompts.x, y, torch.tensor(paces, dtype=torch.float64)[:, None])
        p = torch.stack([plain.output(plain.hidden(prompts.x_query, D)) for D in steps], -1)
        return squared_errors(p, prompts)


def squared_errors(p: Tensor, prompts: Prompts) -> np.ndarray:
    """Return (p - y)^2 at the query, (..., task, N + 1), at most ``CEILING``."""
    return (p - prompts.y_query[:, None]).square().nan_to_num(nan=CEILING).clamp(max=CEILING).numpy()


def standard_error(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over tasks, dimension 1."""
    return values.std(1, ddof=1) / values.shape[1] ** 0.5


NAMES = {
    "loss": ("factor rate i", "f4", "test loss after finetuning on i examples"),
    "loss_se": ("factor rate i", "f4", "standard error over tasks"),
    "loss_few": ("", "f8", "test loss before finetuning, tasks of the sweep"),
    "loss_own": ("factor i", "f4", "test loss after finetuning at the paper's rate, more tasks"),
    "loss_own_se": ("factor i", "f4", "standard error over tasks"),
    "fallen": ("factor i", "f8", "test loss after finetuning at the paper's rate over that before"),
    "fallen_se": ("factor i", "f8", "standard error over tasks, those of both in common"),
    "loss_before": ("", "f8", "test loss before finetuning, all tasks"),
    "loss_patch": ("i", "f4", "test loss of the patch of i examples"),
    "loss_patch_se": ("i", "f4", "standard error over tasks"),
    "K": ("row column", "f8", "K = G^T G, A(x) = G x"),
    "u_squared": ("", "f8", "|u|^2"),
    "loss_other": ("factor i", "f4", "test loss after finetuning at the paper's rate on labels of another task"),
    "loss_patch_other": ("i", "f4", "test loss of the patch of i examples with labels of another task"),
    "loss_scaled": ("scale i", "f4", "test loss of the rescaled network, finetuned at the paper's rate"),
    "rescaling_error": ("scale", "f8", "largest relative distance to the curve of the first network, rate times s^2"),
    "rescaling_error_same_rate": ("scale", "f8", "the same with the rate left as it is"),
}
"""Variables: dimensions beside the network, type on disk, and what they are."""

_QUICK = Finetuning(
    training=ONE_BLOCK,
    tasks=150,
    sweep_tasks=20,
    N=100,
    rate=0.01,
    rates=(0.01, 0.1, 1.0),
    factors=(1.0, 0.5),
    scales=(0.6, 1.7),
)
FINETUNING = Experiment(
    slug="dherin-finetuning",
    title="Finetuning one example at a time against the patch",
    quick=_QUICK,
    full=replace(_QUICK, tasks=3000, sweep_tasks=300, rates=(0.003, 0.01, 0.02, 0.03, 0.1, 0.3, 1.0)),
)
