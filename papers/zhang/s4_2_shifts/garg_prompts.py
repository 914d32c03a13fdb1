"""zhang-garg-prompts: LSA, averaging and least squares on the shifted prompts of Garg et al. 2022, covariance I."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, expectation
from icl_lib.models.baselines import Averaging, MinimumNormOLS, Zero
from icl_lib.models.linear_attention import LinearSelfAttention
from papers.regression.shifted_prompts import KnownErrors, Shifts, require_chunks
from papers.regression.spectra import stacked_limits

CHUNK = 2_000
"""Prompts drawn at a time: 13 MB at 40 examples of dimension 20."""


@dataclass(frozen=True)
class GargPrompts(Declaration):
    """Error/d on the same prompts for all models.

    shifts    kinds of prompts; N: training length
    prompts   test prompts of each kind; ols_every: prompts among which least squares is solved on one
    """

    shifts: Shifts
    N: Count
    prompts: Count
    ols_every: Count

    def __post_init__(self):
        super().__post_init__()
        require_chunks(self.prompts, CHUNK)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure all models."""
        W_PV, W_KQ = stacked_limits(np.eye(self.shifts.d), (self.N,))
        models = {"LSA": LinearSelfAttention(W_PV[0], W_KQ[0]), "averaging": Averaging()}
        models |= {"OLS": MinimumNormOLS(), "zero": Zero()}
        return self.shifts.measured(models, self.prompts, CHUNK, seed, "garg-prompts", OLS=self.ols_every)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside them and Garg's GPT-2 values in a variable of their own."""

        def theory(known: KnownErrors, k: int) -> list[float]:
            return [known.lsa(self.N, k), known.lsa(np.inf, k), known.ols(k), known.zero]

        return self.shifts.beside(dataset, theory, ", read from Garg et al. 2022")


_QUICK = GargPrompts(
    shifts=Shifts(d=20, k=(10, 20, 40), noise_sd=1.0, scales=("1/3", "1/2", "2", "3"), subspace=10),
    N=40,
    prompts=2_000,
    ols_every=30,
)
GARG_PROMPTS = Experiment(
    slug="zhang-garg-prompts",
    title="LSA on the shifted prompts of Garg et al.",
    quick=_QUICK,
    full=replace(_QUICK, prompts=60_000, ols_every=10),
)
