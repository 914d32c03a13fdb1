"""zhang-long-prompts: local minima of the full loss over prompt length, the wall before them, and dense starts."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.optimize import minimize

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.flow import gradient_flow
from papers.zhang.theory import full_loss, optimum, wall
from papers.zhang.theory.rank_one_trap import trap_margin

ZERO, NEWTON_STEPS, FAR = 1e-10, 8, 1e6
"""Eigenvalues below this share of the largest count as 0; steps that polish a descent; the largest wall ratio that is told."""
PLACES = {"largest": -1, "least": 0}
"""The eigenvalue of Lambda in whose direction a descent starts."""


@dataclass(frozen=True)
class LongPrompts(Declaration):
    """Descents from far points for each (d, kappa) and N; ``drops`` descents on the wall; flows of one (d, kappa) to T.

    settings   (d, kappa): dimension of inputs, condition number of the covariance
    N          training lengths at which descents are made; drops: descents on the wall for each setting and N
    dense      (d, kappa) of the flows; dense_N: their training lengths; T: time at which the flows end
    scale      standard deviation of the entries of a dense start; starts: dense starts, the same for each N
    Shared stream: basis: one basis for all covariances of a declaration.
    """

    settings: Several[tuple[AtLeastTwo, Positive]]
    N: Several[Count]
    drops: Count
    dense: tuple[AtLeastTwo, Positive]
    dense_N: Several[Count]
    scale: Positive
    starts: Count
    T: Positive

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Descend, integrate, and take loss and curvature where that ends."""
        laws = [geometric_covariance(d, kappa, seed) for d, kappa in self.settings]
        ends = np.array([[[self._end(L, N, place) for place in PLACES.values()] for N in self.N] for L in laws])
        least = [[self._least_on_wall(Lambda, N, seed) for N in self.N] for Lambda in laws]
        names = {
            "loss": "L at the end of a descent from a far point",
            "gradient": "greatest |entry| of the gradient there, over the greatest eigenvalue of the Hessian",
            "negative": "negative eigenvalues of the Hessian there",
            "zero": "zero eigenvalues of the Hessian there",
            "beyond": "wall ratio there",
        }
        data = {name: variable("setting N place", ends[..., k], text) for k, (name, text) in enumerate(names.items())}
        flows = [self._flows(N, seed) for N in self.dense_N]
        dims = "dense_N start row column"
        data["least_on_wall"] = variable("setting N", least, "least L found on the wall")
        data["ends"] = variable(dims, [ends for ends, _ in flows], "parameters at T from dense starts")
        data["ends_zero_blocks"] = variable(dims, [ends for _, ends in flows], "the same with u_12 = u_21 = 0 at the start")
        coords = {"setting": [f"d={d}, κ={kappa:g}" for d, kappa in self.settings], "N": list(self.N), "place": list(PLACES)}
        return xr.Dataset(data, coords={**coords, "dense_N": list(self.dense_N)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the optimum, the wall's height, the criterion at the rank-one point and the far point's loss beside it."""
        laws, Lambda = [geometric_covariance(d, kappa, seed) for d, kappa in self.settings], self._dense(seed)
        names = {
            "minimum": (optimum.loss_minimum, "L*"),
            "height": (wall.wall_height, "height of the wall, a lower bound of L - L* on it"),
            "height_without_trace": (wall.wall_height_without_trace, "the same without its first term"),
            "rank_one_margin": (trap_margin, "above 0 where the rank-one point is a local minimum"),
            "far_loss": (wall.far_point_loss, "L at the far points"),
        }
        data = {
            name: variable("setting N", [[float(formula(law, N)) for N in self.N] for law in laws], text)
            for name, (formula, text) in names.items()
        }
        least, height = (np.array([f(Lambda, N) for N in self.dense_N]) for f in (optimum.loss_minimum, wall.wall_height))
        for name in ("ends", "ends_zero_blocks"):
            cells = zip(self.dense_N, dataset[name].values, strict=True)
            losses = np.array([full_loss.full_loss(Lambda, N, U) for N, U in cells])
            data[name.replace("ends", "dense_loss")] = variable("dense_N start", losses / least[:, None], "L(T)/L*")
        pairs = zip(self.dense_N, dataset.ends.values, strict=True)
        beyond = np.array([wall.wall_ratio(Lambda, N, U) for N, U in pairs]) > 1
        low = data["dense_loss"].values < 1 + (height / least)[:, None]
        data["locked"] = variable("dense_N start", beyond & low, "beyond the wall and below its height at T")
        return dataset.assign(data).assign_coords(d=("setting", [d for d, _ in self.settings]))

    def _dense(self, seed: int) -> np.ndarray:
        return geometric_covariance(*self.dense, seed)

    def _end(self, Lambda: np.ndarray, N: int, place: int) -> list[float]:
        """Return loss, gradient, signs of the Hessian and side of the wall at the end of a descent from a far point."""
        U = settle(Lambda, N, wall.far_point(Lambda, N, place))
        eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, N, U))
        floor = ZERO * eigenvalues[-1]
        return [
            full_loss.full_loss(Lambda, N, U),
            abs(full_loss.full_gradient(Lambda, N, U)).max() / eigenvalues[-1],
            float((eigenvalues < -floor).sum()),
            float((abs(eigenvalues) <= floor).sum()),
            min(wall.wall_ratio(Lambda, N, U), FAR),
        ]

    def _least_on_wall(self, Lambda: np.ndarray, N: int, seed: int) -> float:
        """Return the least loss that descents on the wall find; u_-1 is what the other entries make it there."""
        shape = (self.drops, len(Lambda) + 1, len(Lambda) + 1)
        starts = 0.7 * standard_normal(shape, seed, f"wall/{len(Lambda)}")
        slope = (1 + 3 / N) / np.trace(Lambda)

        def placed(theta: np.ndarray) -> np.ndarray:
            U = theta.reshape(shape[1:]).copy()
            U[-1, -1] = (slope * U[:-1, -1] @ Lambda @ U[:-1, -1]) ** 0.5
            return U

        def gradient(theta: np.ndarray) -> np.ndarray:
            U = placed(theta)
            G = full_loss.full_gradient(Lambda, N, U)
            G[:-1, -1] += G[-1, -1] * slope * (Lambda @ U[:-1, -1]) / U[-1, -1]
            G[-1, -1] = 0.0
            return G.ravel()

        def loss(theta: np.ndarray) -> float:
            return float(full_loss.full_loss(Lambda, N, placed(theta)))

        return min(minimize(loss, U.ravel(), jac=gradient, method="BFGS", options={"maxiter": 500}).fun for U in starts)

    def _flows(self, N: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters at T from dense starts, and from the same with zero blocks."""
        Lambda, d = self._dense(seed), self.dense[0]
        dense = self.scale * standard_normal((self.starts, d + 1, d + 1), seed, "starts")
        zero_blocks = dense.copy()
        zero_blocks[:, :-1, -1] = zero_blocks[:, -1, :-1] = 0.0

        def field(theta: np.ndarray) -> np.ndarray:
            return -full_loss.full_gradient(Lambda, N, theta.reshape(-1, d + 1, d + 1)).ravel()

        times = np.array([0.0, self.T])
        dense, zero_blocks = (
            gradient_flow(field, starts.ravel(), times, rtol=1e-5, atol=1e-7)[-1].reshape(starts.shape)
            for starts in (dense, zero_blocks)
        )
        return dense, zero_blocks


def settle(Lambda: np.ndarray, N: int, U: np.ndarray) -> np.ndarray:
    """Return the critical point that descent from U ends at: BFGS, then Newton with the layers' norms kept equal."""
    shape, U = U.shape, balanced(U)

    def loss(theta: np.ndarray) -> float:
        return float(full_loss.full_loss(Lambda, N, theta.reshape(shape)))

    def gradient(theta: np.ndarray) -> np.ndarray:
        return full_loss.full_gradient(Lambda, N, theta.reshape(shape)).ravel()

    U = balanced(minimize(loss, U.ravel(), jac=gradient, method="BFGS", options={"gtol": 1e-7}).x.reshape(shape))
    for _ in range(NEWTON_STEPS):
        flat = full_loss.rescaling_direction(U).ravel()
        curvature = full_loss.full_hessian(Lambda, N, U) + np.outer(flat, flat) / (flat @ flat)
        U = balanced(U - np.linalg.lstsq(curvature, gradient(U.ravel()), rcond=None)[0].reshape(shape))
    return U


def balanced(U: np.ndarray) -> np.ndarray:
    """Return the rescaling (c W_PV, W_KQ / c) of U that makes the two layers' norms equal."""
    c = (np.linalg.norm(U[:, :-1]) / np.linalg.norm(U[:, -1])) ** 0.5
    return np.column_stack([U[:, :-1] / c, c * U[:, -1]])


LONG_PROMPTS = Experiment(
    slug="zhang-long-prompts",
    title="Local minima at long prompts",
    quick=LongPrompts(
        settings=((2, 1.5), (3, 5.0), (5, 10.0)),
        N=(5, 100, 10_000),
        drops=1,
        dense=(3, 5.0),
        dense_N=(200,),
        scale=0.3,
        starts=5,
        T=150.0,
    ),
    full=LongPrompts(
        settings=((2, 1.5), (3, 5.0), (3, 25.0), (5, 10.0)),
        N=(5, 10, 20, 50, 100, 200, 500, 1000, 10_000),
        drops=6,
        dense=(3, 5.0),
        dense_N=(10, 50, 200, 1000),
        scale=0.3,
        starts=24,
        T=150.0,
    ),
)
