"""zhang-random-covariance: error of models trained on random and on fixed covariances, formula and Monte Carlo."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.measure.risk import chunks
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import gathered, of_blocks
from papers.zhang.random_covariance import RandomDiagonalRegression
from papers.zhang.random_spectra import exponential, stacked_weights, uniform
from papers.zhang.theory import random_covariance as theory


@dataclass(frozen=True)
class RandomCovariance(Declaration):
    """Models trained on random covariances, or on their mean, tested on c times random covariances at lengths M.

    d   dimensions of inputs; N: training length; M: test lengths
    c   factors on the covariances of the test; prompts: test prompts of a distribution of spectra at each d
    One size: N: the error is one of given weights, whichever training made them; training has zhang-random-covariance-flow.
    """

    d: Several[Count]
    N: Count
    M: Several[Count]
    c: Several[Positive]
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.N not in self.M:
            raise ValueError(f"M is {self.M}, N is {self.N}: take the length of training as one of the test lengths")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of LSA with the weights of Theorems 4.5 and 4.1, and with weights off the diagonal as well."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        laws = _laws(d, seed)
        found = [self._risk(*law, seed, f"{name}/{d}") for name, law in laws.items()]
        dims = "law trained c M"
        return xr.Dataset(
            {
                "risk": variable(dims, [e.value / d for e in found], "measured error per dimension", "y^2"),
                "risk_se": variable(dims, [e.standard_error / d for e in found], "standard error", "y^2"),
            },
            coords={"law": list(laws), "trained": ["random", "mean", "triangular"], "c": list(self.c), "M": list(self.M)},
            attrs={"N": self.N},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the exact error beside it, and that of the zero estimator."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        moments, line = [law for _, law in _laws(d, seed).values()], np.geomspace(min(self.M), max(self.M), 25)
        exact, lines, limits = (
            np.array([self._errors_by_formula(law, N, lengths) for law in moments]) / d
            for N, lengths in ((self.N, self.M), (self.N, line), (np.inf, (np.inf,)))
        )
        zero = [np.outer(self.c, law.first).mean(axis=1) for law in moments]
        columns = {
            "risk_theory": ("law trained c M", exact, "exact error per dimension"),
            "risk_line": ("law trained c M_line", lines, "exact error per dimension, at more lengths"),
            "risk_limit": ("law trained c", limits[..., 0], "error per dimension as N, M tend to infinity"),
            "zero": ("law c", zero, "error per dimension of the zero estimator"),
        }
        wrong = gathered([self._near(law) for law in moments], lambda cell: cell / d)
        return (
            dataset.assign({name: variable(*column, "y^2") for name, column in columns.items()})
            .assign(risk_near=near_misses("law trained c M", wrong, "y^2"), risk_se=of_blocks(dataset.risk_se, self.prompts))
            .assign_coords(M_line=line)
        )

    @expectation
    def _near(self, moments: theory.SpectrumMoments) -> list:
        tests = [theory.scaled_moments(moments, c) for c in self.c]
        swapped = [_weights(moments, M) for M in self.M]
        return [
            [[wrong_errors(A, swapped[k][i], test, M) for k, M in enumerate(self.M)] for test in tests]
            for i, A in enumerate(_weights(moments, self.N))
        ]

    def _risk(self, spectrum, moments: theory.SpectrumMoments, seed: int, name: str) -> Estimate:
        model = LinearSelfAttention(*stacked_weights(_weights(moments, self.N)))
        return mean(self._squared_errors(model, RandomDiagonalRegression(spectrum), seed, f"random-covariance/{name}"))

    @expectation
    def _errors_by_formula(self, moments: theory.SpectrumMoments, N: float, lengths) -> list:
        tests = [theory.scaled_moments(moments, c) for c in self.c]
        return [[[theory.error(A, test, M) for M in lengths] for test in tests] for A in _weights(moments, N)]

    def _squared_errors(self, model, law, seed: int, name: str) -> torch.Tensor:
        """Return (trained, c, M, prompts): every c and M is measured on the same draws, scaled and cut."""
        generator, longest = stream(seed, name), max(self.M)
        batches = (law.sample(generator, (size,), longest) for size in chunks(self.prompts, longest + 1))
        return torch.cat([self._errors(model, batch) for batch in batches], dim=-1)

    def _errors(self, model, batch: Prompts) -> torch.Tensor:
        tests = [[scaled(batch, c**0.5, M) for M in self.M] for c in self.c]
        errors = [torch.stack([(model(test) - test.y_query) ** 2 for test in row], dim=1) for row in tests]
        return torch.stack(errors, dim=1)


def _laws(d: int, seed: int) -> dict:
    """Return the distributions of the spectra with their moments."""
    return {"exponential": exponential(np.ones(d)), "uniform": uniform(d, seed)}


def _weights(moments: theory.SpectrumMoments, N: float) -> list[np.ndarray]:
    """Return the weights that training on random spectra and on their mean leaves, and the first with an upper triangle.

    By these the coefficients of Corollary C.2 off the diagonal are seen, and in which order their indices stand.
    """
    random, fixed = (theory.A_limit(law, N) for law in (moments, theory.fixed_moments(moments.first)))
    return [random, fixed, random + np.diag(random).mean() * np.triu(np.ones_like(random), 1)]


def wrong_errors(A: np.ndarray, swapped: np.ndarray, test: theory.SpectrumMoments, M: int) -> dict[str, float]:
    """Return by mistake the error of weights A, which training at length M makes ``swapped``."""
    exact, square = theory.error(A, test, M), np.diag(A) ** 2 / M
    beside = A**2 / M * (1 - np.eye(len(A)))
    apart = test.first * test.second - test.third
    zeta = theory.zeta(test, M)
    return {
        "E λᵢ² E Σ λⱼ for E λᵢ² Σ λⱼ": exact + float(square @ apart),
        "1 for 1 + 1/M": exact - float(square @ test.third),
        "one of the two λᵢ²λⱼ of ζᵢⱼ/M dropped": exact - float(test.second @ beside @ test.first),
        "ζⱼᵢ for ζᵢⱼ": exact + float((A**2 * (zeta.T - zeta)).sum()),
        "M + 1 for M": theory.error(A, test, M + 1),
        "M for N": theory.error(swapped, test, M),
    }


def scaled(batch: Prompts, factor: float, M: int) -> Prompts:
    """Return the first M examples with all inputs, and so all noiseless labels, times ``factor``."""
    return Prompts(factor * batch.x[:, :M], factor * batch.y[:, :M], factor * batch.x_query, factor * batch.y_query)


_QUICK = RandomCovariance(d=(20, 8), N=40, M=(10, 20, 40), c=(1.0, 4.0, 9.0), prompts=24_000)
RANDOM_COVARIANCE = Experiment(
    slug="zhang-random-covariance",
    title="Error under random covariances",
    quick=_QUICK,
    full=replace(_QUICK, M=(5, 10, 20, 40, 80, 100), prompts=200_000),
)
