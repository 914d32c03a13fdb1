"""zhang-population-loss: E[Lambda_hat^2] and the population loss against Monte Carlo (section 3.3)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, standard_normal
from icl_lib.measure.estimate import Estimate
from icl_lib.measure.risk import chunks, risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import variable
from icl_lib.seeds import stream
from icl_lib.tasks import LinearRegression, gaussian
from icl_lib.theory.zhang import loss, optimum

POINTS = ("start", "dense", "0.5 / Gamma", "1 / Gamma", "1.5 / Gamma", "1 / Lambda")
"""Where the loss is measured: Assumption 3.3, a dense U_11, multiples of the minimiser, its limit N -> infinity."""


@dataclass(frozen=True)
class PopulationLoss:
    """Training lengths N: E[Lambda_hat^2] from ``examples`` inputs each, the loss from ``prompts`` prompts each.

    The loss formula is also evaluated in ``directions`` random directions at ``distances`` from the minimiser.
    """

    d: int
    kappa: float
    N: tuple[int, ...]
    examples: int
    prompts: int
    distances: tuple[float, ...]
    directions: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure E[Lambda_hat^2] and L; put the formulas beside them."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        s = np.linspace(0, 2, 41)
        measured = [second_moment(Lambda, N, self.examples // N, seed) for N in self.N]
        moments = {
            "second_moment": ([m.value for m in measured], "mean of Lambda_hat^2"),
            "second_moment_se": ([m.standard_error for m in measured], "standard error"),
            "second_moment_theory": ([optimum.second_moment(Lambda, N) for N in self.N], "Gamma Lambda"),
            "second_moment_of_mean": ([Lambda @ Lambda for _ in self.N], "Lambda^2"),
        }
        return xr.Dataset(
            {name: variable("N i j", *cells, "x^4") for name, cells in moments.items()}
            | self._losses(Lambda, seed)
            | self._minima(Lambda, s, seed),
            coords={"N": list(self.N), "point": list(POINTS), "s": s, "distance": list(self.distances)},
        )

    def _losses(self, Lambda, seed) -> dict[str, xr.Variable]:
        cells = np.array([self._column(Lambda, N, seed) for N in self.N])
        titles = {
            "loss": "measured loss",
            "loss_se": "standard error",
            "loss_theory": "loss, formula",
            "loss_exact_context": "the same formula with Lambda for Gamma",
        }
        return {name: variable("N point", cells[:, k], title, "y^2") for k, (name, title) in enumerate(titles.items())}

    def _column(self, Lambda, N, seed) -> np.ndarray:
        W_PV, W_KQ = weights(Lambda, N, seed)
        model = LinearSelfAttention(torch.tensor(W_PV), torch.tensor(W_KQ))
        law = LinearRegression(torch.tensor(Lambda))
        measured = risk(model, law, prompts=self.prompts, length=N, seed=seed, name=f"population-loss/{N}")
        A = W_PV[:, -1, -1, None, None] * W_KQ[:, :-1, :-1]
        theory = [[loss.population_loss(Lambda, K, a) for a in A] for K in (N, np.inf)]
        return np.stack([measured.value / 2, measured.standard_error / 2, *theory])

    def _minima(self, Lambda, s, seed) -> dict[str, xr.Variable]:
        around = standard_normal((self.directions, self.d, self.d), seed, "directions") / self.d
        line, nearby, minimum, by_length, at_inverse = [], [], [], [], []
        for N in self.N:
            best = np.linalg.inv(optimum.Gamma(Lambda, N))
            line.append([loss.population_loss(Lambda, N, t * best) for t in s])
            nearby.append([[loss.population_loss(Lambda, N, best + r * G) for G in around] for r in self.distances])
            minimum.append(optimum.loss_minimum(Lambda, N))
            by_length.append(loss.loss_minimum_by_length(Lambda, N))
            at_inverse.append(loss.population_loss(Lambda, N, np.linalg.inv(Lambda)))
        return {
            "loss_line": variable("N s", line, "loss at s / Gamma, formula", "y^2"),
            "loss_nearby": variable("N distance direction", nearby, "loss around 1 / Gamma, formula", "y^2"),
            "loss_minimum": variable("N", minimum, "least loss, by Corollary A.2", "y^2"),
            "loss_minimum_by_length": variable("N", by_length, "least loss, second form", "y^2"),
            "loss_at_inverse_covariance": variable("N", at_inverse, "loss at 1 / Lambda", "y^2"),
        }


def second_moment(Lambda: np.ndarray, N: int, contexts: int, seed: int) -> Estimate:
    """Estimate E[Lambda_hat^2] over contexts of N examples, with the standard error of each entry."""
    generator, covariance = stream(seed, f"second-moment/{N}"), torch.tensor(Lambda)
    total, squares = torch.zeros_like(covariance), torch.zeros_like(covariance)
    for size in chunks(contexts, N):
        x = gaussian(generator, (size, N), covariance)
        Lambda_hat = torch.einsum("bni,bnj->bij", x, x) / N
        square = torch.einsum("bik,bkj->bij", Lambda_hat, Lambda_hat)
        total += square.sum(0)
        squares += (square**2).sum(0)
    value = total / contexts
    return Estimate(value.numpy(), ((squares / contexts - value**2) / (contexts - 1)).sqrt().numpy())


def weights(Lambda: np.ndarray, N: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (W_PV, W_KQ) at ``POINTS``, each (6, d+1, d+1); all but the start have u = 1."""
    d = len(Lambda)
    best = np.linalg.inv(optimum.Gamma(Lambda, N))
    sigma = loss.largest_sigma(Lambda, N) / 2
    ThetaTheta = loss.unit_gram(standard_normal((d, d), seed, "Theta"))
    dense = best + standard_normal((d, d), seed, "dense") / (2 * d)
    U_11 = [dense, 0.5 * best, best, 1.5 * best, np.linalg.inv(Lambda)]
    W_PV = [loss.W_PV_start(d, u) for u in (sigma, 1, 1, 1, 1, 1)]
    W_KQ = [loss.W_KQ_start(ThetaTheta, sigma), *(np.pad(U, (0, 1)) for U in U_11)]
    return np.stack(W_PV), np.stack(W_KQ)


_DISTANCES = (0.001, 0.01, 0.1, 1.0)

POPULATION_LOSS = Experiment(
    slug="zhang-population-loss",
    title="The population loss and where it starts",
    paper="zhang",
    section="3.3",
    notebook="zhang_3_preliminaries",
    quick=PopulationLoss(4, 5.0, (3, 10), 10_000_000, 200_000, distances=_DISTANCES, directions=20),
    full=PopulationLoss(4, 5.0, (3, 10, 40), 60_000_000, 2_000_000, distances=_DISTANCES, directions=50),
)
