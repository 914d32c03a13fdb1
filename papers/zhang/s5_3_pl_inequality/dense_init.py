"""zhang-dense-init: gradient flow of the full loss from dense starts, which Assumption 3.3 excludes."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, Positive, Several, expectation, variable
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.flow import gradient_flow
from papers.zhang.reduced_flow import balanced_start, random_Theta
from papers.zhang.theory import full_loss, optimum
from papers.zhang.theory.dynamics import live
from papers.zhang.theory.rank_one_trap import rank_one_loss

AT_OPTIMUM = 1.01
"""A flow counts as arrived when its loss is below 1.01 L*."""


@dataclass(frozen=True)
class DenseInit(Declaration):
    """``starts`` flows a scale; every live parameter starts at scale times N(0, 1). ``together`` are one ODE system.

    d        dimension of inputs; N: training length; kappa: condition number of the covariance
    scale    standard deviation of the entries of a dense start, and sigma of an allowed one
    starts   dense starts of a scale; allowed: starts of Assumption 3.3 of a scale; together: flows that are one ODE system
    T        time at which a flow ends
    """

    d: Count
    N: Count
    kappa: Positive
    scale: Several[Positive]
    starts: Count
    allowed: Count
    together: Count
    T: Positive

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate the exact polynomial loss to time T, and from ``allowed`` starts of Assumption 3.3 for comparison."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        dense = standard_normal((len(self.scale), self.starts, self.d + 1, self.d + 1), seed, "starts")
        ends = [self._ends(Lambda, scale * draws) for scale, draws in zip(self.scale, dense, strict=True)]
        allowed = [self._ends(Lambda, self._allowed(seed, scale)) for scale in self.scale]
        return xr.Dataset(
            {
                "ends": variable("scale start row column", ends, "parameters at T from dense starts"),
                "ends_allowed": variable("scale allowed row column", allowed, "the same from starts of Assumption 3.3"),
            },
            coords={"scale": list(self.scale)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Take loss and curvature at the ends from the polynomial, over the minimum of Theorem 4.1."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        minimum, ends = optimum.loss_minimum(Lambda, self.N), dataset.ends.values
        losses, losses_allowed = (full_loss.full_loss(Lambda, self.N, U) / minimum for U in (ends, dataset.ends_allowed.values))
        curvature = [[self._curvature(Lambda, U) for U in family] for family in ends]
        return dataset.assign(
            {
                "loss": variable("scale start", losses, "L(T)/L* from dense starts"),
                "loss_allowed": variable("scale allowed", losses_allowed, "L(T)/L* from starts of Assumption 3.3"),
                "curvature": variable("scale start", curvature, "least eigenvalue of the Hessian at T, over the largest"),
                "trap_loss": variable("", rank_one_loss(Lambda, self.N) / minimum, "L/L* at the rank-one point"),
            }
        ).assign_attrs(at_optimum=AT_OPTIMUM)

    def _allowed(self, seed: int, scale: float) -> np.ndarray:
        draws = (random_Theta(self.d, seed, f"Theta/{k}") for k in range(self.allowed))
        return np.array([live(balanced_start(Theta, scale)) for Theta in draws])

    def _ends(self, Lambda: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the parameters at time T; tolerance 1e-5, since ends and not paths are compared."""
        shape, times = starts.shape[1:], np.array([0.0, self.T])
        groups = [starts[k : k + self.together] for k in range(0, len(starts), self.together)]

        def field(theta: np.ndarray) -> np.ndarray:
            return -full_loss.full_gradient(Lambda, self.N, theta.reshape(-1, *shape)).ravel()

        flows = [gradient_flow(field, group.ravel(), times, rtol=1e-5, atol=1e-7)[-1] for group in groups]
        return np.concatenate(flows).reshape(-1, *shape)

    @expectation
    def _curvature(self, Lambda: np.ndarray, U: np.ndarray) -> float:
        eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, self.N, U))
        return float(eigenvalues[0] / eigenvalues[-1])


_QUICK = DenseInit(d=3, N=10, kappa=5.0, scale=(0.3,), starts=8, allowed=4, together=8, T=150.0)
DENSE_INIT = Experiment(
    slug="zhang-dense-init",
    title="Dense starts of all live parameters",
    quick=_QUICK,
    full=replace(_QUICK, scale=(0.1, 0.3, 0.6), starts=40, allowed=8),
)
