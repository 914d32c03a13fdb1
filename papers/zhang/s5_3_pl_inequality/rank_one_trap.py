"""zhang-rank-one-trap: when a critical point of the full loss that is not global is a local minimum."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from papers.regression.spectra import geometric_covariance
from papers.zhang.theory import full_loss, optimum
from papers.zhang.theory.rank_one_trap import rank_one_point, trap_margin, trap_margin_leading

ZERO = 1e-10
"""Eigenvalues below this share of the largest count as 0."""
LONGEST = 1e9
"""Up to this prompt length the criterion's change of sign is looked for."""


@dataclass(frozen=True)
class RankOneTrap(Declaration):
    """The rank-one point over dimensions, prompt lengths and condition numbers.

    d   dimensions of inputs; N: training lengths; kappa: condition numbers of the covariance
    """

    d: Several[AtLeastTwo]
    N: Several[Count]
    kappa: Several[Positive]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Take the loss, its gradient and the signs of its Hessian at the point."""
        cells = np.array([[[self._point(d, N, kappa, seed) for kappa in self.kappa] for N in self.N] for d in self.d])
        names = {
            "gradient": "greatest |entry| of the gradient, over the greatest eigenvalue of the Hessian",
            "loss": "L at the point",
            "negative": "negative eigenvalues of the Hessian",
            "zero": "zero eigenvalues of the Hessian",
        }
        return xr.Dataset(
            {name: variable("d N kappa", cells[..., k], text) for k, (name, text) in enumerate(names.items())},
            coords={"d": list(self.d), "N": list(self.N), "kappa": list(self.kappa)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the least loss and the criterion beside it."""
        laws = [[geometric_covariance(d, kappa, seed) for kappa in self.kappa] for d in self.d]
        least, margin, leading = (
            np.array([[[formula(Lambda, N) for Lambda in row] for N in self.N] for row in laws])
            for formula in (optimum.loss_minimum, trap_margin, trap_margin_leading)
        )
        return dataset.assign(
            excess=variable("d N kappa", dataset.loss / least - 1, "(L - L*)/L*"),
            margin_theory=variable("d N kappa", margin, "1 - h^T K^-1 h/(k rho^2): above 0 for a local minimum"),
            margin_leading=variable("d N kappa", leading, "the same criterion to leading order in 1/N"),
            edge=variable("d kappa", [[edge(Lambda) for Lambda in row] for row in laws], "N at which the criterion is 0"),
        )

    def _point(self, d: int, N: int, kappa: float, seed: int) -> list[float]:
        Lambda = geometric_covariance(d, kappa, seed)
        U = rank_one_point(Lambda, N)
        eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, N, U))
        floor = ZERO * eigenvalues[-1]
        return [
            abs(full_loss.full_gradient(Lambda, N, U)).max() / eigenvalues[-1],
            full_loss.full_loss(Lambda, N, U),
            float((eigenvalues < -floor).sum()),
            float((abs(eigenvalues) <= floor).sum()),
        ]


def edge(Lambda: np.ndarray) -> float:
    """Return the prompt length, a real number, at which the criterion falls through 0; NaN where it does not."""
    if trap_margin(Lambda, 1.0) <= 0 or trap_margin(Lambda, LONGEST) >= 0:
        return np.nan
    return float(np.exp(brentq(lambda log_N: trap_margin(Lambda, float(np.exp(log_N))), 0, np.log(LONGEST))))


RANK_ONE_TRAP = Experiment(
    slug="zhang-rank-one-trap",
    title="A local minimum that is not global",
    quick=RankOneTrap(d=(2, 3, 5), N=(2, 5, 10, 20, 50, 100, 200), kappa=(1.5, 3.0, 6.0, 12.0, 25.0, 50.0)),
    full=RankOneTrap(
        d=(2, 4, 10), N=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), kappa=(1.5, 2.0, 3.0, 6.0, 12.0, 25.0, 50.0, 100.0)
    ),
)
