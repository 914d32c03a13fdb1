"""zhang-start-size: gradient flow from starts far below and far above the sigma of Theorem 4.1."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow, relaxation_rate
from icl_lib.experiments.zhang.spectra import geometric_covariance
from icl_lib.results import variable
from icl_lib.theory.zhang import dynamics, optimum, pl_inequality
from icl_lib.theory.zhang.loss import largest_sigma


@dataclass(frozen=True)
class StartSize:
    """sigma^2 as multiples of the bound 2/(sqrt(d) ||Gamma||_op), for several random starts."""

    d: int
    N: int
    kappa: float
    multiple: tuple[float, ...]
    starts: int
    times: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate to the end and record where the flow ends, the loss it began with and the least u_-1."""
        cells = np.array([[self._flow(multiple, k, seed) for k in range(self.starts)] for multiple in self.multiple])
        names = {
            "miss": "relative distance of u_-1 U_11 from Gamma^-1 at the end",
            "miss_plain": "relative distance of u_-1 U_11 from Lambda^-1 at the end",
            "start_loss": "reduced loss at the start, over |its minimum|",
            "u_last_least": "least u_-1 over the flow",
            "u_last_bound": "lower bound for every sigma",
            "u_last_bound_start": "the start value sigma, which is no bound",
        }
        return xr.Dataset(
            {name: variable("multiple start", cells[..., k], text) for k, (name, text) in enumerate(names.items())},
            coords={"multiple": list(self.multiple)},
        )

    def _flow(self, multiple: float, start: int, seed: int) -> list[float]:
        Lambda = geometric_covariance(self.d, self.kappa, seed, f"basis/{start}")
        Theta = random_Theta(self.d, seed, f"Theta/{start}")
        sigma = largest_sigma(Lambda, self.N) * multiple**0.5
        times = np.append(0.0, np.geomspace(1e-6, 40.0, self.times) / relaxation_rate(Lambda, self.N))
        flow = reduced_flow(Lambda, self.N, balanced_start(Theta, sigma), times)
        reached = flow[-1].u_last * flow[-1].U_11
        targets = (np.linalg.inv(matrix) for matrix in (optimum.Gamma(Lambda, self.N), Lambda))
        begun = dynamics.reduced_loss(Lambda, self.N, flow[0])
        return [
            *(np.linalg.norm(reached - target) / np.linalg.norm(target) for target in targets),
            begun / abs(dynamics.reduced_minimum(Lambda, self.N)),
            min(weights.u_last for weights in flow),
            pl_inequality.u_last_bound_any_sigma(Lambda, self.N, Theta, sigma, dynamics.gap(Lambda, self.N, flow[0])),
            sigma,
        ]


START_SIZE = Experiment(
    slug="zhang-start-size",
    title="Starts of every size",
    paper="zhang",
    section="5.3",
    notebook="zhang_5_3_pl_inequality",
    quick=StartSize(d=4, N=20, kappa=10.0, multiple=(0.01, 0.5, 0.99, 2.0, 10.0, 100.0, 1000.0), starts=3, times=150),
    full=StartSize(
        d=5, N=20, kappa=10.0, multiple=(0.0001, 0.01, 0.5, 0.99, 2.0, 10.0, 100.0, 1000.0, 10_000.0), starts=8,
        times=200,
    ),
)  # fmt: skip
