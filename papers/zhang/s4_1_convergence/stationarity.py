"""zhang-stationarity: the gradient of the full population loss vanishes at the weights of Theorem 4.1."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.func import grad, vmap

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, antithetic
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance
from papers.zhang.near_misses import of_blocks
from papers.zhang.theory import optimum
from papers.zhang.theory.full_loss import full_gradient


@dataclass(frozen=True)
class Stationarity(Declaration):
    """Monte Carlo gradient at the closed form and at two points beside it, in all live parameters.

    d        dimension of inputs; N: training length; kappa: condition number of the covariance
    factor   on u_-1, at one of the points beside the closed form
    blocks   of prompts, each of which gives one sample of the gradient; pairs: antithetic pairs of prompts in a block
    One size: d, N: tests compare the polynomial with the layer, by exact quadrature, at others.
    Shared stream: basis: one basis for the points and for the covariance that they are points of.
    """

    d: Count
    N: Count
    kappa: Positive
    factor: Positive
    blocks: AtLeastTwo
    pairs: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Estimate the gradient from ``blocks`` blocks of ``pairs`` antithetic pairs; a block is one sample."""
        points, Lambda = self._points(seed), geometric_covariance(self.d, self.kappa, seed)
        law = LinearRegression(torch.tensor(Lambda))
        weights = [torch.tensor(np.stack(W)) for W in zip(*points.values(), strict=True)]
        paired, plain = self._gradients(law, weights, seed)
        d = self.d
        names = [f"{name}[{i}]" for name, n in (("U_11", d * d), ("u_21", d), ("u_12", d), ("u_-1", 1)) for i in range(n)]
        return xr.Dataset(
            {
                "gradient": variable("point entry", paired.value, "gradient of the population loss, antithetic pairs"),
                "gradient_se": variable("point entry", paired.standard_error, "standard error"),
                "gradient_unpaired": variable("point entry", plain.value, "the same from single prompts"),
                "gradient_unpaired_se": variable("point entry", plain.standard_error, "standard error"),
            },
            coords={"point": list(points), "entry": names},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the gradient of the loss as a polynomial in all live parameters beside it."""
        Lambda, weights = geometric_covariance(self.d, self.kappa, seed), self._points(seed).values()
        U = np.stack([np.c_[W_KQ[:, :-1], W_PV[-1]] for W_PV, W_KQ in weights])

        def gradient(N: int) -> np.ndarray:
            found = full_gradient(Lambda, N, U)
            return np.c_[found[:, :, :-1].reshape(len(U), -1), found[:, :, -1]]

        wrong = {"N + 1 for N": gradient(self.N + 1), "N − 1 for N": gradient(self.N - 1)}
        return dataset.assign(
            gradient_theory=variable("point entry", gradient(self.N), "gradient of the population loss"),
            gradient_scale=variable("", abs(gradient(self.N)[1]).max(), "largest entry at the second point"),
            gradient_near=near_misses("point entry", wrong),
            gradient_se=of_blocks(dataset.gradient_se, self.blocks),
        )

    def _points(self, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the weights of Theorem 4.1 and two pairs beside them."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        W_PV, W_KQ = optimum.W_PV_limit(Lambda, self.N), optimum.W_KQ_limit(Lambda, self.N)
        u, naive = W_PV[-1, -1], np.pad(np.linalg.inv(Lambda), (0, 1))
        return {
            "Theorem 4.1": (W_PV, W_KQ),
            f"u_-1 times {self.factor:g}": (self.factor * W_PV, W_KQ),
            "inverse Lambda": (W_PV, naive / u),
        }

    def _gradients(self, law: LinearRegression, weights: list[Tensor], seed: int) -> tuple[Estimate, Estimate]:
        generator = stream(seed, "stationarity")
        paired, plain = [], []
        for _ in range(self.blocks):
            prompts = law.sample(generator, (self.pairs,), self.N)
            plain.append(_gradient(weights, prompts))
            paired.append(_gradient(weights, antithetic(prompts)))
        return mean(torch.stack(paired, dim=-1)), mean(torch.stack(plain, dim=-1))


def _gradient(weights: list[Tensor], prompts: Prompts) -> Tensor:
    """Return the gradients at all points, (points, (d+1)^2), ordered U_11, u_21, u_12, u_-1."""

    def loss(W_PV: Tensor, W_KQ: Tensor) -> Tensor:
        return ((LinearSelfAttention(W_PV, W_KQ)(prompts) - prompts.y_query) ** 2).mean() / 2

    by_PV, by_KQ = vmap(grad(loss, argnums=(0, 1)))(*weights)
    return torch.cat([by_KQ[:, :, :-1].flatten(1), by_PV[:, -1]], dim=-1)


_QUICK = Stationarity(d=4, N=10, kappa=5.0, factor=1.1, blocks=75, pairs=1500)
STATIONARITY = Experiment(
    slug="zhang-stationarity",
    title="The gradient vanishes at the limit",
    quick=_QUICK,
    full=replace(_QUICK, blocks=1000, pairs=2000),
)
