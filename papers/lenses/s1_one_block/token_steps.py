"""lenses-token-steps: what each token of the context adds to the patch of one query, against gradients at the start."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, expectation, near_misses, variable
from icl_lib.patches.rank_one import redirection
from papers.lenses.blocks import Blocks, Contexts, contexts, first_layer, limit_attention, unlabelled
from papers.lenses.theory import one_block
from papers.regression.spectra import geometric_covariance
from papers.zhang.theory.optimum import Gamma


@dataclass(frozen=True)
class TokenSteps(Declaration):
    """A block with the attention of the limit, with contexts of one query each.

    d, M, N   dimension, examples of a context, training length
    kappa     condition number of the covariance of inputs
    m         neurons of the MLP
    contexts  contexts with one query each, all read by one block
    """

    d: AtLeastTwo
    M: AtLeastTwo
    N: Count
    kappa: Positive
    m: Count
    contexts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch the query with the first i examples of each context, i = 0 .. M, at a divisor that stays and at one of i."""
        block, drawn = self._drawn(seed)
        W, z = block.weights["W"], unlabelled(drawn.queries)
        patches, running = [torch.zeros(self.contexts, *W.shape, dtype=W.dtype)], []
        for i in range(1, self.M + 1):
            moved = block.mixed(drawn.x[:, :i], drawn.y[:, :i], z)
            patches.append(redirection(W, z, moved)[:, 0])
            running.append(redirection(W, z, z + (moved - z) * self.M / i)[:, 0])
        fixed = torch.stack(patches, 1)
        columns = {
            "added": variable("context token neuron entry", fixed.diff(dim=1).numpy(), "what example i adds to the patch"),
            "mean": variable("context token neuron entry", torch.stack(running, 1).numpy(), "the patch with the divisor i"),
        }
        return xr.Dataset(columns, coords={"token": np.arange(1, self.M + 1)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the steps on each example's loss beside it, with the gradient at the start and where the pass has led."""
        block, drawn = self._drawn(seed)
        W, trained = block.weights["W"].numpy(), Gamma(self._covariance(seed), self.N)
        z = unlabelled(drawn.queries)[:, 0].numpy()
        pairs = [(x.numpy(), y.numpy()) for x, y in zip(drawn.x, drawn.y, strict=True)]
        start, there = (
            np.array([_cut(steps(W, trained, *pair), at) for pair, at in zip(pairs, z, strict=True)])
            for steps in (one_block.tangents, one_block.descents)
        )
        count = np.arange(1, self.M + 1)[:, None, None]
        dims = "context token neuron entry"
        return dataset.assign(
            added_theory=variable(dims, start, "-(1/M) grad l_i(0) Gamma^-1, cut to the query"),
            added_near=near_misses(dims, {"gradient at the current point": there}),
            added_scale=_size(dataset.added),
            mean_theory=variable(dims, self.M * start.cumsum(1) / count, "mean of -grad l_i(0) Gamma^-1, cut to the query"),
            mean_near=near_misses(dims, {"i + 1 for i": self.M * start.cumsum(1) / (count + 1)}),
            mean_scale=_size(dataset["mean"]),
        )

    def _covariance(self, seed: int) -> Float[np.ndarray, "d d"]:
        return geometric_covariance(self.d, self.kappa, seed, "token steps/basis")

    def _drawn(self, seed: int) -> tuple[Blocks, Contexts]:
        Lambda = self._covariance(seed)
        drawn = contexts(seed, "token steps", (self.contexts, self.M, 1), torch.tensor(Lambda))
        attention = limit_attention(Lambda, self.N, self.M)
        return Blocks(attention, first_layer(seed, "token steps", self.m, self.d + 1, bias=0.1)), drawn


def _cut(steps: Float[np.ndarray, "M m d"], z: Float[np.ndarray, "D"]) -> Float[np.ndarray, "M m D"]:
    whole = np.concatenate([steps, np.zeros_like(steps[..., :1])], -1)
    return np.array([one_block.cut(each, z) for each in whole])


def _size(values: xr.DataArray) -> xr.DataArray:
    size = (values**2).mean() ** 0.5 + 0 * values
    return size.assign_attrs(long_name="root mean square of the entries", units="1")


_QUICK = TokenSteps(d=5, M=12, N=9, kappa=4.0, m=4, contexts=5)
TOKEN_STEPS = Experiment(
    slug="lenses-token-steps",
    title="Each example adds the gradient at the start",
    quick=_QUICK,
    full=replace(_QUICK, M=17, contexts=20),
)
