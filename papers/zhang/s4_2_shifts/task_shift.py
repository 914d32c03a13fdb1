"""zhang-task-shift: tasks that training never drew; how close the trained model comes to the best linear predictor."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import MinLen

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    NotNegative,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
)
from icl_lib.measure.estimate import Estimate
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import CubicLabels, LinearLabels
from papers.regression.spectra import geometric_covariance, stacked_limits, standard_normal
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import gathered, of_blocks, of_theorem
from papers.zhang.theory import error


@dataclass(frozen=True, eq=False)
class BestLinearTarget:
    """The prompts of another distribution, with the best linear predictor's value <a, x_query> as the target."""

    law: LinearLabels | CubicLabels
    a: torch.Tensor

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        prompts = self.law.sample(generator, shape, length)
        return prompts._replace(y_query=torch.einsum("...d,d->...", prompts.x_query, self.a))


@dataclass(frozen=True)
class TaskShift(Declaration):
    """Distance of LSA to the best linear predictor for one fixed linear, noisy or cubic task, and scaled weights.

    d          dimensions of inputs; trace: tr Lambda; kappa: condition number of the covariance
    noise_sd   standard deviation of the noise in noisy labels
    M          test lengths; short_N: the short training length; prompts: test prompts of a label distribution at each (d, M)
    scales     factors on the weights w; scaled_M: N = M for scaled w; scaled_prompts: test prompts, the same for all scales
    The model is trained at N = M ("matched") and at N = short_N ("short").
    Paired stream: task-shift/scale/#: scales are compared on the same prompts.
    """

    d: Several[Count]
    trace: Positive
    kappa: Positive
    noise_sd: NotNegative
    short_N: Count
    M: Annotated[tuple[Count, ...], MinLen(2)]
    prompts: AtLeastTwo
    scales: Several[Positive]
    scaled_M: Count
    scaled_prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if any(short >= long for short, long in pairwise(self.M)):
            raise ValueError(f"M is {self.M}: take rising lengths, along which the distance falls")
        if 1.0 not in self.scales:
            raise ValueError(f"scales are {self.scales}: take 1 as one of them, with which the others are compared")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the distances, then scale the weights."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        Lambda, w = self._task(d, seed)
        laws = self._laws(Lambda, w)
        found = [[self._distance(Lambda, f"{d}/{name}", *law, M, seed) for M in self.M] for name, law in laws.items()]
        squares, errors = ([[getattr(e, part) for e in row] for row in found] for part in Estimate._fields)
        scaled = [[self._scaled_error(Lambda, w, c, sd, seed) for c in self.scales] for sd in (0.0, self.noise_sd)]
        return xr.Dataset(
            {
                "square": variable("labels M training", squares, "E(y_hat - <a, x_query>)^2", "y^2"),
                "square_se": variable("labels M training", errors, "standard error", "y^2"),
                "scaled_error": variable("noise scale", scaled, "E(y_hat - y_query)^2 / scale^2", "y^2"),
            },
            coords={
                "labels": list(laws),
                "M": list(self.M),
                "training": ["matched", "short"],
                "noise": ["none", "fixed"],
                "scale": list(self.scales),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Divide the distances by E y^2 and put variance + bias of Theorem 4.2 beside them."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        Lambda, w = self._task(d, seed)
        laws = [moments for _, moments in self._laws(Lambda, w).values()]
        power = np.array([law.a @ Lambda @ law.a + law.best_linear_error for law in laws])[:, None, None]
        terms = np.array([[[error.error_terms(Lambda, N, M, law) for N in (M, self.short_N)] for M in self.M] for law in laws])
        misses = [[[of_theorem(Lambda, N, M, law) for N in (M, self.short_N)] for M in self.M] for law in laws]
        wrong = gathered(misses, lambda cell: cell.variance + cell.bias)
        columns = {
            "distance": (dataset.square, "E(y_hat - <a, x_query>)^2 / E y^2"),
            "distance_se": (dataset.square_se, "standard error"),
            "distance_theory": (terms[..., 1] + terms[..., 2], "variance + bias of Theorem 4.2, over E y^2"),
        }
        found = dataset.assign(
            {name: variable("labels M training", values / power, text) for name, (values, text) in columns.items()}
        )
        return found.assign(
            distance_near=near_misses("labels M training", {label: values / power for label, values in wrong.items()}),
            distance_se=of_blocks(found.distance_se, self.prompts),
        )

    def _task(self, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda and a w of unit length in its metric."""
        Lambda, w = self.trace / d * geometric_covariance(d, self.kappa, seed), standard_normal((d,), seed, "w")
        return Lambda, w / np.sqrt(w @ Lambda @ w)

    def _laws(self, Lambda: np.ndarray, w: np.ndarray) -> dict:
        """Return the distributions of the labels with their moments."""
        covariance, weights = torch.tensor(Lambda), torch.tensor(w)
        noisy = LinearLabels(covariance, weights, self.noise_sd)
        return {
            "linear": (LinearLabels(covariance, weights, 0.0), error.noiseless_labels(Lambda, w)),
            "noisy": (noisy, error.noisy_labels(Lambda, w, self.noise_sd)),
            "cubic": (CubicLabels(covariance, weights), error.cubic_labels(Lambda, w)),
        }

    def _distance(self, Lambda, name, law, moments, M, seed) -> Estimate:
        model = LinearSelfAttention(*stacked_limits(Lambda, (M, self.short_N)))
        target = BestLinearTarget(law, torch.tensor(moments.a))
        return risk(model, target, prompts=self.prompts, length=M, seed=seed, name=f"task-shift/{name}/{M}")

    def _scaled_error(self, Lambda, w, c, noise_sd, seed) -> float:
        law = LinearLabels(torch.tensor(Lambda), torch.tensor(c * w), noise_sd)
        model = LinearSelfAttention(*stacked_limits(Lambda, (self.scaled_M,)))
        role = f"task-shift/scale/{len(w)}"
        measured = risk(model, law, prompts=self.scaled_prompts, length=self.scaled_M, seed=seed, name=role)
        return float(measured.value[0]) / c**2


_QUICK = TaskShift(
    d=(5, 2),
    trace=5.0,
    kappa=10.0,
    noise_sd=0.5,
    short_N=10,
    M=(10, 40, 160),
    prompts=15_000,
    scales=(1.0, 1 / 3, 0.5, 2.0, 3.0),
    scaled_M=40,
    scaled_prompts=1_000,
)
TASK_SHIFT = Experiment(
    slug="zhang-task-shift",
    title="Task shift: distance to the best linear predictor",
    quick=_QUICK,
    full=replace(_QUICK, M=(10, 40, 160, 640), prompts=120_000, scaled_prompts=10_000),
)
