"""lenses-own-optimum: the least risk of a block with an MLP's row, without one, and with values that do not read the label."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float

from icl_lib.companion import (
    Count,
    Declaration,
    Experiment,
    NotNegative,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
)
from papers.lenses.s2_own_weights.descents import Dimension, Layer, descend, free
from papers.lenses.theory import own_weights as own
from papers.lenses.theory import population
from papers.regression import shapes
from papers.regression.spectra import geometric_covariance, standard_normal

FREE = {"block": (True, True), "attention": (False, True), "trap": (True, False)}
"""Whether the layer has a row on the features, and whether its values read the label."""
WORDS = {
    "block": "least risk of the block",
    "attention": "least risk of attention without an MLP",
    "trap": "least risk of the block with values that do not read the label",
}


@dataclass(frozen=True)
class OwnOptimum(Declaration):
    """Tasks w ~ N(mu, Psi) with |mu| = ``mean``; dimensions and training lengths, one of each a shape.

    d, N     dimensions of inputs and training lengths, one of each a shape
    mean     lengths |mu| of the mean of the tasks
    kappa    condition number of the covariance of inputs; Psi has eigenvalues from 1 to 2 in another basis
    noise    standard deviation of the labels' noise
    starts   descents for each least risk
    """

    d: Several[Dimension]
    N: Several[Count]
    mean: Several[NotNegative]
    kappa: Positive
    noise: NotNegative
    starts: Count

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, N=self.N)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Descend the exact risk, and read the block of least risk."""
        found = [[self._least(seed, place, mean) for mean in self.mean] for place in range(len(self.d))]
        columns = {
            name: variable("shape mean", [[each[name][0] for each in row] for row in found], WORDS[name]) for name in FREE
        }
        size = max(self.d)
        best = [[each["block"][1] for each in row] for row in found]
        ends = [[each["ends"] for each in row] for row in found]
        columns["ends"] = variable("shape mean start", ends, "risk where each descent of the block ends")
        columns |= {
            "m": variable("shape mean entry", [[_padded(m, size) for m, _, _ in row] for row in best], "row on the features"),
            "v": variable(
                "shape mean token", [[_values(v[0], size) for _, _, v in row] for row in best], "values over the last"
            ),
            "K": variable(
                "shape mean entry column",
                [[_padded((K[0] * v[0, -1])[: len(m)], size) for m, K, v in row] for row in best],
                "keys of the features times the last of the values",
            ),
        }
        return xr.Dataset(columns, coords={"shape": shapes.told(d=self.d, N=self.N), "mean": list(self.mean)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the optimum by formula beside it, and the bounds of attention without an MLP."""
        places = range(len(self.d))
        tables = [[self._theory(seed, place, mean) for mean in self.mean] for place in places]
        return dataset.assign(
            {
                **_judged("block", "shape mean", tables, "R*(Psi)"),
                **_judged("trap", "shape mean", tables, "R*(Psi) and what one direction cannot carry"),
                **_judged("m", "shape mean entry", tables, "mu"),
                **_judged("v", "shape mean token", tables, "(-mu; 1)"),
                **_judged("K", "shape mean entry column", tables, "Gamma_Psi^-1"),
                "lower": variable("shape mean", _table(tables, "lower"), "larger of R* and the floor of one head"),
                "upper": variable("shape mean", _table(tables, "upper"), "R*(Psi + mu mu^T)"),
                "floor": variable("shape mean", _table(tables, "floor"), "floor of one head"),
            }
        )

    def law(self, seed: int, place: int, mean: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return Lambda, mu, Psi and the noise."""
        d, role = self.d[place], f"own optimum/{place}"
        Lambda = geometric_covariance(d, self.kappa, seed, f"{role}/basis")
        mu = standard_normal((d,), seed, f"{role}/mean")
        return Lambda, mean * mu / np.linalg.norm(mu), geometric_covariance(d, 2.0, seed, f"{role}/tasks"), self.noise

    def _least(self, seed: int, place: int, mean: float) -> dict[str, tuple[float, Layer] | list[float]]:
        law, d, N = population.tasks(*self.law(seed, place, mean)), self.d[place], self.N[place]
        role = f"own optimum/{place}/{mean:g}"
        found = {name: descend(law, N, free(d, 1, *which), self.starts, seed, f"{role}/{name}") for name, which in FREE.items()}
        least = {name: min(each, key=lambda end: end[0]) for name, each in found.items()}
        return least | {"ends": [risk for risk, _ in found["block"]]}

    @expectation
    def _theory(self, seed: int, place: int, mean: float) -> dict[str, np.ndarray | float]:
        Lambda, mu, Psi, noise = law = self.law(seed, place, mean)
        N, size = self.N[place], max(self.d)
        right = own.optimum(*law, N)
        lower, upper = own.without_row(*law, N)
        plain = np.linalg.inv(own.Gamma(Lambda, np.eye(len(mu)), noise, N))
        silent = np.linalg.inv(own.Gamma(Lambda, Psi, 0.0, N))
        read = right.K[:-1] @ Lambda @ mu
        return {
            "block": own.least_risk(Lambda, Psi, noise, N),
            "block/N + 1 for N": own.least_risk(Lambda, Psi, noise, N + 1),
            "block/mean as variance": own.least_risk(Lambda, Psi + np.outer(mu, mu), noise, N),
            "block/without noise": own.least_risk(Lambda, Psi, 0.0, N),
            "trap": own.trap_risk(Lambda, Psi, noise, N),
            "trap/N + 1 for N": own.trap_risk(Lambda, Psi, noise, N + 1),
            "trap/the optimum": own.least_risk(Lambda, Psi, noise, N),
            "m": _padded(mu, size),
            "m/Γ⁻¹Λμ for μ": _padded(read, size),
            "v": _values(right.v, size),
            "v/+μ for -μ": _values(np.append(mu, 1.0), size),
            "K": _padded(right.K[:-1], size),
            "K/I for Ψ": _padded(plain, size),
            "K/without noise": _padded(silent, size),
            "lower": lower,
            "upper": upper,
            "floor": own.floor(N, 1) * float(np.trace(Lambda @ (Psi + np.outer(mu, mu)))),
        }


def _table(tables: list[list[dict]], name: str) -> list[list]:
    return [[each[name] for each in row] for row in tables]


def _judged(name: str, dims: str, tables: list[list[dict]], words: str) -> dict[str, xr.DataArray | xr.Variable]:
    """Return the theory of a variable and its near misses, which are named after a stroke."""
    misses = [key for key in tables[0][0] if key.startswith(f"{name}/")]
    return {
        f"{name}_theory": variable(dims, _table(tables, name), words),
        f"{name}_near": near_misses(dims, {key.partition("/")[2]: _table(tables, key) for key in misses}),
        f"{name}_scale": variable("", 1.0, "entries are told as they are"),
    }


def _padded(part: Float[np.ndarray, "..."], size: int) -> np.ndarray:
    """Fill up with zeros, so that smaller dimensions stand in the same table."""
    return np.pad(part, [(0, size - each) for each in part.shape])


def _values(v: Float[np.ndarray, "D"], size: int) -> np.ndarray:
    return np.append(_padded(v[:-1], size), v[-1]) / v[-1]


_QUICK = OwnOptimum(d=(2, 3), N=(5, 7), mean=(0.0, 1.0, 2.0), kappa=4.0, noise=0.5, starts=10)
OWN_OPTIMUM = Experiment(
    slug="lenses-own-optimum",
    title="The block of least risk steps from the mean of its tasks",
    quick=_QUICK,
    full=replace(_QUICK, d=(2, 3, 4), N=(5, 7, 12), mean=(0.0, 0.5, 1.0, 1.5, 2.0, 3.0), starts=20),
)
