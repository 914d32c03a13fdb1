"""lenses-one-pass: the context's step against one pass of stochastic gradient descent over the same examples."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from papers.lenses.blocks import contexts
from papers.lenses.theory import one_block
from papers.regression.spectra import geometric_covariance
from papers.zhang.theory.optimum import Gamma

WORDS = {"context": "share of w in the context's step", "descent": "share of w after one pass"}


@dataclass(frozen=True)
class OnePass(Declaration):
    """Contexts as long as those of training, read by the step of the limit and by stochastic gradient descent.

    d         dimensions of inputs
    M         examples, and the training length
    kappa     condition number of the covariance of inputs
    prompts   contexts of a length, each with a task of its own
    """

    d: Several[AtLeastTwo]
    M: Several[AtLeastTwo]
    kappa: Positive
    prompts: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the share of its task that each recovers: the mean of <w_found, w>/d over w ~ N(0, I)."""
        found = [[self._shares(seed, d, M) for M in self.M] for d in self.d]
        columns = {
            f"{name}{end}": variable("d M", [[each[name][k] for each in row] for row in found], words)
            for name, told in WORDS.items()
            for k, (end, words) in enumerate((("", told), ("_se", "standard error")))
        }
        return xr.Dataset(columns, coords={"d": list(self.d), "M": list(self.M)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the two shares by formula beside it."""
        context, bare, descent, shorter = np.array([[self._theory(seed, d, M) for M in self.M] for d in self.d]).transpose(
            2, 0, 1
        )
        columns = {
            "context_theory": variable("d M", context, "tr(Gamma^-1 Lambda)/d"),
            "context_near": near_misses("d M", {"Λ for (1 + 1/N)Λ": bare, "after one pass": descent}),
            "descent_theory": variable("d M", descent, "1 - tr((I - Gamma^-1 Lambda/M)^M)/d"),
            "limit": variable("", 1 - np.exp(-1), "share after one pass over a long prompt"),
            "descent_near": near_misses("d M", {"gradients at the start": context, "M - 1 for M": shorter}),
        }
        errors = {name: dataset[name].assign_attrs(blocks=self.prompts) for name in ("context_se", "descent_se")}
        return dataset.assign(columns).assign(errors)

    @expectation
    def _theory(self, seed: int, d: int, M: int) -> tuple[float, float, float, float]:
        Lambda = self._covariance(seed, d)
        trained = Gamma(Lambda, M)
        shares = (one_block.share_of_pass(Lambda, trained * M / steps, steps) for steps in (M, M - 1))
        contexts = (one_block.share_of_context(Lambda, each) for each in (trained, trained - Lambda / M))
        return *contexts, *shares

    def _covariance(self, seed: int, d: int) -> Float[np.ndarray, "d d"]:
        return geometric_covariance(d, self.kappa, seed, f"one pass/{d}/basis")

    def _shares(self, seed: int, d: int, M: int) -> dict[str, Estimate]:
        Lambda = self._covariance(seed, d)
        inverse = torch.tensor(np.linalg.inv(Gamma(Lambda, M)))
        x, y, _, w = contexts(seed, f"one pass/{d}/{M}", (self.prompts, M, 1), torch.tensor(Lambda))
        return {name: mean((read(x, y, inverse) * w).sum(-1) / d) for name, read in READ.items()}


def context_step(x: Float[Tensor, "B M d"], y: Float[Tensor, "B M"], inverse: Float[Tensor, "d d"]) -> Float[Tensor, "B d"]:
    """Return Gamma^-1 (1/M) sum_i y_i x_i."""
    return torch.einsum("kd,bmd,bm->bk", inverse, x, y) / x.shape[1]


def descent(x: Float[Tensor, "B M d"], y: Float[Tensor, "B M"], inverse: Float[Tensor, "d d"]) -> Float[Tensor, "B d"]:
    """Return w after one step for each example from 0, each with the preconditioner Gamma^-1 and the rate 1/M."""
    w = torch.zeros_like(x[:, 0])
    for x_i, y_i in zip(x.unbind(1), y.unbind(1), strict=True):
        w = w - torch.einsum("b,kd,bd->bk", (w * x_i).sum(-1) - y_i, inverse, x_i) / x.shape[1]
    return w


READ = {"context": context_step, "descent": descent}
_QUICK = OnePass(d=(3, 6), M=(10, 40), kappa=4.0, prompts=20_000)
ONE_PASS = Experiment(
    slug="lenses-one-pass",
    title="A context is not a pass of stochastic gradient descent",
    quick=_QUICK,
    full=replace(_QUICK, M=(10, 40, 160), prompts=50_000),
)
