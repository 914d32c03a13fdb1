"""zhang-random-covariance: error of models trained on random and on fixed covariances, formula and Monte Carlo."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.random_spectra import exponential, stacked_weights, uniform
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import chunks
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import variable
from icl_lib.seeds import stream
from icl_lib.tasks import Prompts, RandomDiagonalRegression
from icl_lib.theory.zhang import random_covariance as theory


@dataclass(frozen=True)
class RandomCovariance:
    """Models trained on random covariances, or on their mean, tested on c times random covariances at lengths M."""

    d: int
    N: int
    M: tuple[int, ...]
    c: tuple[float, ...]
    prompts: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of LSA with the weights of Theorems 4.5 and 4.1 and put the exact formula beside it."""
        laws = {"exponential": exponential(np.ones(self.d)), "uniform": uniform(self.d, seed)}
        cells = [self._law(spectrum, moments, seed, name) for name, (spectrum, moments) in laws.items()]
        labels = {
            "risk": ("law trained c M", "measured error per dimension"),
            "risk_se": ("law trained c M", "standard error"),
            "risk_theory": ("law trained c M", "exact error per dimension"),
            "risk_line": ("law trained c M_line", "exact error per dimension, at more lengths"),
            "risk_limit": ("law trained c", "error per dimension as N, M tend to infinity"),
        }
        columns = zip(labels.items(), zip(*cells, strict=True), strict=True)
        data = {key: variable(dims, np.stack(column), name, "y^2") for (key, (dims, name)), column in columns}
        zero = [np.outer(self.c, moments.first).mean(axis=1) for _, moments in laws.values()]
        data["zero"] = variable("law c", zero, "error per dimension of the zero estimator", "y^2")
        lengths = {"M": list(self.M), "M_line": self._line()}
        coords = {"law": list(laws), "trained": ["random", "mean"], "c": list(self.c), **lengths}
        return xr.Dataset(data, coords=coords, attrs={"N": self.N})

    def _law(self, spectrum, moments: theory.SpectrumMoments, seed: int, name: str) -> tuple[np.ndarray, ...]:
        weights = self._weights(moments, self.N)
        model = LinearSelfAttention(*stacked_weights(weights))
        risk = mean(self._squared_errors(model, RandomDiagonalRegression(spectrum), seed, f"random-covariance/{name}"))
        tests = [theory.scaled_moments(moments, c) for c in self.c]
        exact, line = (
            np.array([[[theory.error(A, test, M) for M in lengths] for test in tests] for A in weights])
            for lengths in (self.M, self._line())
        )
        limits = np.array([[theory.error(A, test, np.inf) for test in tests] for A in self._weights(moments, np.inf)])
        return tuple(values / self.d for values in (*risk, exact, line, limits))

    def _line(self) -> np.ndarray:
        return np.geomspace(min(self.M), max(self.M), 25)

    def _weights(self, moments: theory.SpectrumMoments, N: float) -> list[np.ndarray]:
        return [theory.A_limit(law, N) for law in (moments, theory.fixed_moments(moments.first))]

    def _squared_errors(self, model, law, seed: int, name: str) -> torch.Tensor:
        """Return (trained, c, M, prompts): every c and M is measured on the same draws, scaled and cut."""
        generator, longest = stream(seed, name), max(self.M)
        batches = (law.sample(generator, (size,), longest) for size in chunks(self.prompts, longest + 1))
        return torch.cat([self._errors(model, batch) for batch in batches], dim=-1)

    def _errors(self, model, batch: Prompts) -> torch.Tensor:
        tests = [[scaled(batch, c**0.5, M) for M in self.M] for c in self.c]
        errors = [torch.stack([(model(test) - test.y_query) ** 2 for test in row], dim=1) for row in tests]
        return torch.stack(errors, dim=1)


def scaled(batch: Prompts, factor: float, M: int) -> Prompts:
    """Return the first M examples with all inputs, and so all noiseless labels, times ``factor``."""
    return Prompts(factor * batch.x[:, :M], factor * batch.y[:, :M], factor * batch.x_query, factor * batch.y_query)


RANDOM_COVARIANCE = Experiment(
    slug="zhang-random-covariance",
    title="Error under random covariances",
    paper="zhang",
    section="4.3",
    notebook="zhang_4_3_random_covariances",
    quick=RandomCovariance(d=20, N=40, M=(10, 20, 40), c=(1.0, 4.0, 9.0), prompts=24_000),
    full=RandomCovariance(d=20, N=40, M=(5, 10, 20, 40, 80, 100), c=(1.0, 4.0, 9.0), prompts=200_000),
)
