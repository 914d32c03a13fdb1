"""zhang-population-loss: E[Lambda_hat^2] and the population loss against Monte Carlo (section 3.3)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate
from icl_lib.measure.risk import chunks, risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import gaussian
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.dimensions import entries, sides
from papers.zhang.near_misses import of_gammas
from papers.zhang.theory import loss, optimum

POINTS = ("start", "dense", "0.5 / Gamma", "1 / Gamma", "1.5 / Gamma", "1 / Lambda")
"""Where the loss is measured: Assumption 3.3, a dense U_11, multiples of the minimiser, its limit N -> infinity."""


@dataclass(frozen=True)
class PopulationLoss(Declaration):
    """Training lengths N: E[Lambda_hat^2] from ``examples`` inputs each, the loss from ``prompts`` prompts each.

    d           dimensions of inputs; kappa: condition number of the covariance; N: training lengths
    examples    inputs for E[Lambda_hat^2] at each N, cut into contexts; prompts: of which the loss at each N is the mean
    distances   from the minimiser; directions: random directions from the minimiser
    The loss is that of the first d; its formula is also evaluated around the minimiser.
    """

    d: Several[Count]
    kappa: Positive
    N: Several[Count]
    examples: Count
    prompts: AtLeastTwo
    distances: Several[Positive]
    directions: Count

    def __post_init__(self):
        super().__post_init__()
        if self.examples < 2 * max(self.N):
            raise ValueError(f"{self.examples} examples make no two contexts of {max(self.N)}: take {2 * max(self.N)} or more")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure E[Lambda_hat^2] and L."""
        covariances = self._covariances(seed)
        moments = xr.concat([self._moments(each, seed) for each in covariances], "entry")
        Lambda = covariances[0]
        risks = [self._risk(Lambda, N, seed) for N in self.N]
        return xr.Dataset(
            {
                "loss": variable("N point", [r.value / 2 for r in risks], "measured loss", "y^2"),
                "loss_se": variable("N point", [r.standard_error / 2 for r in risks], "standard error", "y^2"),
            },
            coords={"N": list(self.N), "point": list(POINTS), "d": sides(self.d)},
        ).merge(moments)

    def _moments(self, Lambda: np.ndarray, seed: int) -> xr.Dataset:
        found = [second_moment(Lambda, N, self.examples // N, seed) for N in self.N]
        names = {"second_moment": "mean of Lambda_hat^2", "second_moment_se": "standard error"}
        return xr.Dataset(
            {
                name: variable("N entry", entries([np.array(each)]), text, "x^4")
                for each, (name, text) in zip(zip(*found, strict=True), names.items(), strict=True)
            }
        )

    def _risk(self, Lambda: np.ndarray, N: int, seed: int) -> Estimate:
        model, law = LinearSelfAttention(*map(torch.tensor, weights(Lambda, N, seed))), LinearRegression(torch.tensor(Lambda))
        return risk(model, law, prompts=self.prompts, length=N, seed=seed, name=f"population-loss/{N}")

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the formulas beside it, and the loss around its minimum."""
        covariances, s = self._covariances(seed), np.linspace(0, 2, 41)
        Lambda = covariances[0]
        second = [np.array([optimum.second_moment(each, N) for N in self.N]) for each in covariances]
        means = [np.array([L @ L for _ in self.N]) for L in covariances]
        sizes = [np.linalg.norm(each, axis=(-2, -1), keepdims=True) + 0 * each for each in second]
        wrong = of_gammas(
            lambda Gamma: entries(
                [np.array([*right[:-1], Gamma(L, self.N[-1]) @ L]) for L, right in zip(covariances, second, strict=True)]
            )
        )
        exact, exact_context = np.moveaxis([self._losses(Lambda, N, seed) for N in self.N], 1, 0)
        return dataset.assign(
            second_moment_theory=variable("N entry", entries(second), "Gamma Lambda", "x^4"),
            second_moment_of_mean=variable("N entry", entries(means), "Lambda^2", "x^4"),
            second_moment_scale=variable("N entry", entries(sizes), "its Frobenius norm", "x^4"),
            second_moment_near=near_misses("N entry", wrong, "x^4"),
            second_moment_se=dataset.second_moment_se.assign_attrs(blocks=self.examples // max(self.N)),
            loss_theory=variable("N point", exact, "loss, formula", "y^2"),
            loss_exact_context=variable("N point", exact_context, "the same formula with Lambda for Gamma", "y^2"),
            **self._minima(Lambda, s, seed),
        ).assign_coords(s=s, distance=list(self.distances))

    def _covariances(self, seed: int) -> list[np.ndarray]:
        return [geometric_covariance(d, self.kappa, seed) for d in self.d]

    @expectation
    def _losses(self, Lambda: np.ndarray, N: int, seed: int) -> list[list[float]]:
        """Return the loss at all points, and with Lambda for Gamma."""
        W_PV, W_KQ = weights(Lambda, N, seed)
        A = W_PV[:, -1, -1, None, None] * W_KQ[:, :-1, :-1]
        return [[loss.population_loss(Lambda, K, a) for a in A] for K in (N, np.inf)]

    @expectation
    def _minima(self, Lambda, s, seed) -> dict[str, xr.Variable]:
        around = standard_normal((self.directions, *Lambda.shape), seed, "directions") / len(Lambda)
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
    generator, covariance = stream(seed, f"second-moment/{len(Lambda)}/{N}"), torch.tensor(Lambda)
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
    section="3.3",
    quick=PopulationLoss((4, 3), 1.5, (3, 10), 3_500_000, 30_000, distances=_DISTANCES, directions=20),
    full=PopulationLoss((4, 2), 5.0, (3, 10, 40), 60_000_000, 2_000_000, distances=_DISTANCES, directions=50),
)
