"""dherin-conditioning: the update as |a| goes to 0, in float64 and in float32, with and without an epsilon."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Le
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Experiment, Positive, Several, expectation, variable
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import ContextualLayer
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.distance import relative
from papers.dherin.s2_contextual_blocks.random_blocks import LIKE, RandomBlocks, state
from papers.dherin.theory import contextual_blocks


@dataclass(frozen=True)
class Conditioning(RandomBlocks):
    """Softmax attention, Y = C, the query shrunk to 10^-k times itself: A(x) is linear in the query, so a shrinks with it.

    k            up to 16, so that |a|^2 is far from the smallest float32
    epsilon      added to |a|^2 in the variant that divides by |a|^2 + epsilon
    nudge        length of the random vector that is added to a to see how the patch treats its neighbours
    """

    k: Several[Annotated[int, Ge(0), Le(16)]]
    epsilon: Positive
    nudge: Positive

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch every block for queries of every length."""
        layer, mixer, mlp, weights, tokens = self._drawn(seed)
        away = normal(stream(seed, "conditioning/nudge"), (self.networks, self.width), LIKE)
        away = self.nudge * away / away.norm(dim=-1, keepdim=True)
        found = [self._one_length(layer, mixer, mlp, weights, shrunk(tokens, 10.0**-k), away) for k in self.k]
        columns = {
            name: variable("k network", np.array([each[name] for each in found], "f8" if "norm" in name else "f4"), text)
            for name, text in NAMES.items()
        }
        return xr.Dataset(columns, coords={"k": list(self.k)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the formula of the norm beside it."""
        layer, mixer, _, weights, tokens = self._drawn(seed)
        norm = []
        for k in self.k:
            prompts = shrunk(tokens, 10.0**-k)
            a, full = layer(mixer, prompts[..., -1:, :]), layer(mixer, prompts)
            cases = zip(weights["W"].numpy(), (full - a).numpy(), a.numpy(), strict=True)
            norm.append([contextual_blocks.update_norm(*case) for case in cases])
        return dataset.assign(norm_theory=variable("k network", norm, "|W DA| / |a|"))

    def _drawn(self, seed: int) -> tuple[ContextualLayer, Weights, MLP, Weights, Tensor]:
        """Draw the blocks, layer and MLP with their weights, and their prompts."""
        layer, mlp = self.layer(), self.mlp()
        mixer = self.start(layer.shapes, seed, "conditioning/layer")
        weights = self.start(mlp.shapes, seed, "conditioning/mlp")
        return layer, mixer, mlp, weights, self.prompts(seed, "conditioning/prompts")

    def _one_length(
        self, layer: ContextualLayer, mixer: Weights, mlp: MLP, weights: Weights, tokens: Tensor, away: Tensor
    ) -> dict[str, np.ndarray]:
        single = [{name: weight.float() for name, weight in each.items()} for each in (mixer, weights)]
        a, full = layer(mixer, tokens[..., -1:, :]), layer(mixer, tokens)
        a32, full32 = layer(single[0], tokens[..., -1:, :].float()), layer(single[0], tokens.float())
        W = weights["W"]
        update, padded = redirection(W, a, full), with_epsilon(W, a, full, self.epsilon)
        return {
            "length": a.norm(dim=-1).numpy(),
            "norm": update.norm(dim=(-2, -1)).numpy(),
            "norm_epsilon": padded.norm(dim=(-2, -1)).numpy(),
            "error": patched_error(mlp, weights, update, a, full).numpy(),
            "error_epsilon": patched_error(mlp, weights, padded, a, full).numpy(),
            "error_single": patched_error(mlp, single[1], redirection(single[1]["W"], a32, full32), a32, full32).numpy(),
            "error_nudged": patched_error(mlp, weights, update, a + away, full).numpy(),
        }


def shrunk(tokens: Float[Tensor, "... T n"], factor: float) -> Float[Tensor, "... T n"]:
    """Return the prompts with the query multiplied by ``factor``."""
    return torch.cat([tokens[..., :-1, :], factor * tokens[..., -1:, :]], -2)


def with_epsilon(
    W: Float[Tensor, "... m n"], a: Float[Tensor, "... n"], full: Float[Tensor, "... n"], epsilon: float
) -> Float[Tensor, "... m n"]:
    """Return the update with |a|^2 + epsilon in the denominator."""
    row = a / (a.square().sum(-1, keepdim=True) + epsilon)
    return torch.einsum("...mk,...k,...n->...mn", W, full - a, row)


def patched_error(mlp: MLP, weights: Weights, update: Tensor, a: Tensor, full: Tensor) -> Tensor:
    """Return the relative error of the block with the update at a against the block at A(C, x)."""
    found = mlp({**weights, "W": weights["W"] + update}, state(a, mlp.outputs).z)[..., 0, :]
    return relative(found, mlp(weights, state(full, mlp.outputs).z)[..., 0, :])


NAMES = {
    "length": "|a| = |A(x)|",
    "norm": "Frobenius norm of the update",
    "norm_epsilon": "Frobenius norm of the update with epsilon in the denominator",
    "error": "relative error of the patched block",
    "error_epsilon": "relative error with epsilon in the denominator",
    "error_single": "relative error of the patched block, all in float32",
    "error_nudged": "relative error of the patched block when a is moved by a vector of fixed length",
}

_QUICK = Conditioning(
    k=(0, 1, 2, 3, 4, 5, 6, 7, 8), epsilon=1e-8, nudge=1e-6, networks=10, d=2, N=100, width=32, heads=8, hidden=128
)
CONDITIONING = Experiment(
    slug="dherin-conditioning",
    title="The update when the vector it divides by goes to 0",
    quick=_QUICK,
    full=replace(_QUICK, networks=50),
)
