"""zhang-start-size: gradient flow from starts far below and far above the sigma of Theorem 4.1."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import xarray as xr
from annotated_types import Gt

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from papers.regression.spectra import geometric_covariance
from papers.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow, relaxation_rate
from papers.zhang.theory import dynamics, optimum, pl_inequality
from papers.zhang.theory.dynamics import Weights
from papers.zhang.theory.loss import largest_sigma


@dataclass(frozen=True)
class StartSize(Declaration):
    """sigma^2 as multiples of the bound 2/(sqrt(d) ||Gamma||_op), for several random starts.

    d          dimension of inputs; N: training length; kappa: condition number of the covariance
    multiple   sigma^2 over the bound; starts: random Theta, followed at every multiple
    times      after 0, at which a flow is recorded
    The lower bound on u_-1 is taken in the eigenbasis of Lambda, which kappa = 1 would leave open.
    """

    d: Count
    N: Count
    kappa: Annotated[float, Gt(1)]
    multiple: Several[Positive]
    starts: Count
    times: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate to the end and record the weights at both ends, and the least u_-1 between."""
        flows = [[self._flow(multiple, k, seed) for k in range(self.starts)] for multiple in self.multiple]
        ends = [[(flow[0], flow[-1]) for flow in row] for row in flows]
        U, u = ([[[w[part] for w in both] for both in row] for row in ends] for part in (0, 1))
        least = [[min(weights.u_last for weights in flow) for flow in row] for row in flows]
        return xr.Dataset(
            {
                "U_11": variable("multiple start end i j", U, "U_11 at both ends of the flow"),
                "u_last": variable("multiple start end", u, "u_-1 at both ends of the flow"),
                "u_last_least": variable("multiple start", least, "least u_-1 over the flow"),
            },
            coords={"multiple": list(self.multiple), "end": ["first", "last"]},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the limit, the least loss and the lower bound for every sigma beside it."""
        names = {
            "miss": "relative distance of u_-1 U_11 from Gamma^-1 at the end",
            "miss_plain": "relative distance of u_-1 U_11 from Lambda^-1 at the end",
            "start_loss": "reduced loss at the start, over |its minimum|",
            "u_last_bound": "lower bound for every sigma",
            "u_last_bound_start": "the start value sigma, which is no bound",
        }
        U, u = dataset.U_11.values, dataset.u_last.values
        cells = np.array(
            [
                [self._judged(multiple, k, seed, *map(Weights, U[i, k], u[i, k])) for k in range(self.starts)]
                for i, multiple in enumerate(self.multiple)
            ]
        )
        return dataset.assign(
            {name: variable("multiple start", cells[..., k], text) for k, (name, text) in enumerate(names.items())}
        )

    def _start(self, multiple: float, start: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Return Lambda, Theta and sigma."""
        Lambda = geometric_covariance(self.d, self.kappa, seed, f"basis/{start}")
        return Lambda, random_Theta(self.d, seed, f"Theta/{start}"), largest_sigma(Lambda, self.N) * multiple**0.5

    def _flow(self, multiple: float, start: int, seed: int) -> list[Weights]:
        Lambda, Theta, sigma = self._start(multiple, start, seed)
        times = np.append(0.0, np.geomspace(1e-6, 40.0, self.times) / relaxation_rate(Lambda, self.N))
        return reduced_flow(Lambda, self.N, balanced_start(Theta, sigma), times)

    @expectation
    def _judged(self, multiple: float, start: int, seed: int, first: Weights, last: Weights) -> list[float]:
        Lambda, Theta, sigma = self._start(multiple, start, seed)
        reached = last.u_last * last.U_11
        targets = (np.linalg.inv(matrix) for matrix in (optimum.Gamma(Lambda, self.N), Lambda))
        return [
            *(np.linalg.norm(reached - target) / np.linalg.norm(target) for target in targets),
            dynamics.reduced_loss(Lambda, self.N, first) / abs(dynamics.reduced_minimum(Lambda, self.N)),
            pl_inequality.u_last_bound_any_sigma(Lambda, self.N, Theta, sigma, dynamics.gap(Lambda, self.N, first)),
            sigma,
        ]


_QUICK = StartSize(d=4, N=20, kappa=10.0, multiple=(0.01, 0.5, 0.99, 2.0, 10.0, 100.0, 1000.0), starts=3, times=150)
START_SIZE = Experiment(
    slug="zhang-start-size",
    title="Starts of every size",
    quick=_QUICK,
    full=replace(_QUICK, d=5, multiple=(0.0001, 0.01, 0.5, 0.99, 2.0, 10.0, 100.0, 1000.0, 10_000.0), starts=8, times=200),
)
