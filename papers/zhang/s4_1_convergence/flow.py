"""zhang-flow: gradient flow from Assumption 3.3 ends at the weights of Theorem 4.1."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import xarray as xr
from annotated_types import Gt

from icl_lib.companion import AtLeastThree, Count, Declaration, Experiment, InnerShare, Positive, Several, expectation, variable
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.reduced_flow import reduced_flow
from papers.zhang.theory import dynamics, optimum
from papers.zhang.theory.loss import largest_sigma, unit_gram

FIRST = 1e-2
"""The first time after 0 that is recorded."""


@dataclass(frozen=True)
class Flow(Declaration):
    """Lemma 5.2 integrated in several settings (d, N, kappa), from ``starts`` random Theta each.

    settings   (d, N, kappa): dimension of inputs, training length, condition number of the covariance
    starts     random Theta of each setting; sigma_fraction: sigma^2 over the bound of Theorem 4.1
    time       at which a flow ends; points: times at which a flow is recorded
    """

    settings: Several[tuple[Count, Count, Positive]]
    starts: Count
    sigma_fraction: InnerShare
    time: Annotated[float, Gt(FIRST)]
    points: AtLeastThree

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Record u_-1, the distance of U_11 to its limit, and of the loss to its minimum, along each flow."""
        times = np.append(0.0, np.geomspace(FIRST, self.time, self.points - 1))
        runs = np.array([[self._course(seed, *s, k, times) for k in range(self.starts)] for s in self.settings])
        names = {
            "distance_U_11": "||U_11 - limit||/||limit||",
            "u_last": "u_-1",
            "distance_W_KQ_naive": "the same as U_11 with inverse Lambda",
            "loss_gap": "(L - L*)/L*",
        }
        labels = [f"d={d}, N={N}, κ={kappa:g}" for d, N, kappa in self.settings]
        return xr.Dataset(
            {name: variable("setting start time", runs[:, :, k], text) for k, (name, text) in enumerate(names.items())},
            coords={"setting": labels, "time": times, "start": range(self.starts)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Compare u_-1 with its limit."""
        covariances = [_covariance(d, kappa, seed) for d, _, kappa in self.settings]
        sizes = zip(covariances, self.settings, strict=True)
        limits = np.array([[[dynamics.limit(Lambda, N, 0.0).u_last]] for Lambda, (_, N, _) in sizes])
        distance = abs(dataset.u_last.values - limits) / limits
        return dataset.assign(distance_u_last=variable("setting start time", distance, "|u_-1 - limit|/limit"))

    def _course(self, seed: int, d: int, N: int, kappa: float, start: int, times: np.ndarray) -> np.ndarray:
        """Return what is recorded; U_11 itself is too large to be stored."""
        Lambda = _covariance(d, kappa, seed)
        sigma = np.sqrt(self.sigma_fraction) * largest_sigma(Lambda, N)
        Theta = standard_normal((d, d), seed, f"flow/{d}/{start}")
        path = reduced_flow(Lambda, N, dynamics.Weights(sigma * unit_gram(Theta), sigma), times)
        limit, naive = dynamics.limit(Lambda, N, 0.0).U_11, np.linalg.inv(Lambda)
        naive = naive / np.linalg.norm(naive) ** 0.5
        least = optimum.loss_minimum(Lambda, N)
        return np.array([_distances(weights, limit, naive, Lambda, N, least) for weights in path]).T


def _covariance(d: int, kappa: float, seed: int) -> np.ndarray:
    return geometric_covariance(d, kappa, seed, f"basis/{d}")


def _distances(weights, limit, naive, Lambda, N, least) -> tuple[float, float, float, float]:
    return (
        np.linalg.norm(weights.U_11 - limit) / np.linalg.norm(limit),
        weights.u_last,
        np.linalg.norm(weights.U_11 - naive) / np.linalg.norm(naive),
        dynamics.gap(Lambda, N, weights) / least,
    )


FLOW = Experiment(
    slug="zhang-flow",
    title="Gradient flow reaches the limit of Theorem 4.1",
    quick=Flow(settings=((3, 10, 5.0), (5, 20, 10.0), (8, 16, 20.0)), starts=1, sigma_fraction=0.5, time=1000.0, points=80),
    full=Flow(
        settings=((3, 10, 5.0), (5, 20, 10.0), (8, 16, 20.0), (20, 40, 10.0)),
        starts=5,
        sigma_fraction=0.5,
        time=3000.0,
        points=120,
    ),
)
