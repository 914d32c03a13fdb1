"""zhang-training: finite steps reach the fixed point of gradient flow, by population gradient descent and by SGD."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Checkpoint, Count, Declaration, Experiment, Positive, Several, expectation, variable
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, antithetic
from icl_lib.tasks.regression import LinearRegression
from icl_lib.train.loop import Training, train
from icl_lib.train.optimizers import SGD, Parameters, linear_decay
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.theory import loss, optimum


@dataclass(frozen=True)
class FiniteSteps(Declaration):
    """Training from Assumption 3.3 at several learning rates: exact population gradients, and fresh minibatches.

    d               dimension of inputs; N: training length; kappa: condition number of the covariance
    sigma           of Assumption 3.3
    descent_rates   learning rates of gradient descent; descent_steps: steps at each rate
    sgd_rate        first learning rate of SGD, which falls linearly; sgd_steps: steps of SGD
    batch           prompts of a minibatch, in antithetic pairs; seeds: runs of SGD
    """

    d: Count
    N: Count
    kappa: Positive
    sigma: Positive
    descent_rates: Several[Positive]
    descent_steps: Count
    sgd_rate: Positive
    sgd_steps: Count
    batch: AtLeastTwo
    seeds: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if min(self.descent_rates) > 0.01:
            raise ValueError(f"descent_rates are {self.descent_rates}: take one of 0.01 or less, where the factors match")
        if self.batch % 2:
            raise ValueError(f"batch is {self.batch}, but prompts come in antithetic pairs: take an even number")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train and keep the weights u_-1 and U_11."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        descent_u, descent_U = _moving(self._descend(Lambda, seed).parameters)
        sgd = self._stochastic(Lambda, seed, device)
        sgd_u, sgd_U = _moving(sgd.parameters)
        marks = np.unique(np.geomspace(1, self.sgd_steps, 60).astype(int)) - 1
        return xr.Dataset(
            {
                "descent_u": variable("rate", descent_u, "u_-1 after descent"),
                "descent_U": variable("rate i j", descent_U, "U_11 after descent"),
                "sgd_u": variable("seed", sgd_u, "u_-1 after SGD"),
                "sgd_U": variable("seed i j", sgd_U, "U_11 after SGD"),
                "sgd_loss": variable("step seed", sgd.losses[marks].cpu().numpy(), "minibatch loss", "y^2"),
            },
            coords={"rate": list(self.descent_rates), "seed": range(self.seeds), "step": marks + 1},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Compare the product u_-1 U_11 and the factor u_-1 with Theorem 4.1."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        target = np.linalg.inv(optimum.Gamma(Lambda, self.N))
        descent, sgd = (dataset.descent_u.values, dataset.descent_U.values), (dataset.sgd_u.values, dataset.sgd_U.values)
        descent_product, descent_factor = _distance(*descent, target)
        sgd_product, plain = (_distance(*sgd, matrix)[0] for matrix in (target, np.linalg.inv(Lambda)))
        return dataset.assign(
            descent_product=variable("rate", descent_product, "relative error of u_-1 U_11, descent"),
            descent_factor=variable("rate", descent_factor, "relative error of u_-1, descent"),
            sgd_product=variable("seed", sgd_product, "relative error of u_-1 U_11, SGD"),
            sgd_product_without_Gamma=variable("seed", plain, "relative distance to Lambda^-1, SGD"),
            loss_minimum=variable("", optimum.loss_minimum(Lambda, self.N), "least population loss", "y^2"),
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


def _moving(parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    u, U = parameters["W_PV"][:, -1, -1], parameters["W_KQ"][:, :-1, :-1]
    return u.detach().cpu().double().numpy(), U.detach().cpu().double().numpy()


def _distance(u: np.ndarray, U: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    norm = np.linalg.norm(target)
    return np.linalg.norm(u[:, None, None] * U - target, axis=(1, 2)) / norm, abs(u - norm**0.5) / norm**0.5


_QUICK = FiniteSteps(
    d=3,
    N=20,
    kappa=1.5,
    sigma=0.5,
    descent_rates=(0.2, 0.1, 0.05, 0.01),
    descent_steps=1400,
    sgd_rate=0.03,
    sgd_steps=600,
    batch=256,
    seeds=4,
)
TRAINING = Experiment(
    slug="zhang-training",
    title="Gradient descent and SGD with finite steps",
    quick=_QUICK,
    full=replace(
        _QUICK,
        d=4,
        kappa=5.0,
        sigma=0.3,
        descent_rates=(0.2, 0.1, 0.05, 0.02, 0.01, 0.005),
        descent_steps=20_000,
        sgd_rate=0.01,
        sgd_steps=8000,
        batch=512,
        seeds=10,
    ),
)
