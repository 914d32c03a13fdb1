"""zhang-dynamics: Lemma 5.2 is the gradient flow of the layer's population loss, and the loss falls along it."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Gt
from torch.func import grad

from icl_lib.companion import AtLeastThree, Count, Declaration, Experiment, Positive, Several, expectation, variable
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.exact_prompts import exact_loss
from papers.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow
from papers.zhang.theory import dynamics, optimum
from papers.zhang.theory.dynamics import Weights, live

FIRST = 0.3
"""The first time after 0 that is recorded, in growth times."""


@dataclass(frozen=True)
class Dynamics(Declaration):
    """Velocities at random points of the slice u_12 = u_21 = 0, for small (d, N); loss along flows, for larger ones.

    small          (d, N) at which velocities are taken; points: random parameters at each (d, N)
    flows          (d, N, kappa) of a flow; sigma: of Assumption 3.3
    growth_times   time at which a flow ends, in growth times 1/||Lambda^2||_F; times: at which a flow is recorded
    """

    small: Several[tuple[Count, Count]]
    points: Count
    flows: Several[tuple[Count, Count, Positive]]
    sigma: Positive
    growth_times: Annotated[float, Gt(FIRST)]
    times: AtLeastThree

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Take the layer's exact gradient at the points, and follow the reduced loss in time."""
        side = max(d for d, _ in self.small) + 1
        velocity = np.full((len(self.small), self.points, side, side), np.nan)
        for k, (d, N) in enumerate(self.small):
            velocity[k, :, : d + 1, : d + 1] = self._velocities(d, N, seed)
        along = np.array([self._along_flow(d, N, kappa, seed) for d, N, kappa in self.flows])
        plain = "the same along the flow with Lambda for Gamma"
        return xr.Dataset(
            {
                "velocity": variable("size point row column", velocity, "minus the gradient of the layer's loss"),
                "reduced": variable("flow time", along[:, 0], "reduced loss along the flow", "y^2"),
                "reduced_towards_plain": variable("flow time", along[:, 1], plain, "y^2"),
            },
            coords={
                "size": [f"d={d}, N={N}" for d, N in self.small],
                "flow": [f"d={d}, N={N}, κ={kappa:g}" for d, N, kappa in self.flows],
                "time": ("time", self._times(), {"long_name": "time, in growth times 1/||Lambda^2||_F"}),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Compare Lemma 5.2 with the gradient, the gap with its square, and the loss with its minimum."""
        errors = np.array([self._errors(d, N, seed, dataset.velocity.values[k]) for k, (d, N) in enumerate(self.small)])
        names = {
            "velocity_error": "|velocity + gradient of the layer's loss|, relative",
            "velocity_error_mean_context": "the same with Lambda^2 for E[Lambda_hat^2]",
            "gap_error": "|gap as a squared norm - (loss - minimum)|, relative",
            "gap_error_unweighted": "the same without the factor Gamma^1/2",
        }
        covariances = [geometric_covariance(d, kappa, seed) for d, _, kappa in self.flows]
        zero = [[np.trace(Lambda) / 2] for Lambda in covariances]
        least = [[optimum.loss_minimum(Lambda, N)] for Lambda, (_, N, _) in zip(covariances, self.flows, strict=True)]
        losses = [(path.values + zero) / least for path in (dataset.reduced, dataset.reduced_towards_plain)]
        return dataset.assign(
            {name: variable("size point", errors[..., k], text) for k, (name, text) in enumerate(names.items())}
            | {
                "loss": variable("flow time", losses[0], "loss along the flow, over its minimum"),
                "loss_towards_plain": variable("flow time", losses[1], "the same along the flow with Lambda for Gamma"),
            }
        )

    def _times(self) -> np.ndarray:
        return np.append(0.0, np.geomspace(FIRST, self.growth_times, self.times - 1))

    def _points(self, d: int, N: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return a covariance, and parameters U with u_12 = u_21 = 0."""
        draws = standard_normal((self.points, d + 1, d + 1), seed, f"points/{d}/{N}")
        return geometric_covariance(d, 4.0, seed, f"basis/{d}/{N}"), [live(Weights(U[:d, :d], U[d, d])) for U in draws]

    def _velocities(self, d: int, N: int, seed: int) -> np.ndarray:
        Lambda, points = self._points(d, N, seed)
        gradient = grad(exact_loss(Lambda, N))
        return np.array([-gradient(torch.tensor(U)).numpy() for U in points])

    def _along_flow(self, d: int, N: int, kappa: float, seed: int) -> list[list[float]]:
        Lambda = geometric_covariance(d, kappa, seed)
        start = balanced_start(random_Theta(d, seed, f"Theta/{d}"), self.sigma)
        times = self._times() / dynamics.origin_growth_rate(Lambda)
        flows = (reduced_flow(Lambda, length, start, times) for length in (N, np.inf))
        return [[dynamics.reduced_loss(Lambda, N, weights) for weights in flow] for flow in flows]

    @expectation
    def _errors(self, d: int, N: int, seed: int, velocity: np.ndarray) -> list[tuple[float, ...]]:
        Lambda, points = self._points(d, N, seed)
        return [_errors_at(Lambda, N, U, v[: d + 1, : d + 1]) for U, v in zip(points, velocity, strict=True)]


def _errors_at(Lambda: np.ndarray, N: int, U: np.ndarray, measured: np.ndarray) -> tuple[float, float, float, float]:
    weights = Weights(U[:-1, :-1], float(U[-1, -1]))

    def miss(length: float) -> float:
        predicted = live(dynamics.velocity(Lambda, length, weights))
        return float(abs(predicted - measured).max() / abs(measured).max())

    gap = dynamics.reduced_loss(Lambda, N, weights) - dynamics.reduced_minimum(Lambda, N)
    root = dynamics.symmetric_root(Lambda)
    unweighted = weights.u_last * root @ weights.U_11 @ root - Lambda @ np.linalg.inv(optimum.Gamma(Lambda, N))
    return (miss(N), miss(np.inf), abs(dynamics.gap(Lambda, N, weights) / gap - 1), abs(0.5 * np.sum(unweighted**2) / gap - 1))


_QUICK = Dynamics(
    small=((1, 1), (1, 4), (2, 1), (2, 2), (3, 1)),
    points=3,
    flows=((3, 10, 5.0), (5, 20, 10.0)),
    sigma=0.01,
    growth_times=3000.0,
    times=161,
)
DYNAMICS = Experiment(
    slug="zhang-dynamics",
    title="Lemma 5.2 as a gradient flow",
    quick=_QUICK,
    full=replace(
        _QUICK,
        small=((1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 3), (3, 1)),
        points=8,
        flows=((3, 10, 5.0), (5, 20, 10.0), (8, 16, 20.0), (12, 40, 50.0)),
    ),
)
