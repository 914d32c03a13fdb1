"""zhang-training: finite steps reach the fixed point of gradient flow, by population gradient descent and by SGD."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, standard_normal
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import Checkpoint, variable
from icl_lib.seeds import stream
from icl_lib.tasks import LinearRegression, Prompts, antithetic
from icl_lib.theory.zhang import loss, optimum
from icl_lib.train import SGD, Parameters, Training, linear_decay, train


@dataclass(frozen=True)
class FiniteSteps:
    """Training from Assumption 3.3 at several learning rates: exact population gradients, and fresh minibatches."""

    d: int
    N: int
    kappa: float
    sigma: float
    descent_rates: tuple[float, ...]
    descent_steps: int
    sgd_rate: float
    sgd_steps: int
    batch: int
    seeds: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train and compare the product u_-1 U_11 and the factor u_-1 with Theorem 4.1."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        target = np.linalg.inv(optimum.Gamma(Lambda, self.N))
        descent_product, descent_factor = _distance(self._descend(Lambda, seed).parameters, target)
        sgd = self._stochastic(Lambda, seed, device)
        sgd_product, sgd_factor = _distance(sgd.parameters, target)
        marks = np.unique(np.geomspace(1, self.sgd_steps, 60).astype(int)) - 1
        return xr.Dataset(
            {
                "descent_product": variable("rate", descent_product, "relative error of u_-1 U_11, descent"),
                "descent_factor": variable("rate", descent_factor, "relative error of u_-1, descent"),
                "sgd_product": variable("seed", sgd_product, "relative error of u_-1 U_11, SGD"),
                "sgd_factor": variable("seed", sgd_factor, "relative error of u_-1, SGD"),
                "sgd_product_without_Gamma": variable(
                    "seed", _distance(sgd.parameters, np.linalg.inv(Lambda))[0], "relative distance to Lambda^-1, SGD"
                ),
                "sgd_loss": variable("step seed", sgd.losses[marks].cpu().numpy(), "minibatch loss", "y^2"),
                "loss_minimum": variable("", optimum.loss_minimum(Lambda, self.N), "least population loss", "y^2"),
            },
            coords={"rate": list(self.descent_rates), "seed": range(self.seeds), "step": marks + 1},
        )

    def _start(self, seed: int, replicates: int, dtype: torch.dtype, device: str) -> Parameters:
        """Return ``replicates`` starts by Assumption 3.3, each with its own Theta."""
        draws = standard_normal((replicates, self.d, self.d), seed, "Theta")
        W_KQ = np.stack([loss.W_KQ_start(loss.unit_gram(draw), self.sigma) for draw in draws])
        W_PV = np.stack([loss.W_PV_start(self.d, self.sigma)] * replicates)
        return {k: torch.tensor(W, dtype=dtype, device=device) for k, W in (("W_PV", W_PV), ("W_KQ", W_KQ))}

    def _descend(self, Lambda: np.ndarray, seed: int) -> Training:
        second = torch.tensor(optimum.second_moment(Lambda, self.N))
        covariance = torch.tensor(Lambda)

        def population_loss(parameters: Parameters, _) -> Tensor:
            A = parameters["W_PV"][-1, -1] * parameters["W_KQ"][:-1, :-1]
            quadratic = torch.einsum("ij,jk,kl,il->", second, A, covariance, A)
            return quadratic / 2 - torch.einsum("ij,jk,ik->", covariance, covariance, A) + covariance.trace() / 2

        rates = torch.tensor(self.descent_rates, dtype=torch.float64)
        start = {k: W.expand(len(rates), -1, -1) for k, W in self._start(seed, 1, torch.float64, "cpu").items()}
        nothing = torch.zeros(len(rates))
        return train(population_loss, start, lambda step: nothing, SGD(rates), self.descent_steps, title="descent")

    def _stochastic(self, Lambda: np.ndarray, seed: int, device: str) -> Training:
        law = LinearRegression(torch.tensor(Lambda, dtype=torch.float32))

        def draw(step: int) -> Prompts:
            generator = stream(seed, f"data/{step}", device)
            return antithetic(law.sample(generator, (self.seeds, self.batch // 2), self.N))

        checkpoint = Checkpoint.of(self, seed, device, every=2000)
        start = self._start(seed, self.seeds, torch.float32, device)
        rule = SGD(self.sgd_rate)
        run = train(_half_squared_error, start, draw, rule, self.sgd_steps, schedule=linear_decay, checkpoint=checkpoint)
        checkpoint.remove()
        return run


def _half_squared_error(parameters: Parameters, prompts: Prompts) -> Tensor:
    return ((LinearSelfAttention(**parameters)(prompts) - prompts.y_query) ** 2).mean() / 2


def _distance(parameters: Parameters, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    u = parameters["W_PV"][:, -1, -1].detach().cpu().double().numpy()
    U = parameters["W_KQ"][:, :-1, :-1].detach().cpu().double().numpy()
    norm = np.linalg.norm(target)
    return np.linalg.norm(u[:, None, None] * U - target, axis=(1, 2)) / norm, abs(u - norm**0.5) / norm**0.5


TRAINING = Experiment(
    slug="zhang-training",
    title="Gradient descent and SGD with finite steps",
    paper="zhang",
    section="4.1",
    notebook="zhang_4_1_convergence",
    quick=FiniteSteps(
        d=3, N=20, kappa=2.0, sigma=0.3, descent_rates=(0.2, 0.1, 0.05, 0.01), descent_steps=2500,
        sgd_rate=0.03, sgd_steps=1200, batch=256, seeds=4,
    ),
    full=FiniteSteps(
        d=4, N=20, kappa=5.0, sigma=0.3, descent_rates=(0.2, 0.1, 0.05, 0.02, 0.01, 0.005), descent_steps=20_000,
        sgd_rate=0.01, sgd_steps=8000, batch=512, seeds=10,
    ),
)  # fmt: skip
