"""garg-shifts: a trained decoder, LSA and least squares on the shifted prompts of Garg et al., on the same prompts."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, NotNegative, Several, expectation
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

    k          examples of a context, the first ones of the longest
    noise_sd   standard deviation of the noise in the labels of a context
    scales     factors on weights and on inputs
    subspace   dimension of the half subspace; prompts: test prompts of each kind
    """

    training: DecoderTraining
    k: Several[Count]
    noise_sd: NotNegative
    scales: Several[str]
    subspace: Count
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        require_chunks(self.prompts, CHUNK)
        self._shifts()
        if not {self.training.N, 2 * self.training.d} <= set(self.k) or "3" not in self.scales:
            raise ValueError(f"k = {self.k}, scales {self.scales}: take the training's N, 2 d and the scale 3 among them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure all three."""
        d, N, decoder = self.training.d, self.training.N, trained(self.training, seed, device)
        W_PV, W_KQ = stacked_limits(np.eye(d), (N,))
        lsa = LinearSelfAttention(W_PV[0], W_KQ[0])
        models = {"GPT-2": lambda prompts: decoder(prompts)[0], "LSA": lsa, "OLS": MinimumNormOLS()}
        return self._shifts().measured(models, self.prompts, CHUNK, seed, "garg-shifts").assign_attrs(d=d, N=N)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside them and Garg's values in a variable of their own."""

        def theory(known: KnownErrors, k: int) -> list[float]:
            return [np.nan, known.lsa(self.training.N, k), known.ols(k)]

        return self._shifts().beside(dataset, theory, " at d = 20, read from Garg et al.")

    def _shifts(self) -> Shifts:
        return Shifts(self.training.d, self.k, self.noise_sd, self.scales, self.subspace)


_QUICK = ShiftedPrompts(training=FIXED[2], k=(4, 5, 10, 20), noise_sd=0.5, scales=("1/3", "3"), subspace=2, prompts=400)
SHIFTS = Experiment(
    slug="garg-shifts",
    title="Shifted prompts: GPT-2, LSA and least squares",
    section="distribution shifts",
    quick=_QUICK,
    full=replace(_QUICK, scales=("1/3", "1/2", "2", "3"), prompts=20_000),
)
