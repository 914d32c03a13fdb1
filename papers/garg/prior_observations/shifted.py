"""garg-shifts: a trained decoder, LSA and least squares on the shifted prompts of Garg et al., on the same prompts."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion.declaration import Count, Declaration, NotNegative, Several
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.measure.estimate import mean
from icl_lib.models.baselines import MinimumNormOLS
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from papers.garg.decoders import DecoderTraining, trained
from papers.garg.published import GPT2_VALUES, GPT2_WORDS
from papers.garg.trainings import FIXED
from papers.zhang.shifted_prompts import KnownErrors, ShiftedPrompt, known_errors, require_shifts, shifted_prompts
from papers.zhang.spectra import stacked_limits

CHUNK = 100
"""Prompts drawn at a time; a call of the skewed law draws one basis."""
GARG_D = 20
"""The dimension of Garg et al.; their k examples stand beside k d/20 of ours."""


@dataclass(frozen=True)
class ShiftedPrompts(Declaration):
    """Error/d of a model trained on N(0, I), of LSA trained at the same N, and of least squares.

    k context examples are the first k of the longest context. ``subspace`` is the dimension of the half subspace.
    """

    training: DecoderTraining
    k: Several[Count]
    noise_sd: NotNegative
    scales: Several[str]
    subspace: Count
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        require_shifts(self.training.d, self.k, self.scales, self.subspace)
        if not {self.training.N, 2 * self.training.d} <= set(self.k) or "3" not in self.scales:
            raise ValueError(f"k = {self.k}, scales {self.scales}: take the training's N, 2 d and the scale 3 among them")
        if self.prompts % CHUNK:
            raise ValueError(f"prompts={self.prompts} must be a positive multiple of {CHUNK}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure all three."""
        decoder, rows = trained(self.training, seed, device), self._rows()
        measured = np.array([self._measure(decoder, row, name, seed) for name, row in rows.items()])
        return xr.Dataset(
            {
                "risk": variable("prompt model k", measured[..., 0], "measured error / d", "y^2"),
                "risk_se": variable("prompt model k", measured[..., 1], "standard error", "y^2"),
            },
            coords={"prompt": list(rows), "model": ["GPT-2", "LSA", "OLS"], "k": list(self.k)},
            attrs={"d": self.training.d, "N": self.training.N},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside them and Garg's values in a variable of their own."""
        d = self.training.d
        known = known_errors(d, self.noise_sd, self.scales, self.subspace)
        table = np.array([self._theory(known[name], row.longest) for name, row in self._rows().items()])
        theory = xr.DataArray(variable("prompt model k", table, "error / d in closed form", "y^2"))
        values = {(name, k * d / GARG_D): value for name, k, value in GPT2_VALUES}
        read = [[values.get((name, k), np.nan) for k in self.k] for name in known]
        words = [dict(GPT2_WORDS).get(name, "") for name in known]
        # A sample mean of something without a mean says nothing.
        return dataset.assign({name: dataset[name].where(~np.isinf(theory)) for name in ("risk", "risk_se")}).assign(
            {
                "risk_theory": theory,
                "zero": variable("prompt", [errors.zero for errors in known.values()], "error / d of predicting 0", "y^2"),
                "gpt2_of_garg": variable("prompt k", read, "error / d of GPT-2 at d = 20, read from Garg et al.", "y^2"),
                "gpt2_words": variable("prompt", words, "what Garg et al. say of GPT-2 without a value"),
            }
        )

    @expectation
    def _theory(self, known: KnownErrors, longest: int) -> list[list[float]]:
        models = (lambda k: np.nan, lambda k: known.lsa(self.training.N, k), known.ols)
        return [[error(k) if k <= longest else np.nan for k in self.k] for error in models]

    def _rows(self) -> dict[str, ShiftedPrompt]:
        return shifted_prompts(self.training.d, max(self.k), self.noise_sd, self.scales, self.subspace)

    def _measure(self, decoder, row: ShiftedPrompt, name: str, seed: int) -> np.ndarray:
        lengths = [k for k in self.k if k <= row.longest]
        generator = stream(seed, f"garg-shifts/{name}")
        found = torch.cat([self._errors(decoder, row, generator, lengths) for _ in range(self.prompts // CHUNK)], dim=-1)
        table = np.full((3, len(self.k), 2), np.nan)
        table[:, : len(lengths)] = np.stack(mean(found / self.training.d), axis=-1)
        return table

    def _errors(self, decoder, row: ShiftedPrompt, generator: torch.Generator, lengths: list[int]) -> Tensor:
        """Return squared errors (model, k, prompt) of one chunk."""
        W_PV, W_KQ = stacked_limits(np.eye(self.training.d), (self.training.N,))
        models = (lambda prompts: decoder(prompts)[0], LinearSelfAttention(W_PV[0], W_KQ[0]), MinimumNormOLS())
        longest = row.law.sample(generator, (CHUNK,), max(lengths))
        contexts = [longest._replace(x=longest.x[:, :k], y=longest.y[:, :k]) for k in lengths]
        return torch.stack([torch.stack([(model(p) - p.y_query).square() for p in contexts]) for model in models])


_QUICK = ShiftedPrompts(
    training=FIXED[2], k=(4, 5, 10, 20), noise_sd=0.5, scales=("1/3", "1/2", "2", "3"), subspace=2, prompts=400
)
SHIFTS = Experiment(
    slug="garg-shifts",
    title="Shifted prompts: GPT-2, LSA and least squares",
    section="distribution shifts",
    quick=_QUICK,
    full=replace(_QUICK, prompts=20_000),
)
