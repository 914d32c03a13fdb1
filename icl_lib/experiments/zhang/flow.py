"""zhang-flow: gradient flow from Assumption 3.3 ends at the weights of Theorem 4.1."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, standard_normal
from icl_lib.flow import gradient_flow
from icl_lib.results import variable
from icl_lib.theory.zhang import dynamics, optimum
from icl_lib.theory.zhang.loss import largest_sigma, unit_gram


@dataclass(frozen=True)
class Flow:
    """Lemma 5.2 integrated in several settings (d, N, kappa), from ``starts`` random Theta each."""

    settings: tuple[tuple[int, int, float], ...]
    starts: int
    sigma_fraction: float
    time: float
    points: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Record the distance of both weights to their limits, and of the loss to its minimum, along each flow."""
        times = np.append(0.0, np.geomspace(1e-2, self.time, self.points - 1))
        runs = np.array([[self._course(seed, *s, k, times) for k in range(self.starts)] for s in self.settings])
        names = ("distance_U_11", "distance_u_last", "distance_W_KQ_naive", "loss_gap")
        long = (
            "||U_11 - limit||/||limit||",
            "|u_-1 - limit|/limit",
            "the same as U_11 with inverse Lambda",
            "(L - L*)/L*",
        )
        labels = [f"d={d}, N={N}, κ={kappa:g}" for d, N, kappa in self.settings]
        return xr.Dataset(
            {name: variable("setting start time", runs[:, :, k], long[k]) for k, name in enumerate(names)},
            coords={"setting": labels, "time": times, "start": range(self.starts)},
        )

    def _course(self, seed: int, d: int, N: int, kappa: float, start: int, times: np.ndarray) -> np.ndarray:
        Lambda = geometric_covariance(d, kappa, seed, f"basis/{d}")
        sigma = np.sqrt(self.sigma_fraction) * largest_sigma(Lambda, N)
        Theta = standard_normal((d, d), seed, f"flow/{d}/{start}")
        weights = dynamics.Weights(sigma * unit_gram(Theta), sigma)
        path = gradient_flow(
            lambda theta: dynamics.pack(dynamics.velocity(Lambda, N, dynamics.unpack(theta))),
            dynamics.pack(weights),
            times,
        )
        limit, naive = dynamics.limit(Lambda, N, 0.0), np.linalg.inv(Lambda)
        naive = naive / np.linalg.norm(naive) ** 0.5
        least = optimum.loss_minimum(Lambda, N)
        return np.array([_distances(dynamics.unpack(theta), limit, naive, Lambda, N, least) for theta in path]).T


def _distances(weights, limit, naive, Lambda, N, least) -> tuple[float, float, float, float]:
    return (
        np.linalg.norm(weights.U_11 - limit.U_11) / np.linalg.norm(limit.U_11),
        abs(weights.u_last - limit.u_last) / limit.u_last,
        np.linalg.norm(weights.U_11 - naive) / np.linalg.norm(naive),
        dynamics.gap(Lambda, N, weights) / least,
    )


FLOW = Experiment(
    slug="zhang-flow",
    title="Gradient flow reaches the limit of Theorem 4.1",
    paper="zhang",
    section="4.1",
    notebook="zhang_4_1_convergence",
    quick=Flow(settings=((3, 10, 5.0), (5, 20, 10.0), (8, 16, 20.0)), starts=2, sigma_fraction=0.5, time=1000.0, points=80),
    full=Flow(
        settings=((3, 10, 5.0), (5, 20, 10.0), (8, 16, 20.0), (20, 40, 10.0)), starts=5, sigma_fraction=0.5, time=3000.0,
        points=120,
    ),
)  # fmt: skip
