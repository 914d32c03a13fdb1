"""lenses-lu-tasks: linear attention trained on k tasks, by sampled prompts as Lu et al. do and by infinitely many."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from icl_lib.seeds import stream
from papers.lenses import published
from papers.lenses.s5_task_sets import exact
from papers.lenses.s5_task_sets.draws import unit_tasks
from papers.lenses.theory import task_sets as theory
from papers.regression import shapes

CHUNK = 2000
"""Prompts that are drawn at a time."""


@dataclass(frozen=True)
class LuTasks(Declaration):
    """k = kappa d tasks on |w| = 1, N = alpha d examples a prompt, tau d^2 prompts with one query each, as Lu et al. have it.

    The gap of a layer is its error on new tasks less that on its own.

    d        dimensions in which layers are trained on sampled prompts; sets: sets of tasks in each
    kappa    tasks over dimensions, as they publish; alpha: examples of a prompt over d; tau: prompts of a training over d^2
    noise    standard deviation of the labels' noise
    long     tau of longer trainings in the first dimension
    optima   sets of tasks over which the optimum of infinitely many prompts is averaged
    """

    d: Several[Annotated[int, Ge(5)]]
    sets: Several[AtLeastTwo]
    kappa: Several[Positive]
    alpha: Count
    tau: AtLeastTwo
    noise: Positive
    long: AtLeastTwo
    optima: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, sets=self.sets)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit layers with and without the energy to the labels of queries."""
        shape = len(self.d), len(self.kappa)
        gaps = [self._gaps(seed, place, kappa, self.tau) for place in range(len(self.d)) for kappa in self.kappa]
        means = np.array([each.mean(0) for each in gaps]).reshape(*shape, 2)
        errors = np.array([each.std(0, ddof=1) / len(each) ** 0.5 for each in gaps]).reshape(*shape, 2)
        long = [self._gaps(seed, 0, kappa, self.long)[:, 0] for kappa in self.kappa]
        columns = {
            "trained": variable("small kappa", means[..., 0], "gap after training on sampled prompts"),
            "trained_se": variable("small kappa", errors[..., 0], "standard error over sets of tasks"),
            "trained_alone": variable("small kappa", means[..., 1], "the same without the energy"),
            "long": variable("kappa set", long, "gap after training on many prompts"),
        }
        return xr.Dataset(columns, coords={"small": list(self.d), "kappa": list(self.kappa)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the optimum of infinitely many prompts beside it, and what Lu et al. publish."""
        optima = [
            [self._optima(self._sets(seed, "optima", self.optima, d, each), d) for each in self.kappa] for d in published.GAP
        ]
        optimum, alone = np.moveaxis(np.array(optima), 2, 0)
        found = [_place(kappa) for kappa in self.kappa]
        gap = np.array([[published.GAP[d][place] for place in found] for d in published.GAP])
        spread = np.array([[published.SPREAD[d][place] for place in found] for d in published.GAP])
        many = [theory.many_dimensions(self.alpha, kappa, self.noise) for kappa in self.kappa]
        own = np.array(
            [self._optima(self._sets(seed, "trained", self.sets[0], self.d[0], each), self.d[0]) for each in self.kappa]
        )
        words = "gap of the optimum of infinitely many prompts"
        dims, root = "d kappa", self.optima**0.5
        told = {
            "published": variable(dims, gap, "gap that Lu et al. publish"),
            "published_se": variable(dims, spread / published.SETS**0.5, "their spread over the root of 20"),
            "optimum": variable(dims, optimum.mean(-1), words),
            "optimum_se": variable(dims, optimum.std(-1, ddof=1) / root, "standard error over sets of tasks"),
            "alone": variable(dims, alone.mean(-1), f"{words}, without the energy"),
            "many": variable("kappa", many, "the same in many dimensions"),
            "long_theory": variable("kappa set", own[..., 0, :], words),
            "long_alone": variable("kappa set", own[..., 1, :], f"{words}, without the energy"),
        }
        return dataset.assign(told).assign_coords(d=list(published.GAP))

    def _sets(self, seed: int, role: str, sets: int, d: int, kappa: float) -> Float[np.ndarray, "sets k d"]:
        return unit_tasks(sets, int(kappa * d), d, seed, f"lu tasks/{role}/{d}/{kappa:g}")

    @expectation
    def _optima(self, sets: Float[np.ndarray, "sets k d"], d: int) -> Float[np.ndarray, "two sets"]:
        """Return the gaps of the optimum with and without the energy, for each set."""
        N, new = self.alpha * d, theory.new_tasks(d, self.noise)
        own = [theory.moments(w, self.noise) for w in sets]
        layers = [[make(each, N) for each in own] for make in (theory.optimum, theory.second_moments_alone)]
        gaps = [
            [theory.error(a, new, N) - theory.error(a, each, N) for a, each in zip(row, own, strict=True)] for row in layers
        ]
        return np.array(gaps)

    def _gaps(self, seed: int, place: int, kappa: float, tau: int) -> Float[np.ndarray, "sets two"]:
        """Return the gaps of trained layers, with and without the energy, for each set of tasks."""
        d, sets = self.d[place], self._sets(seed, "trained", self.sets[place], self.d[place], kappa)
        return np.array([self._gap(w, tau, stream(seed, f"lu tasks/{d}/{kappa:g}/{tau}/{j}")) for j, w in enumerate(sets)])

    def _gap(self, w: Float[np.ndarray, "k d"], tau: int, draws: torch.Generator) -> list[float]:
        (k, d), N = w.shape, self.alpha * w.shape[1]
        tasks = torch.tensor(w).repeat(round(tau * d**2 / k), 1)
        square, cross = (
            torch.zeros(d * (d + 1), d * (d + 1), dtype=torch.float64),
            torch.zeros(d * (d + 1), dtype=torch.float64),
        )
        for some in tasks.split(CHUNK):
            read, target = self._read(some, N, draws)
            square, cross = square + read.mT @ read, cross + read.mT @ target
        own, new = exact.law(w, self.noise), exact.new_law(d, self.noise)
        found = []
        for width in (d + 1, d):
            kept = torch.arange(d * (d + 1)).reshape(d, d + 1)[:, :width].flatten()
            fitted = torch.linalg.solve(square[kept][:, kept], cross[kept]).reshape(d, width).numpy()
            K = np.pad(fitted, ((0, 0), (0, d + 1 - width))).T
            found.append(exact.risk(K, new, N)[0] - exact.risk(K, own, N)[0])
        return found

    def _read(self, w: Float[Tensor, "B d"], N: int, draws: torch.Generator) -> tuple[Float[Tensor, "B P"], Float[Tensor, "B"]]:
        """Draw prompts; return what is linear in the weights, query times (h; e), and the query's label."""
        B, d = w.shape
        x = torch.randn(B, N, d, generator=draws)
        y = torch.einsum("bnd,bd->bn", x, w.float()) + self.noise * torch.randn(B, N, generator=draws)
        h, e = torch.einsum("bn,bnd->bd", y, x) / N, y.square().mean(-1)
        x_q = torch.randn(B, d, generator=draws, dtype=torch.float64)
        y_q = (x_q * w).sum(-1) + self.noise * torch.randn(B, generator=draws, dtype=torch.float64)
        return torch.einsum("bi,ba->bia", x_q, torch.cat([h, e[:, None]], -1).double()).flatten(1), y_q


@expectation
def _place(kappa: float) -> int:
    """Return where Lu et al. publish a kappa."""
    if kappa not in published.KAPPA:
        raise ValueError(f"kappa is {kappa:g}: take some of {', '.join(f'{each:g}' for each in published.KAPPA)}, as published")
    return published.KAPPA.index(kappa)


_QUICK = LuTasks(
    d=(10,),
    sets=(10,),
    kappa=(0.2, 0.6, 1.0),
    alpha=published.ALPHA,
    tau=published.TAU,
    noise=published.NOISE_VARIANCE**0.5,
    long=40,
    optima=40,
)
LU_TASKS = Experiment(
    slug="lenses-lu-tasks",
    title="Linear attention on k training tasks, beside published points",
    quick=_QUICK,
    full=replace(_QUICK, d=(10, 32), sets=(20, 8), kappa=(0.2, 0.4, 0.6, 0.8, 1.0, 1.2), long=160, optima=200),
)
