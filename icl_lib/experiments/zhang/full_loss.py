"""zhang-full-loss: the loss over all live parameters is an exact polynomial, and Theorem 4.1's limit minimises it."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.exact_prompts import attention, gauss_hermite_prompts
from icl_lib.experiments.zhang.spectra import geometric_covariance, standard_normal
from icl_lib.results import variable
from icl_lib.theory.zhang import dynamics, full_loss, optimum
from icl_lib.theory.zhang.rank_one_trap import rank_one_point

ZERO = 1e-10
"""Eigenvalues below this share of the largest count as 0."""


@dataclass(frozen=True)
class FullLoss:
    """The layer's exact loss at small (d, N); random points and Hessians of the polynomial at larger ones."""

    small: tuple[tuple[int, int], ...]
    points: int
    settings: tuple[tuple[int, int, float], ...]
    radii: tuple[float, ...]
    draws: int
    line: tuple[int, float]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Split the loss of the layer by w -> -w, search below the optimum, take Hessians, try the family of d = 1."""
        split = np.array([self._split(d, N, seed) for d, N in self.small])
        lowest = np.array([self._lowest(d, N, kappa, seed) for d, N, kappa in self.settings])
        signs = np.array([self._hessian_signs(d, N, kappa, seed) for d, N, kappa in self.settings])
        N, kappa = self.line
        family = [self._rank_one_excess(d, N, kappa, seed) for d in (1, 2, 3)]
        return xr.Dataset(
            {
                "loss": variable("size point parity", split[..., :2], "part of the layer's loss, by averaging", "y^2"),
                "loss_theory": variable("size point parity", split[..., 2:], "part of the loss, closed form", "y^2"),
                "excess": variable("setting radius", lowest[:, 0], "least (L - L*)/L* over draws around the limit"),
                "excess_over_plain": variable("setting radius", lowest[:, 1], "the same over the loss at Lambda^-1"),
                "negative": variable("setting place", signs[..., 0], "negative eigenvalues of the Hessian"),
                "zero": variable("setting place", signs[..., 1], "zero eigenvalues of the Hessian"),
                "rank_one_excess": variable("d", family, "(L - L*)/L* at u_-1 = 0, U_11 = 0, best u_12 u_21^T"),
            },
            coords={
                "size": [f"d={d}, N={N}" for d, N in self.small],
                "parity": ["odd", "even"],
                "setting": [f"d={d}, N={N}, κ={kappa:g}" for d, N, kappa in self.settings],
                "radius": list(self.radii),
                "place": ["limit", "origin"],
                "d": [1, 2, 3],
            },
        )

    def _split(self, d: int, N: int, seed: int) -> list[list[float]]:
        Lambda = geometric_covariance(d, 4.0, seed, f"basis/{d}/{N}")
        prompts, weights = gauss_hermite_prompts(Lambda, N)
        rows = []
        for U in standard_normal((self.points, d + 1, d + 1), seed, f"points/{d}/{N}"):
            model = attention(torch.tensor(U))
            y, mirrored = model(prompts), model(prompts._replace(y=-prompts.y))
            odd, even = (y - mirrored) / 2 - prompts.y_query, (y + mirrored) / 2
            measured = [float(torch.einsum("b,b->", weights, half**2)) / 2 for half in (odd, even)]
            rows.append([*measured, *(float(part(Lambda, N, U)) for part in (full_loss.odd_loss, full_loss.even_loss))])
        return rows

    def _limit(self, Lambda: np.ndarray, N: int) -> np.ndarray:
        U_11, u_last = dynamics.limit(Lambda, N, 0.0)
        U = np.pad(U_11, (0, 1))
        U[-1, -1] = u_last
        return U

    def _lowest(self, d: int, N: int, kappa: float, seed: int) -> np.ndarray:
        Lambda = geometric_covariance(d, kappa, seed)
        minimum, plain = (optimum.loss_minimum(Lambda, N), full_loss.full_loss(Lambda, N, self._plain(Lambda)))
        steps = standard_normal((self.draws, d + 1, d + 1), seed, f"steps/{d}/{N}")
        points = self._limit(Lambda, N) + np.array(self.radii)[:, None, None, None] * steps
        lowest = full_loss.full_loss(Lambda, N, points).min(axis=1)
        return np.stack([lowest / minimum - 1, lowest / plain - 1])

    def _plain(self, Lambda: np.ndarray) -> np.ndarray:
        U = np.pad(np.linalg.inv(Lambda), (0, 1))
        U[-1, -1] = 1.0
        return U

    def _hessian_signs(self, d: int, N: int, kappa: float, seed: int) -> list[list[int]]:
        Lambda = geometric_covariance(d, kappa, seed)
        signs = []
        for U in (self._limit(Lambda, N), np.zeros((d + 1, d + 1))):
            eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, N, U))
            floor = ZERO * abs(eigenvalues).max()
            signs.append([int((eigenvalues < -floor).sum()), int((abs(eigenvalues) <= floor).sum())])
        return signs

    def _rank_one_excess(self, d: int, N: int, kappa: float, seed: int) -> float:
        Lambda = geometric_covariance(d, kappa, seed)
        return float(full_loss.full_loss(Lambda, N, rank_one_point(Lambda, N))) / optimum.loss_minimum(Lambda, N) - 1


FULL_LOSS = Experiment(
    slug="zhang-full-loss",
    title="The loss over all live parameters",
    paper="zhang",
    section="5.1",
    notebook="zhang_5_1_quadratic_form",
    quick=FullLoss(
        small=((1, 1), (1, 3), (2, 1), (2, 2), (3, 1)), points=3,
        settings=((1, 5, 1.0), (2, 5, 3.0), (3, 10, 5.0), (4, 10, 10.0)), radii=(0.001, 0.01, 0.1, 0.3, 1.0),
        draws=2000, line=(10, 3.0),
    ),
    full=FullLoss(
        small=((1, 1), (1, 2), (1, 3), (1, 5), (2, 1), (2, 2), (2, 3), (3, 1)), points=8,
        settings=((1, 5, 1.0), (2, 5, 3.0), (3, 10, 5.0), (4, 10, 10.0), (5, 20, 10.0), (6, 3, 30.0)),
        radii=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), draws=20_000, line=(10, 3.0),
    ),
)  # fmt: skip
