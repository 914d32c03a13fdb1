"""zhang-task-shift: tasks that training never drew; how close the trained model comes to the best linear predictor."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, stacked_limits, standard_normal
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import variable
from icl_lib.tasks import CubicLabels, LinearLabels, Prompts
from icl_lib.theory.zhang import error


@dataclass(frozen=True, eq=False)
class BestLinearTarget:
    """The prompts of another law, with the best linear predictor's value <a, x_query> as the target."""

    law: LinearLabels | CubicLabels
    a: torch.Tensor

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        prompts = self.law.sample(generator, shape, length)
        return prompts._replace(y_query=torch.einsum("...d,d->...", prompts.x_query, self.a))


@dataclass(frozen=True)
class TaskShift:
    """Distance of LSA to the best linear predictor for one fixed linear, noisy or cubic task, and scaled weights.

    The model is trained at N = M ("matched") and at N = short_N ("short").
    """

    d: int
    kappa: float
    noise_sd: float
    short_N: int
    M: tuple[int, ...]
    prompts: int
    scales: tuple[float, ...]
    scaled_M: int
    scaled_prompts: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the distances, put variance + bias of Theorem 4.2 beside them, then scale the weights."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        w = standard_normal((self.d,), seed, "w")
        w /= np.sqrt(w @ Lambda @ w)
        cells = np.array([[self._cell(Lambda, name, w, M, seed) for M in self.M] for name in self._laws(Lambda, w)])
        scaled = [[self._scaled_error(Lambda, w, c, sd, seed) for c in self.scales] for sd in (0.0, self.noise_sd)]
        names = ("E(y_hat - <a, x_query>)^2 / E y^2", "standard error", "variance + bias of Theorem 4.2, over E y^2")
        terms = ("distance", "distance_se", "distance_theory")
        return xr.Dataset(
            {term: variable("labels M training", cells[:, :, k], names[k]) for k, term in enumerate(terms)}
            | {"scaled_error": variable("noise scale", scaled, "E(y_hat - y_query)^2 / scale^2", "y^2")},
            coords={
                "labels": list(self._laws(Lambda, w)),
                "M": list(self.M),
                "training": ["matched", "short"],
                "noise": ["none", "fixed"],
                "scale": list(self.scales),
            },
        )

    def _laws(self, Lambda: np.ndarray, w: np.ndarray) -> dict:
        covariance, weights = torch.tensor(Lambda), torch.tensor(w)
        noisy = LinearLabels(covariance, weights, self.noise_sd)
        return {
            "linear": (LinearLabels(covariance, weights, 0.0), error.noiseless_labels(Lambda, w)),
            "noisy": (noisy, error.noisy_labels(Lambda, w, self.noise_sd)),
            "cubic": (CubicLabels(covariance, weights), error.cubic_labels(Lambda, w)),
        }

    def _cell(self, Lambda, name, w, M, seed) -> np.ndarray:
        law, moments = self._laws(Lambda, w)[name]
        lengths = (M, self.short_N)
        model = LinearSelfAttention(*stacked_limits(Lambda, lengths))
        target = BestLinearTarget(law, torch.tensor(moments.a))
        role = f"task-shift/{name}/{M}"
        measured = risk(model, target, prompts=self.prompts, length=M, seed=seed, name=role)
        terms = [error.error_terms(Lambda, N, M, moments) for N in lengths]
        theory = [term.variance + term.bias for term in terms]
        return np.stack([*measured, theory]) / (moments.a @ Lambda @ moments.a + moments.best_linear_error)

    def _scaled_error(self, Lambda, w, c, noise_sd, seed) -> float:
        law = LinearLabels(torch.tensor(Lambda), torch.tensor(c * w), noise_sd)
        model = LinearSelfAttention(*stacked_limits(Lambda, (self.scaled_M,)))
        role = "task-shift/scale"
        measured = risk(model, law, prompts=self.scaled_prompts, length=self.scaled_M, seed=seed, name=role)
        return float(measured.value[0]) / c**2


TASK_SHIFT = Experiment(
    slug="zhang-task-shift",
    title="Task shift: distance to the best linear predictor",
    paper="zhang",
    section="4.2",
    notebook="zhang_4_2_shifts",
    quick=TaskShift(
        d=5,
        kappa=10.0,
        noise_sd=0.5,
        short_N=10,
        M=(10, 40, 160),
        prompts=15_000,
        scales=(1.0, 1 / 3, 0.5, 2.0, 3.0),
        scaled_M=40,
        scaled_prompts=1_000,
    ),
    full=TaskShift(
        d=5,
        kappa=10.0,
        noise_sd=0.5,
        short_N=10,
        M=(10, 40, 160, 640),
        prompts=120_000,
        scales=(1.0, 1 / 3, 0.5, 2.0, 3.0),
        scaled_M=40,
        scaled_prompts=10_000,
    ),
)
