"""zhang-full-loss: the loss over all live parameters is an exact polynomial, and Theorem 4.1's limit minimises it."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, Positive, Several, expectation, variable
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.exact_prompts import attention, gauss_hermite_prompts
from papers.zhang.theory import dynamics, full_loss, optimum
from papers.zhang.theory.rank_one_trap import rank_one_point

ZERO = 1e-10
"""Eigenvalues below this share of the largest count as 0."""


@dataclass(frozen=True)
class FullLoss(Declaration):
    """The layer's exact loss at small (d, N); random points and Hessians of the polynomial at larger ones.

    small      (d, N) at which the layer's loss is exact; points: random parameters at each (d, N)
    settings   (d, N, kappa) at which the polynomial is searched below the limit and its Hessian is taken
    radii      factors on the random steps from the limit; draws: random steps of each setting
    line       (N, kappa) of the rank-one family, which minimises the loss at d = 1 alone
    """

    small: Several[tuple[Count, Count]]
    points: Count
    settings: Several[tuple[Count, Count, Positive]]
    radii: Several[Positive]
    draws: Count
    line: tuple[Count, Positive]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Split the loss of the layer by w -> -w."""
        halves = [self._halves(d, N, seed) for d, N in self.small]
        return xr.Dataset(
            {"loss": variable("size point parity", halves, "part of the layer's loss, by averaging", "y^2")},
            coords={"size": [f"d={d}, N={N}" for d, N in self.small], "parity": ["odd", "even"]},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the polynomial beside it; search below the optimum, take Hessians, try the family of d = 1."""
        halves = [_polynomial_halves(*self._points(d, N, seed), N) for d, N in self.small]
        lowest = np.array([self._lowest(d, N, kappa, seed) for d, N, kappa in self.settings])
        signs = np.array([_hessian_signs(geometric_covariance(d, kappa, seed), N) for d, N, kappa in self.settings])
        N, kappa = self.line
        family = [_rank_one_excess(geometric_covariance(d, kappa, seed), N) for d in (1, 2, 3)]
        return dataset.assign_coords(
            setting=[f"d={d}, N={N}, κ={kappa:g}" for d, N, kappa in self.settings],
            radius=list(self.radii),
            place=["limit", "origin"],
            d=[1, 2, 3],
        ).assign(
            {
                "loss_theory": variable("size point parity", halves, "part of the loss, closed form", "y^2"),
                "excess": variable("setting radius", lowest[:, 0], "least (L - L*)/L* over draws around the limit"),
                "excess_over_plain": variable("setting radius", lowest[:, 1], "the same over the loss at Lambda^-1"),
                "negative": variable("setting place", signs[..., 0], "negative eigenvalues of the Hessian"),
                "zero": variable("setting place", signs[..., 1], "zero eigenvalues of the Hessian"),
                "rank_one_excess": variable("d", family, "(L - L*)/L* at u_-1 = 0, U_11 = 0, best u_12 u_21^T"),
            }
        )

    def _points(self, d: int, N: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a covariance and random parameters U."""
        points = standard_normal((self.points, d + 1, d + 1), seed, f"points/{d}/{N}")
        return geometric_covariance(d, 4.0, seed, f"basis/{d}/{N}"), points

    def _halves(self, d: int, N: int, seed: int) -> list[list[float]]:
        """Return the odd and the even part of the layer's loss at every point."""
        Lambda, points = self._points(d, N, seed)
        prompts, weights = gauss_hermite_prompts(Lambda, N)
        rows = []
        for U in points:
            model = attention(torch.tensor(U))
            y, mirrored = model(prompts), model(prompts._replace(y=-prompts.y))
            odd, even = (y - mirrored) / 2 - prompts.y_query, (y + mirrored) / 2
            rows.append([float(torch.einsum("b,b->", weights, half**2)) / 2 for half in (odd, even)])
        return rows

    @expectation
    def _lowest(self, d: int, N: int, kappa: float, seed: int) -> np.ndarray:
        Lambda = geometric_covariance(d, kappa, seed)
        minimum = optimum.loss_minimum(Lambda, N)
        plain = full_loss.full_loss(Lambda, N, dynamics.live(dynamics.Weights(np.linalg.inv(Lambda), 1.0)))
        steps = standard_normal((self.draws, d + 1, d + 1), seed, f"steps/{d}/{N}")
        around = (_limit(Lambda, N) + radius * steps for radius in self.radii)  # one radius at a time fits the cache
        lowest = np.array([full_loss.full_loss(Lambda, N, U).min() for U in around])
        return np.stack([lowest / minimum - 1, lowest / plain - 1])


def _polynomial_halves(Lambda: np.ndarray, points: np.ndarray, N: int) -> list[list[float]]:
    return [[float(part(Lambda, N, U)) for part in (full_loss.odd_loss, full_loss.even_loss)] for U in points]


def _limit(Lambda: np.ndarray, N: int) -> np.ndarray:
    return dynamics.live(dynamics.limit(Lambda, N, 0.0))


def _hessian_signs(Lambda: np.ndarray, N: int) -> list[list[int]]:
    """Return the numbers of negative and of zero eigenvalues at the limit and at the origin."""
    signs = []
    for U in (_limit(Lambda, N), np.zeros((len(Lambda) + 1, len(Lambda) + 1))):
        eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, N, U))
        floor = ZERO * abs(eigenvalues).max()
        signs.append([int((eigenvalues < -floor).sum()), int((abs(eigenvalues) <= floor).sum())])
    return signs


def _rank_one_excess(Lambda: np.ndarray, N: int) -> float:
    return float(full_loss.full_loss(Lambda, N, rank_one_point(Lambda, N))) / optimum.loss_minimum(Lambda, N) - 1


FULL_LOSS = Experiment(
    slug="zhang-full-loss",
    title="The loss over all live parameters",
    quick=FullLoss(
        small=((1, 1), (1, 3), (2, 1), (2, 2), (3, 1)),
        points=3,
        settings=((1, 5, 1.0), (2, 5, 3.0), (3, 10, 5.0), (4, 10, 10.0)),
        radii=(0.001, 0.01, 0.1, 0.3, 1.0),
        draws=2000,
        line=(10, 3.0),
    ),
    full=FullLoss(
        small=((1, 1), (1, 2), (1, 3), (1, 5), (2, 1), (2, 2), (2, 3), (3, 1)),
        points=8,
        settings=((1, 5, 1.0), (2, 5, 3.0), (3, 10, 5.0), (4, 10, 10.0), (5, 20, 10.0), (6, 3, 30.0)),
        radii=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        draws=20_000,
        line=(10, 3.0),
    ),
)
