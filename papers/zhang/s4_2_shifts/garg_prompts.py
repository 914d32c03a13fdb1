"""zhang-garg-prompts: LSA, averaging and least squares on the shifted prompts of Garg et al. 2022, covariance I."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion.declaration import Count, Declaration, NotNegative, Several
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.measure.estimate import mean
from icl_lib.models.baselines import Averaging, MinimumNormOLS, Zero
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from papers.garg.published import GPT2_VALUES, GPT2_WORDS
from papers.zhang.shifted_prompts import KnownErrors, ShiftedPrompt, known_errors, require_shifts, shifted_prompts
from papers.zhang.spectra import stacked_limits

CHUNK = 2_000
"""Prompts drawn at a time: 13 MB at 40 examples of dimension 20."""


@dataclass(frozen=True)
class GargPrompts(Declaration):
    """Error/d on the same prompts for all models; k context examples are the first k of the longest context.

    Least squares is solved on every ``ols_every``-th prompt.
    """

    d: Count
    N: Count
    k: Several[Count]
    noise_sd: NotNegative
    scales: Several[str]
    subspace: Count
    prompts: Count
    ols_every: Count

    def __post_init__(self):
        super().__post_init__()
        require_shifts(self.d, self.k, self.scales, self.subspace)
        if self.prompts % CHUNK:
            raise ValueError(f"prompts={self.prompts} must be a positive multiple of {CHUNK}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure all models."""
        rows = self._rows()
        measured = np.array([self._measure(row, name, seed) for name, row in rows.items()])
        return xr.Dataset(
            {
                "risk": variable("prompt model k", measured[..., 0], "measured error / d", "y^2"),
                "risk_se": variable("prompt model k", measured[..., 1], "standard error", "y^2"),
            },
            coords={"prompt": list(rows), "model": ["LSA", "averaging", "OLS", "zero"], "k": list(self.k)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside them and Garg's GPT-2 values in a variable of their own."""
        known = known_errors(self.d, self.noise_sd, self.scales, self.subspace)
        table = np.array([self._theory(known[name], row.longest) for name, row in self._rows().items()])
        theory = xr.DataArray(variable("prompt model k", table, "error / d in closed form", "y^2"))
        values = {(name, k): value for name, k, value in GPT2_VALUES}
        read = [[values.get((name, k), np.nan) for k in self.k] for name in known]
        words = [dict(GPT2_WORDS).get(name, "") for name in known]
        # A sample mean of something without a mean says nothing.
        return dataset.assign({name: dataset[name].where(~np.isinf(theory)) for name in ("risk", "risk_se")}).assign(
            {
                "risk_theory": theory,
                "zero": variable("prompt", [errors.zero for errors in known.values()], "error / d of predicting 0", "y^2"),
                "gpt2_of_garg": variable("prompt k", read, "error / d of GPT-2, read from Garg et al. 2022", "y^2"),
                "gpt2_words": variable("prompt", words, "what Garg et al. say of GPT-2 without a value"),
            }
        )

    @expectation
    def _theory(self, known: KnownErrors, longest: int) -> list[list[float]]:
        models = (lambda k: known.lsa(self.N, k), lambda k: known.lsa(np.inf, k), known.ols, lambda k: known.zero)
        return [[error(k) if k <= longest else np.nan for k in self.k] for error in models]

    def _rows(self) -> dict[str, ShiftedPrompt]:
        return shifted_prompts(self.d, max(self.k), self.noise_sd, self.scales, self.subspace)

    def _measure(self, row: ShiftedPrompt, name: str, seed: int) -> np.ndarray:
        lengths = [k for k in self.k if k <= row.longest]
        generator = stream(seed, f"garg-prompts/{name}")
        chunks = [self._errors(row, generator, lengths) for _ in range(self.prompts // CHUNK)]
        table = np.full((4, len(self.k), 2), np.nan)
        for m, parts in enumerate(zip(*chunks, strict=True)):
            table[m, : len(lengths)] = np.stack(mean(torch.cat(parts, dim=-1) / self.d), axis=-1)
        return table

    def _errors(self, row: ShiftedPrompt, generator: torch.Generator, lengths: list[int]) -> list[torch.Tensor]:
        """Squared errors (k, prompt) of every model on one chunk."""
        W_PV, W_KQ = stacked_limits(np.eye(self.d), (self.N,))
        longest = row.law.sample(generator, (CHUNK,), max(lengths))
        contexts = [longest._replace(x=longest.x[:, :k], y=longest.y[:, :k]) for k in lengths]
        sparse = [type(prompts)(*(part[:: self.ols_every] for part in prompts)) for prompts in contexts]
        trials = (
            (LinearSelfAttention(W_PV[0], W_KQ[0]), contexts),
            (Averaging(), contexts),
            (MinimumNormOLS(), sparse),
            (Zero(), contexts),
        )
        return [torch.stack([(model(p) - p.y_query) ** 2 for p in batches]) for model, batches in trials]


_QUICK = GargPrompts(
    d=20, N=40, k=(10, 20, 40), noise_sd=1.0, scales=("1/3", "1/2", "2", "3"), subspace=10, prompts=2_000, ols_every=30
)
GARG_PROMPTS = Experiment(
    slug="zhang-garg-prompts",
    title="LSA on the shifted prompts of Garg et al.",
    quick=_QUICK,
    full=replace(_QUICK, prompts=60_000, ols_every=10),
)
