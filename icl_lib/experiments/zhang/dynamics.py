"""zhang-dynamics: Lemma 5.2 is the gradient flow of the layer's population loss, and the loss falls along it."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch.func import grad

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.exact_prompts import exact_loss
from icl_lib.experiments.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow
from icl_lib.experiments.zhang.spectra import geometric_covariance, standard_normal
from icl_lib.results import variable
from icl_lib.theory.zhang import dynamics, optimum
from icl_lib.theory.zhang.dynamics import Weights


@dataclass(frozen=True)
class Dynamics:
    """Velocities at random points of the slice u_12 = u_21 = 0, for small (d, N); loss along flows, for larger ones."""

    small: tuple[tuple[int, int], ...]
    points: int
    flows: tuple[tuple[int, int, float], ...]
    sigma: float
    growth_times: float
    times: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compare Lemma 5.2 with the layer's exact gradient, the gap with its square, and follow the loss in time."""
        at_points = np.array([self._at_points(d, N, seed) for d, N in self.small])
        along = np.array([self._along_flow(d, N, kappa, seed) for d, N, kappa in self.flows])
        names = {
            "velocity_error": "|velocity + gradient of the layer's loss|, relative",
            "velocity_error_mean_context": "the same with Lambda^2 for E[Lambda_hat^2]",
            "gap_error": "|gap as a squared norm - (loss - minimum)|, relative",
            "gap_error_unweighted": "the same without the factor Gamma^1/2",
        }
        columns = {name: variable("size point", at_points[:, k], text) for k, (name, text) in enumerate(names.items())}
        return xr.Dataset(
            columns
            | {
                "loss": variable("flow time", along[:, 0], "loss along the flow, over its minimum"),
                "loss_towards_plain": variable("flow time", along[:, 1], "the same along the flow with Lambda for Gamma"),
            },
            coords={
                "size": [f"d={d}, N={N}" for d, N in self.small],
                "flow": [f"d={d}, N={N}, κ={kappa:g}" for d, N, kappa in self.flows],
                "time": ("time", self._times(), {"long_name": "time, in growth times 1/||Lambda^2||_F"}),
            },
        )

    def _times(self) -> np.ndarray:
        return np.append(0.0, np.geomspace(0.3, self.growth_times, self.times - 1))

    def _at_points(self, d: int, N: int, seed: int) -> np.ndarray:
        Lambda = geometric_covariance(d, 4.0, seed, f"basis/{d}/{N}")
        gradient = grad(exact_loss(Lambda, N))
        draws = standard_normal((self.points, d + 1, d + 1), seed, f"points/{d}/{N}")
        return np.array([_errors_at(Lambda, N, Weights(U[:d, :d], float(U[d, d])), gradient) for U in draws]).T

    def _along_flow(self, d: int, N: int, kappa: float, seed: int) -> np.ndarray:
        Lambda = geometric_covariance(d, kappa, seed)
        start = balanced_start(random_Theta(d, seed, f"Theta/{d}"), self.sigma)
        times = self._times() / dynamics.origin_growth_rate(Lambda)
        flows = (reduced_flow(Lambda, length, start, times) for length in (N, np.inf))
        values = [[dynamics.reduced_loss(Lambda, N, weights) for weights in flow] for flow in flows]
        return (np.array(values) + np.trace(Lambda) / 2) / optimum.loss_minimum(Lambda, N)


def _errors_at(Lambda: np.ndarray, N: int, weights: Weights, gradient) -> tuple[float, float, float, float]:
    d = len(Lambda)
    U = np.zeros((d + 1, d + 1))
    U[:d, :d], U[d, d] = weights
    measured = -gradient(torch.tensor(U)).numpy()

    def miss(length: float) -> float:
        predicted = np.zeros_like(U)
        predicted[:d, :d], predicted[d, d] = dynamics.velocity(Lambda, length, weights)
        return float(abs(predicted - measured).max() / abs(measured).max())

    gap = dynamics.reduced_loss(Lambda, N, weights) - dynamics.reduced_minimum(Lambda, N)
    root = dynamics.symmetric_root(Lambda)
    unweighted = weights.u_last * root @ weights.U_11 @ root - Lambda @ np.linalg.inv(optimum.Gamma(Lambda, N))
    return (
        miss(N),
        miss(np.inf),
        abs(dynamics.gap(Lambda, N, weights) / gap - 1),
        abs(0.5 * np.sum(unweighted**2) / gap - 1),
    )


DYNAMICS = Experiment(
    slug="zhang-dynamics",
    title="Lemma 5.2 as a gradient flow",
    paper="zhang",
    section="5.2",
    notebook="zhang_5_2_dynamics",
    quick=Dynamics(
        small=((1, 1), (1, 4), (2, 1), (2, 2), (3, 1)), points=3,
        flows=((3, 10, 5.0), (5, 20, 10.0)), sigma=0.01, growth_times=3000.0, times=161,
    ),
    full=Dynamics(
        small=((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 3), (3, 1)), points=8,
        flows=((3, 10, 5.0), (5, 20, 10.0), (8, 16, 20.0), (12, 40, 50.0)), sigma=0.01, growth_times=3000.0, times=161,
    ),
)  # fmt: skip
