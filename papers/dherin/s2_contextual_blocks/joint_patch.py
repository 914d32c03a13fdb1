"""dherin-joint-patch: one change of W for K queries at once, exact up to the rank of what W reads."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, InnerShare, Several, expectation, variable, variables
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import ContextualLayer
from icl_lib.models.contextual.weights import Weights, start
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.distance import relative
from papers.dherin.recurrent_layers import TanhRNN
from papers.dherin.s2_contextual_blocks.random_blocks import LIKE, regression_tokens, state
from papers.dherin.theory import contextual_blocks
from papers.dherin.trained import OneBlock, Training, trained
from papers.dherin.trainings import ONE_BLOCK

CASES = ("trained", "random", "random, labelled queries", "random, half of C kept", "random tanh RNN")
"""Y = C everywhere but in the fourth; queries are (x; 0) everywhere but in the third, where they are (x; y)."""


@dataclass(frozen=True)
class JointPatch(Declaration):
    """Networks of one block, one context of N examples each, and the least-squares patch for its first K queries.

    K          numbers of queries; the predicted ranks, and one query more, are always there
    queries    for the rank of all A(x_k)
    tolerance  singular values below it, relative to the largest, count as 0; those met are below 1e-15 or above 1e-10
    """

    training: Training
    K: Several[Count]
    queries: Count
    tolerance: InnerShare

    def __post_init__(self):
        super().__post_init__()
        model = self.training.model
        if not isinstance(model, OneBlock) or model.layer != "softmax attention" or self.training.N < 2:
            raise ValueError("the joint patch needs a training of one block with softmax attention, and N of 2 or more")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit and compare in every case."""
        counts = sorted(set(self.K) | {rank + more for rank in self.ranks() for more in (0, 1)})
        models = trained(self.training, seed, device)
        block, S = models.network.block, models.replicates
        (own,) = ({name.removeprefix("blocks."): w[:, 0] for name, w in models.weights.items()},)
        random = block.start(stream(seed, "joint patch/weights"), (S,), LIKE)
        recurrent = TanhRNN(block.joint.layer.inputs, block.joint.layer.outputs)
        states = start(recurrent.shapes, stream(seed, "joint patch/recurrent"), (S,), LIKE)
        layers = [(block.joint.layer, own)] + 3 * [(block.joint.layer, random)] + [(recurrent, random | states)]
        found = []
        for case, (layer, weights) in zip(CASES, layers, strict=True):
            a, full = self._readings(case, layer, weights, max(counts), seed)
            found.append(self._one_case(block.feed_forward, weights, a, full, counts))
        return xr.Dataset(variables(NAMES, found, "case {} replicate"), coords={"case": list(CASES), "K": counts})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the ranks beside it."""
        return dataset.assign(rank_theory=variable("case", self.ranks(), "rank of the A(x_k) by counting dimensions"))

    def ranks(self) -> list[int]:
        """Return the rank of A(x_1), A(x_2), ... in each case.

        Linear in the token: d, or d + 1 with labels, at most the width. Several tokens: heads times the channels that a
        token fills. A recurrent network on one token: all of its width.
        """
        model = self.training.model
        channels = min(model.width // model.heads, model.d + 1)
        several = min(model.heads * channels, model.width)
        return [min(model.d, model.width)] * 2 + [min(model.d + 1, model.width), several, model.width]

    def _readings(
        self, case: str, layer: ContextualLayer, weights: Weights, K: int, seed: int
    ) -> tuple[Float[Tensor, "S K n"], Float[Tensor, "S K n"]]:
        """Return A(C without Y, x_k) and A(C, x_k) for the queries of every network's context."""
        N, d, S = self.training.N, self.training.model.d, len(weights["W"])
        prompts = regression_tokens(seed, "joint patch/contexts", (S,), N, d)[:, None].repeat(1, max(K, self.queries), 1, 1)
        queries = normal(stream(seed, "joint patch/queries"), (*prompts.shape[:2], d + 1), LIKE)
        queries[..., -1] *= case == CASES[2]
        prompts[..., -1, :] = queries
        kept = prompts[..., N // 2 :, :] if case == CASES[3] else prompts[..., -1:, :]
        each = {name: weight[:, None] for name, weight in weights.items()}
        return layer(each, kept), layer(each, prompts)

    def _one_case(self, mlp: MLP, weights: Weights, a: Tensor, full: Tensor, counts: list[int]) -> dict[str, np.ndarray | list]:
        columns, A0 = torch.einsum("smn,skn->smk", weights["W"], full - a).numpy(), a.mT.numpy()
        found = {"error": [], "error_median": [], "miss": []}
        for K in counts:
            cases = [(c[:, :K], r[:, :K], self.tolerance) for c, r in zip(columns, A0, strict=True)]
            patch = np.stack([contextual_blocks.joint_patch(*case) for case in cases])
            error = patched_error(mlp, weights, torch.from_numpy(patch), a[:, :K], full[:, :K])
            found["error"].append(error.amax(-1).numpy())
            found["error_median"].append(error.median(-1).values.numpy())
            found["miss"].append([contextual_blocks.joint_miss(*case) for case in cases])
        values = np.linalg.svd(A0, compute_uv=False)
        rank = (values > self.tolerance * values[:, :1]).sum(-1)
        return found | {"rank_found": rank, "bare": patched_error(mlp, weights, None, a, full).median(-1).values.numpy()}


def patched_error(mlp: MLP, weights: Weights, patch: Tensor | None, a: Tensor, full: Tensor) -> Float[Tensor, "S K"]:
    """Return the relative error of the block with one patch for all of its queries."""
    each = {name: weights[name][:, None] for name in mlp.shapes}
    changed = each if patch is None else each | {"W": (weights["W"] + patch)[:, None]}
    found, expected = mlp(changed, state(a, mlp.outputs).z), mlp(each, state(full, mlp.outputs).z)
    return relative(found[..., 0, :], expected[..., 0, :])


NAMES = {
    "error": ("K", "largest relative error over the K queries of the block with the joint patch"),
    "error_median": ("K", "median relative error over the K queries"),
    "miss": ("K", "part of the wanted columns that breaks the relations among the A(x_k)"),
    "rank_found": ("", "numerical rank of the A(x_k)"),
    "bare": ("", "median relative error without a patch"),
}

_QUICK = JointPatch(training=ONE_BLOCK, K=(1, 2, 3, 5, 10, 20, 50, 100), queries=200, tolerance=1e-13)
JOINT_PATCH = Experiment(
    slug="dherin-joint-patch",
    title="One patch for K queries",
    quick=_QUICK,
    full=replace(_QUICK, K=(1, 2, 3, 4, 5, 7, 10, 15, 20, 28, 40, 60, 100, 200), queries=500),
)
