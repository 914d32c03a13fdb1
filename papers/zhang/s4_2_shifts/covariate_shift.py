"""zhang-covariate-shift: context and query from another covariance than that of training; LSA beside least squares."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate
from icl_lib.measure.risk import risk
from icl_lib.models.baselines import MinimumNormOLS
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import LinearLabels
from papers.regression.spectra import geometric_covariance, stacked_limits, standard_normal
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import gathered, of_blocks, of_shift
from papers.zhang.theory import shifts


@dataclass(frozen=True)
class CovariateShift(Declaration):
    """Errors on one task when inputs are scaled by c (covariance c^2 Lambda), or drawn from another covariance.

    d            dimensions of inputs; trace: tr Lambda; kappa: condition number of the covariance of training
    test_kappa   condition number of the other covariance; scale: factors c on the inputs
    N            training lengths; M: test lengths
    prompts      test prompts of LSA at each (d, M), for each shift; ols_prompts: test prompts of least squares
    length       N = M along which the formula is followed to its limit
    """

    d: Several[Count]
    trace: Positive
    kappa: Positive
    test_kappa: Positive
    scale: Several[Positive]
    N: Several[Count]
    M: Several[Count]
    prompts: AtLeastTwo
    ols_prompts: AtLeastTwo
    length: Several[Count]

    def __post_init__(self):
        super().__post_init__()
        if min(self.M) < max(self.d):
            raise ValueError(f"M = {self.M}: take M of at least d = {max(self.d)}, where least squares is exact")
        if 0.5 not in self.scale or 1 in self.scale or max(self.scale) < 2:
            raise ValueError(f"scales {self.scale}: take 0.5, one of 2 or more, and not 1, which shifts nothing")
        if list(self.length) != sorted(self.length):
            raise ValueError(f"lengths {self.length}: take rising ones, for the last stands for infinity")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure LSA and least squares."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        Lambda, w, tests = self._task(d, seed)
        model = LinearSelfAttention(*stacked_limits(Lambda, self.N))

        def measure(predictor, prompts: int, role: str) -> list[list[Estimate]]:
            laws = {name: LinearLabels(torch.tensor(L), torch.tensor(w), 0.0) for name, L in tests.items()}
            return [
                [risk(predictor, law, prompts=prompts, length=M, seed=seed, name=f"{role}/{d}/{name}/{M}") for M in self.M]
                for name, law in laws.items()
            ]

        lsa, dims = measure(model, self.prompts, "covariate-shift"), "test M N"
        ols = measure(MinimumNormOLS(), self.ols_prompts, "covariate-shift/ols")
        squares = "error of minimum-norm least squares"
        return xr.Dataset(
            {
                "risk": variable(dims, [[e.value for e in row] for row in lsa], "measured error of LSA", "y^2"),
                "risk_se": variable(dims, [[e.standard_error for e in row] for row in lsa], "standard error", "y^2"),
                "ols": variable("test M", [[e.value for e in row] for row in ols], squares, "y^2"),
            },
            coords={"test": list(tests), "M": list(self.M), "N": list(self.N)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the covariate-shift formula and its limit beside it."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        Lambda, w, tests = self._task(d, seed)

        def cells(formula) -> list:
            return [[[formula(Lambda, N, M, L, L, w) for N in self.N] for M in self.M] for L in tests.values()]

        limit = [shifts.covariate_shift_limit(Lambda, L, w) for L in tests.values()]
        scaled = [shifts.scaling_limit(Lambda, c, w) for c in self.scale]
        long = [[shifts.covariate_shift_error(Lambda, K, K, c**2 * Lambda, w) for K in self.length] for c in self.scale]
        return dataset.assign_coords(c=list(self.scale), length=list(self.length)).assign(
            {
                "risk_theory": variable("test M N", cells(shifts.shift_error), "error by the formula", "y^2"),
                "risk_near": near_misses("test M N", gathered(cells(of_shift)), "y^2"),
                "risk_se": of_blocks(dataset.risk_se, self.prompts),
                "zero": variable("test", [w @ L @ w for L in tests.values()], "error of predicting 0", "y^2"),
                "limit": variable("test", limit, "limit N, M -> infinity of the formula", "y^2"),
                "scaling_limit": variable("c", scaled, "c^2 (c^2 - 1)^2 ||w||_Lambda^2", "y^2"),
                "long_theory": variable("c length", long, "error by the formula at N = M = length", "y^2"),
            }
        )

    def _task(self, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return the covariance of training, a w of unit length in its metric, and the covariances of the tests."""
        Lambda, w = self.trace / d * geometric_covariance(d, self.kappa, seed), standard_normal((d,), seed, "w")
        tests = {f"inputs × {c:g}": c**2 * Lambda for c in self.scale}
        tests["other covariance"] = self.trace / d * geometric_covariance(d, self.test_kappa, seed, "test basis")
        return Lambda, w / np.sqrt(w @ Lambda @ w), tests


_QUICK = CovariateShift(
    d=(5, 2),
    trace=5.0,
    kappa=10.0,
    test_kappa=5.0,
    scale=(0.5, 2.0, 3.0),
    N=(20, 200),
    M=(10, 40, 160),
    prompts=10_000,
    ols_prompts=500,
    length=(10_000, 100_000, 1_000_000),
)
COVARIATE_SHIFT = Experiment(
    slug="zhang-covariate-shift",
    title="Covariate shift: LSA errs, least squares does not",
    quick=_QUICK,
    full=replace(_QUICK, M=(10, 20, 40, 80, 160, 320), prompts=150_000, ols_prompts=2_000),
)
