"""garg-shifts: a trained decoder, LSA and least squares on the shifted prompts of Garg et al., on the same prompts."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, expectation
from icl_lib.models.baselines import MinimumNormOLS
from icl_lib.models.linear_attention import LinearSelfAttention
from papers.regression.decoders import DecoderTraining, trained
from papers.regression.shifted_prompts import KnownErrors, Shifts, require_chunks
from papers.regression.spectra import stacked_limits
from papers.regression.trainings import FIXED

CHUNK = 100
"""Prompts drawn at a time; a call of the skewed distribution draws one basis."""


@dataclass(frozen=True)
class ShiftedPrompts(Declaration):
    """Error/d of a model trained on N(0, I), of LSA trained at the same N, and of least squares.

    shifts    kinds of prompts; prompts: test prompts of each kind
    """

    training: DecoderTraining
    shifts: Shifts
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        require_chunks(self.prompts, CHUNK)
        training, shifts = self.training, self.shifts
        if shifts.d != training.d:
            raise ValueError(f"prompts of d = {shifts.d} for a model of d = {training.d}: take the same")
        if not {training.N, 2 * training.d} <= set(shifts.k) or "3" not in shifts.scales:
            raise ValueError(f"k = {shifts.k}, scales {shifts.scales}: take the training's N, 2 d and the scale 3 among them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure all three."""
        d, N, decoder = self.training.d, self.training.N, trained(self.training, seed, device)
        W_PV, W_KQ = stacked_limits(np.eye(d), (N,))
        lsa = LinearSelfAttention(W_PV[0], W_KQ[0])
        models = {"GPT-2": lambda prompts: decoder(prompts)[0], "LSA": lsa, "OLS": MinimumNormOLS()}
        return self.shifts.measured(models, self.prompts, CHUNK, seed, "garg-shifts").assign_attrs(d=d, N=N)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside them and Garg's values in a variable of their own."""

        def theory(known: KnownErrors, k: int) -> list[float]:
            return [np.nan, known.lsa(self.training.N, k), known.ols(k)]

        return self.shifts.beside(dataset, theory, " at d = 20, read from Garg et al.")


_QUICK = ShiftedPrompts(
    training=FIXED[2],
    shifts=Shifts(d=FIXED[2].d, k=(4, 5, 10, 20), noise_sd=0.5, scales=("1/3", "3"), subspace=2),
    prompts=400,
)
SHIFTS = Experiment(
    slug="garg-shifts",
    title="Shifted prompts: GPT-2, LSA and least squares",
    section="distribution shifts",
    quick=_QUICK,
    full=replace(_QUICK, shifts=replace(_QUICK.shifts, scales=("1/3", "1/2", "2", "3")), prompts=20_000),
)
