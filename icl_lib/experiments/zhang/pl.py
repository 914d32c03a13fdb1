"""zhang-pl: balance, the PL inequality with its lower bound on u_-1, and how much the condition on sigma matters."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow, relaxation_rate
from icl_lib.experiments.zhang.spectra import geometric_covariance
from icl_lib.results import variable
from icl_lib.theory.zhang import dynamics, optimum, pl_inequality
from icl_lib.theory.zhang.dynamics import Weights
from icl_lib.theory.zhang.loss import largest_sigma

RESOLVED = 1e-16
"""Share of the first gap down to which the PL ratio is taken; beyond it the integrator's tolerance speaks."""


@dataclass(frozen=True)
class PL:
    """Flows over dimension and condition number, several random Theta each, at ``share`` of the largest sigma^2 allowed."""

    N: int
    share: float
    d: tuple[int, ...]
    kappa: tuple[float, ...]
    starts: int
    times: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Follow each flow to its end and compare with Lemmas A.3, 5.4 and A.5."""
        cells = np.array(
            [[[self._flow(d, kappa, k, seed) for k in range(self.starts)] for kappa in self.kappa] for d in self.d]
        )
        names = {
            "drift": "greatest |u_-1^2 - ||U_11||^2| over the flow, over ||Gamma^-1||",
            "drift_unbalanced": "the same from u_-1(0) = 2 sigma",
            "unbalanced_error": "relative error of the limit of u_-1 with the conserved delta, u_-1(0) = 2 sigma",
            "unbalanced_error_balanced": "the same with the limit of Lemma 5.4, delta = 0",
            "pl_ratio": "least ||grad l||^2 / (l - min l) over the flow",
            "pl_constant": "mu of Lemma 5.4",
            "u_last_least": "least u_-1 over the flow",
            "u_last_least_zero_start": "the same from u_-1(0) = 0",
            "u_last_bound": "lower bound of Lemma A.5",
        }
        slack = [[self._isotropic_slack(d, kappa, seed) for kappa in self.kappa] for d in self.d]
        return xr.Dataset(
            {name: variable("d kappa start", cells[..., k], text) for k, (name, text) in enumerate(names.items())}
            | {"slack": variable("d kappa", slack, "least ratio over mu, from Theta Theta^T = I/sqrt(d)")},
            coords={"d": list(self.d), "kappa": list(self.kappa)},
        )

    def _times(self, Lambda: np.ndarray) -> np.ndarray:
        return np.append(0.0, np.geomspace(0.01, 25.0, self.times) / relaxation_rate(Lambda, self.N))

    def _isotropic_slack(self, d: int, kappa: float, seed: int) -> float:
        Lambda, Theta = geometric_covariance(d, kappa, seed), np.eye(d) / d**0.25
        sigma = largest_sigma(Lambda, self.N) * self.share**0.5
        flow = reduced_flow(Lambda, self.N, balanced_start(Theta, sigma), self._times(Lambda))
        return least_pl_ratio(Lambda, self.N, flow) / pl_inequality.pl_constant(Lambda, self.N, Theta, sigma)

    def _flow(self, d: int, kappa: float, start: int, seed: int) -> list[float]:
        Lambda = geometric_covariance(d, kappa, seed, f"basis/{start}")
        Theta, sigma = random_Theta(d, seed, f"Theta/{d}/{start}"), largest_sigma(Lambda, self.N) * self.share**0.5
        balanced = balanced_start(Theta, sigma)
        starts = (balanced, balanced._replace(u_last=2 * sigma), balanced._replace(u_last=0.0))
        times = self._times(Lambda)
        even, uneven, from_zero = (reduced_flow(Lambda, self.N, weights, times) for weights in starts)
        scale = np.linalg.norm(np.linalg.inv(optimum.Gamma(Lambda, self.N)))
        limits = (dynamics.limit(Lambda, self.N, delta).u_last for delta in (dynamics.balance(uneven[0]), 0.0))
        return [
            *(max(abs(dynamics.balance(weights)) for weights in flow) / scale for flow in (even, uneven)),
            *(abs(uneven[-1].u_last / end - 1) for end in limits),
            least_pl_ratio(Lambda, self.N, even),
            pl_inequality.pl_constant(Lambda, self.N, Theta, sigma),
            *(min(weights.u_last for weights in flow) for flow in (even, from_zero)),
            pl_inequality.u_last_squared_bound(Lambda, self.N, Theta, sigma) ** 0.5,
        ]


def least_pl_ratio(Lambda: np.ndarray, N: int, flow: list[Weights]) -> float:
    """Return the least ||grad l||^2/(l - min l) while the gap is resolved."""
    gaps = np.array([dynamics.gap(Lambda, N, weights) for weights in flow])
    squares = np.array([np.sum(dynamics.pack(dynamics.velocity(Lambda, N, weights)) ** 2) for weights in flow])
    resolved = gaps > RESOLVED * gaps[0]
    return float((squares[resolved] / gaps[resolved]).min())


PL_INEQUALITY = Experiment(
    slug="zhang-pl",
    title="Balance, the PL inequality and the lower bound",
    paper="zhang",
    section="5.3",
    notebook="zhang_5_3_pl_inequality",
    quick=PL(N=20, share=0.3, d=(2, 4), kappa=(2.0, 10.0), starts=3, times=120),
    full=PL(N=20, share=0.3, d=(1, 2, 4, 8), kappa=(1.5, 4.0, 10.0, 30.0), starts=4, times=150),
)
