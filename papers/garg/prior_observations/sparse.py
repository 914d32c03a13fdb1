"""garg-sparse: decoders trained on sparse tasks against least squares, the Lasso and the Bayes predictor."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, Whole, expectation, variable
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import chunks
from icl_lib.models.baselines import MinimumNormOLS
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, normal
from papers.garg.prior_observations.prefixes import by_length, first, labels
from papers.garg.regressors import LassoPath, SparseBayes
from papers.regression.decoders import DecoderTraining, trained
from papers.regression.prompts import label
from papers.regression.theory.least_squares import least_squares_error
from papers.regression.trainings import SPARSE, SPARSE_SLOW

PENALTIES = (1.0, 0.1, 0.01, 0.001, 0.0001)
"""The Lasso penalties of Garg et al.'s code."""
PREDICTORS = ("GPT-2", "GPT-2, fast curriculum", "least squares", "Lasso", "Bayes")


def sparse_prompts(generator: torch.Generator, size: int, length: int, d: int, sparsity: int) -> Prompts:
    """Draw float64 prompts: x ~ N(0, I_d), ``sparsity`` uniformly chosen entries of w are N(0, 1), the others 0."""
    like = torch.empty(0, dtype=torch.float64)
    x = normal(generator, (size, length + 1, d), like)
    chosen = torch.rand((size, d), generator=generator, dtype=like.dtype).argsort(-1)[:, :sparsity]
    w = torch.zeros((size, d), dtype=like.dtype).scatter(-1, chosen, normal(generator, (size, sparsity), like))
    return label(x[:, :-1], x[:, -1], w)


@dataclass(frozen=True)
class SparseRegression(Declaration):
    """Errors over that of predicting 0, after each k of ``lengths`` examples, all predictors on the same prompts.

    lengths     examples k of a context; penalties: among which the Lasso's is chosen for each k
    selection   prompts on which the Lasso's penalty is chosen; prompts: on which errors are measured
    Two models, trained with a slow curriculum and with a fast one.
    """

    slow: DecoderTraining
    fast: DecoderTraining
    lengths: Several[Whole]
    penalties: Several[Positive]
    selection: Count
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if (self.slow.d, self.slow.sparsity) != (self.fast.d, self.fast.sparsity):
            raise ValueError("models that meet the same prompts need equal d and sparsity: take trainings of one law")
        asked = {self.slow.d // 2, self.slow.sparsity + 1}
        if list(self.lengths) != sorted(set(self.lengths)) or not asked <= set(self.lengths):
            raise ValueError(f"lengths {self.lengths}: take rising ones, d/2 and sparsity + 1, {sorted(asked)}, among them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Choose the penalties, then measure."""
        models = [trained(self.slow, seed, device), trained(self.fast, seed, device)]
        longest, d, sparsity = max(self.lengths), self.slow.d, self.slow.sparsity
        best = self._best(self._draw(stream(seed, "garg-sparse/selection"), self.selection))
        generator, sizes = stream(seed, "garg-sparse"), chunks(self.prompts, longest + 1)
        found = [self._measure(models, best, self._draw(generator, size)) for size in sizes]
        data = {"penalty": variable("k", np.array(self.penalties)[best], "penalty of the Lasso, chosen on other prompts")}
        for key, text in NAMES.items():
            value, standard_error = mean(torch.cat([part[key] for part in found], dim=-1) / sparsity)
            data[key] = variable("predictor k", value, text)
            data[f"{key}_se"] = variable("predictor k", standard_error, "standard error")
        attrs = {"d": d, "sparsity": sparsity, "N": self.slow.N}
        return xr.Dataset(data, coords={"predictor": list(PREDICTORS), "k": list(self.lengths)}, attrs=attrs)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the error of least squares beside it."""
        length = range(max(self.lengths) + 1)
        exact = [least_squares_error(self.slow.d, k, 0.0) for k in length]
        found = {
            "least_squares": variable("k", np.array(exact)[list(self.lengths)], "error of least squares, closed form"),
            "least_squares_line": variable("length", exact, "the same at every length"),
        }
        return dataset.assign_coords(length=length).assign(found)

    def _draw(self, generator: torch.Generator, size: int) -> Prompts:
        return sparse_prompts(generator, size, max(self.lengths), self.slow.d, self.slow.sparsity)

    def _best(self, prompts: Prompts) -> list[int]:
        """Return the number of the best penalty for each length."""
        lasso = LassoPath(self.penalties)
        cut = [first(prompts, k) for k in self.lengths]
        return [int((lasso(part) - part.y_query).square().mean(-1).argmin()) if part.y.shape[-1] else 0 for part in cut]

    def _measure(self, models, best: list[int], prompts: Prompts) -> dict[str, Float[Tensor, "..."]]:
        """Return the quantities of NAMES, (predictor, k, prompt), on one chunk."""
        penalties = dict(zip(self.lengths, best, strict=True))

        def lasso(part: Prompts) -> Tensor:
            return LassoPath(self.penalties[: penalties[part.y.shape[-1]] + 1])(part)[-1]

        classical = (MinimumNormOLS(), lasso, SparseBayes(self.slow.sparsity))
        rows = [model.prefixes(prompts)[0][:, self.lengths] for model in models]
        rows += [by_length(one, prompts, self.lengths) for one in classical]
        squared = (torch.stack(rows) - labels(prompts)[:, self.lengths]).square().movedim(-2, -1)
        return {"risk": squared, "over_lasso": squared - squared[PREDICTORS.index("Lasso")]}


NAMES = {
    "risk": "error over that of predicting 0",
    "over_lasso": "error less that of the Lasso on the same prompts, over that of predicting 0",
}
"""Measured quantities by predictor and k."""

_FULL = SparseRegression(
    slow=SPARSE_SLOW, fast=SPARSE, lengths=tuple(range(21)), penalties=PENALTIES, selection=2_000, prompts=20_000
)
SPARSE_REGRESSION = Experiment(
    slug="garg-sparse",
    title="Sparse linear functions in context",
    section="sparse linear functions",
    quick=replace(_FULL, lengths=(0, 3, 5, 8, 20), selection=50, prompts=800),
    full=_FULL,
)
