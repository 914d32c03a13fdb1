"""zhang-rank-one-trap: when a critical point of the full loss that is not global is a local minimum."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance
from icl_lib.results import variable
from icl_lib.theory.zhang import full_loss, optimum
from icl_lib.theory.zhang.rank_one_trap import rank_one_point, trap_margin

ZERO = 1e-10
"""Eigenvalues below this share of the largest count as 0."""


@dataclass(frozen=True)
class RankOneTrap:
    """The rank-one point over dimensions, prompt lengths and condition numbers."""

    d: tuple[int, ...]
    N: tuple[int, ...]
    kappa: tuple[float, ...]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Take the gradient, the excess loss and the signs of the Hessian, and the criterion beside them."""
        cells = np.array([[[self._point(d, N, kappa, seed) for kappa in self.kappa] for N in self.N] for d in self.d])
        names = {
            "gradient": "greatest |entry| of the gradient, over the greatest eigenvalue of the Hessian",
            "excess": "(L - L*)/L*",
            "negative": "negative eigenvalues of the Hessian",
            "zero": "zero eigenvalues of the Hessian",
            "margin_theory": "1 - h^T K^-1 h/(k rho^2): above 0 for a local minimum",
        }
        return xr.Dataset(
            {name: variable("d N kappa", cells[..., k], text) for k, (name, text) in enumerate(names.items())},
            coords={"d": list(self.d), "N": list(self.N), "kappa": list(self.kappa)},
        )

    def _point(self, d: int, N: int, kappa: float, seed: int) -> list[float]:
        Lambda = geometric_covariance(d, kappa, seed)
        U = rank_one_point(Lambda, N)
        eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, N, U))
        floor = ZERO * eigenvalues[-1]
        return [
            abs(full_loss.full_gradient(Lambda, N, U)).max() / eigenvalues[-1],
            full_loss.full_loss(Lambda, N, U) / optimum.loss_minimum(Lambda, N) - 1,
            float((eigenvalues < -floor).sum()),
            float((abs(eigenvalues) <= floor).sum()),
            trap_margin(Lambda, N),
        ]


RANK_ONE_TRAP = Experiment(
    slug="zhang-rank-one-trap",
    title="A local minimum that is not global",
    paper="zhang",
    section="5.3",
    notebook="zhang_5_3_pl_inequality",
    quick=RankOneTrap(d=(2, 3, 5), N=(2, 5, 10, 20, 50, 100, 200), kappa=(1.5, 3.0, 6.0, 12.0, 25.0, 50.0)),
    full=RankOneTrap(
        d=(2, 4, 10), N=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), kappa=(1.5, 2.0, 3.0, 6.0, 12.0, 25.0, 50.0, 100.0)
    ),
)
