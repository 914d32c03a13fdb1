"""zhang-isotropic: at Lambda = I the trained model is averaging, shrunk."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import chunks
from icl_lib.models.baselines import Averaging, MinimumNormOLS
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import stacked_limits
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import of_blocks
from papers.zhang.theory import error


@dataclass(frozen=True)
class Isotropic(Declaration):
    """LSA trained at length N and tested at length N, beside averaging and least squares, on the same prompts.

    d   dimensions of inputs; N: training and test lengths; prompts: test prompts at each (d, N)
    """

    d: Several[Count]
    N: Several[Count]
    prompts: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the three predictors and the distance between LSA and a times averaging."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        rows = [self._row(d, N, seed) for N in self.N]
        names = ("lsa", "lsa_se", "averaging", "averaging_se", "ols", "ols_se", "shrinkage_gap", "unshrunk_gap")
        long = dict.fromkeys(names, "measured error per dimension") | {
            "shrinkage_gap": "largest |LSA - a averaging| over prompts, relative",
            "unshrunk_gap": "largest |LSA - averaging| over prompts, relative",
        }
        columns = {name: variable("N", [row[k] for row in rows], long[name]) for k, name in enumerate(names)}
        return xr.Dataset(columns, coords={"N": list(self.N)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside them, at the lengths measured and along a curve."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int) -> xr.Dataset:
        theory = {
            "lsa_theory": [error.isotropic_error(d, N, N) for N in self.N],
            "averaging_theory": [error.isotropic_error(d, np.inf, N) for N in self.N],
        }
        columns = {name: variable("N", values, "closed form, per dimension") for name, values in theory.items()}
        curve = np.unique(np.geomspace(self.N[0], self.N[-1], 60).round())
        for name, trained_on in (("lsa", curve), ("averaging", np.full(len(curve), np.inf))):
            values = [error.isotropic_error(d, N, M) for N, M in zip(trained_on, curve, strict=True)]
            columns[f"{name}_theory_curve"] = variable("curve_N", values, "closed form, per dimension")
        columns["lsa_near"] = near_misses("N", self._near(d))
        columns["lsa_se"] = of_blocks(dataset.lsa_se, self.prompts)
        return dataset.assign_coords(curve_N=curve).assign(columns)

    @expectation
    def _near(self, d: int) -> dict[str, list[float]]:
        mistaken = {
            "d for d + 1": (d - 1, 0),
            "d + 2 for d + 1": (d + 1, 0),
            "1.05 d for d + 1": (1.05 * d - 1, 0),
            "N + 1 for N": (d, 1),
        }
        exact = error.isotropic_error
        return {label: [exact(e, N + n, N + n) for N in self.N] for label, (e, n) in mistaken.items()}

    def _row(self, d: int, N: int, seed: int) -> tuple[float, ...]:
        weights = (W[0] for W in stacked_limits(np.eye(d), (N,)))
        models, law = (
            (LinearSelfAttention(*weights), Averaging(), MinimumNormOLS()),
            LinearRegression(torch.eye(d).double()),
        )
        generator, errors, predictions = stream(seed, f"isotropic/{d}/{N}"), [], []
        for size in chunks(self.prompts, N + 1):
            prompts = law.sample(generator, (size,), N)
            predictions.append(torch.stack([model(prompts) for model in models]))
            errors.append((predictions[-1] - prompts.y_query) ** 2 / d)
        found = mean(torch.cat(errors, dim=-1))
        lsa, averaging, _ = torch.cat(predictions, dim=-1)
        a, scale = error.isotropic_shrinkage(d, N), averaging.abs().max()
        gaps = [float((lsa - factor * averaging).abs().max() / scale) for factor in (a, 1.0)]
        return *np.stack(found, axis=-1).ravel().tolist(), *gaps


ISOTROPIC = Experiment(
    slug="zhang-isotropic",
    title="Isotropic inputs: shrunk averaging",
    quick=Isotropic(d=(20, 5), N=(10, 20, 40, 100), prompts=4_000),
    full=Isotropic(d=(20, 5), N=(5, 10, 20, 40, 70, 100, 200), prompts=100_000),
)
