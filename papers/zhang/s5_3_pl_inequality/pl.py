"""zhang-pl: balance, the PL inequality with its lower bound on u_-1, and how much the condition on sigma matters."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import numpy as np
import xarray as xr
from annotated_types import Ge, MinLen

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    InnerShare,
    Several,
    expectation,
    near_misses,
    variable,
)
from papers.regression.spectra import geometric_covariance
from papers.zhang.reduced_flow import balanced_start, random_Theta, reduced_flow, relaxation_rate
from papers.zhang.theory import dynamics, optimum, pl_inequality
from papers.zhang.theory.dynamics import Weights
from papers.zhang.theory.loss import largest_sigma

RESOLVED = 1e-16
"""Share of the first gap down to which the PL ratio is taken; beyond it the integrator's tolerance speaks."""


@dataclass(frozen=True)
class PL(Declaration):
    """Flows over dimension and condition number, several random Theta each, at ``share`` of the largest sigma^2 allowed.

    N        training lengths; share: sigma^2 over the largest one that Theorem 4.1 allows
    d        dimensions of inputs; kappa: condition numbers of the covariance
    starts   random Theta at each d; times: after 0, at which a flow is recorded
    The starts take the training lengths N in turn; the isotropic start has the first.
    """

    N: Several[Count]
    share: InnerShare
    d: Annotated[tuple[Count, ...], MinLen(2)]
    kappa: Annotated[tuple[Annotated[float, Ge(1)], ...], MinLen(2)]
    starts: Count
    times: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        for name in ("d", "kappa"):
            if any(low >= high for low, high in pairwise(getattr(self, name))):
                raise ValueError(f"{name} is {getattr(self, name)}: take rising values, along which the slack is compared")
        if self.d[-2] < 2:
            raise ValueError(f"d is {self.d}: take two or more above 1, where the condition number means something")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Follow each flow to its end; the balance, the gap and the gradient are those of the loss that it descends."""
        cells = np.array(
            [[[self._flow(d, kappa, k, seed) for k in range(self.starts)] for kappa in self.kappa] for d in self.d]
        )
        names = {
            "imbalance": "greatest |u_-1^2 - ||U_11||^2| over the flow",
            "imbalance_unbalanced": "the same from u_-1(0) = 2 sigma",
            "delta_unbalanced": "u_-1^2 - ||U_11||^2 at the start, u_-1(0) = 2 sigma",
            "u_last_unbalanced": "u_-1 at the end, u_-1(0) = 2 sigma",
            "pl_ratio": "least ||grad l||^2 / (l - min l) over the flow",
            "u_last_least": "least u_-1 over the flow",
        }
        isotropic = [[self._isotropic_ratio(d, kappa, seed) for kappa in self.kappa] for d in self.d]
        return xr.Dataset(
            {name: variable("d kappa start", cells[..., k], text) for k, (name, text) in enumerate(names.items())}
            | {"pl_ratio_isotropic": variable("d kappa", isotropic, "least ratio, from Theta Theta^T = I/sqrt(d)")},
            coords={"d": list(self.d), "kappa": list(self.kappa)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put Lemmas A.3, 5.4 and A.5 beside it."""
        deltas = dataset.delta_unbalanced.values
        cells = np.array(
            [
                [
                    [self._bounds(d, kappa, k, seed, deltas[i, j, k]) for k in range(self.starts)]
                    for j, kappa in enumerate(self.kappa)
                ]
                for i, d in enumerate(self.d)
            ]
        )
        scale, limit, balanced, longer, mu, bound = np.moveaxis(cells, -1, 0)
        mu_isotropic = [[self._isotropic_constant(d, kappa, seed) for kappa in self.kappa] for d in self.d]
        names = {
            "drift": (dataset.imbalance / scale, "greatest |u_-1^2 - ||U_11||^2| over the flow, over ||Gamma^-1||"),
            "drift_unbalanced": (dataset.imbalance_unbalanced / scale, "the same from u_-1(0) = 2 sigma"),
            "u_last_unbalanced_theory": (limit, "limit of u_-1 with the conserved delta, u_-1(0) = 2 sigma"),
            "pl_constant": (mu, "mu of Lemma 5.4"),
            "u_last_bound": (bound, "lower bound of Lemma A.5"),
        }
        slack = variable(
            "d kappa", dataset.pl_ratio_isotropic / mu_isotropic, "least ratio over mu, from Theta Theta^T = I/sqrt(d)"
        )
        columns = {name: variable("d kappa start", values, text) for name, (values, text) in names.items()}
        near = near_misses("d kappa start", {"δ = 0": balanced, "N + 1 for N": longer})
        return dataset.assign(columns | {"slack": slack, "u_last_unbalanced_near": near})

    def _times(self, Lambda: np.ndarray, N: int) -> np.ndarray:
        return np.append(0.0, np.geomspace(0.01, 25.0, self.times) / relaxation_rate(Lambda, N))

    def _start(self, d: int, kappa: float, start: int, seed: int) -> tuple[np.ndarray, int, np.ndarray, float]:
        """Return Lambda, N, Theta and sigma."""
        Lambda, N = geometric_covariance(d, kappa, seed, f"basis/{start}"), self.N[start % len(self.N)]
        return Lambda, N, random_Theta(d, seed, f"Theta/{d}/{start}"), self._sigma(Lambda, N)

    def _isotropic_start(self, d: int, kappa: float, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
        Lambda = geometric_covariance(d, kappa, seed)
        return Lambda, np.eye(d) / d**0.25, self._sigma(Lambda, self.N[0])

    def _sigma(self, Lambda: np.ndarray, N: int) -> float:
        return largest_sigma(Lambda, N) * self.share**0.5

    def _isotropic_ratio(self, d: int, kappa: float, seed: int) -> float:
        Lambda, Theta, sigma = self._isotropic_start(d, kappa, seed)
        N = self.N[0]
        return least_pl_ratio(Lambda, N, reduced_flow(Lambda, N, balanced_start(Theta, sigma), self._times(Lambda, N)))

    @expectation
    def _isotropic_constant(self, d: int, kappa: float, seed: int) -> float:
        Lambda, Theta, sigma = self._isotropic_start(d, kappa, seed)
        return pl_inequality.pl_constant(Lambda, self.N[0], Theta, sigma)

    def _flow(self, d: int, kappa: float, start: int, seed: int) -> list[float]:
        Lambda, N, Theta, sigma = self._start(d, kappa, start, seed)
        balanced = balanced_start(Theta, sigma)
        starts, times = (balanced, balanced._replace(u_last=2 * sigma)), self._times(Lambda, N)
        even, uneven = (reduced_flow(Lambda, N, weights, times) for weights in starts)
        return [
            *(max(abs(dynamics.balance(weights)) for weights in flow) for flow in (even, uneven)),
            dynamics.balance(uneven[0]),
            uneven[-1].u_last,
            least_pl_ratio(Lambda, N, even),
            min(weights.u_last for weights in even),
        ]

    @expectation
    def _bounds(self, d: int, kappa: float, start: int, seed: int, delta: float) -> list[float]:
        """Return ||Gamma^-1||, the limits of u_-1 with delta, with 0 and at N + 1, mu and the bound on u_-1."""
        Lambda, N, Theta, sigma = self._start(d, kappa, start, seed)
        return [
            np.linalg.norm(np.linalg.inv(optimum.Gamma(Lambda, N))),
            *(dynamics.limit(Lambda, n, each).u_last for n, each in ((N, delta), (N, 0.0), (N + 1, delta))),
            pl_inequality.pl_constant(Lambda, N, Theta, sigma),
            pl_inequality.u_last_squared_bound(Lambda, N, Theta, sigma) ** 0.5,
        ]


def least_pl_ratio(Lambda: np.ndarray, N: int, flow: list[Weights]) -> float:
    """Return the least ||grad l||^2/(l - min l) while the gap is resolved."""
    gaps = np.array([dynamics.gap(Lambda, N, weights) for weights in flow])
    squares = np.array([np.sum(dynamics.pack(dynamics.velocity(Lambda, N, weights)) ** 2) for weights in flow])
    resolved = gaps > RESOLVED * gaps[0]
    return float((squares[resolved] / gaps[resolved]).min())


_QUICK = PL(N=(20, 8), share=0.3, d=(2, 4), kappa=(2.0, 10.0), starts=2, times=60)
PL_INEQUALITY = Experiment(
    slug="zhang-pl",
    title="Balance, the PL inequality and the lower bound",
    quick=_QUICK,
    full=replace(_QUICK, d=(1, 2, 4, 8), kappa=(1.5, 4.0, 10.0, 30.0), starts=4, times=150),
)
