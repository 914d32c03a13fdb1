"""dherin-rank-one: the update as a matrix. Its rank, its size, and all other matrices that would do as well."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Experiment, Positive, Share, expectation, variable
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.distance import relative
from papers.dherin.s2_contextual_blocks.random_blocks import LIKE, RandomBlocks, leave_out, state, subset_sizes
from papers.dherin.theory import contextual_blocks


@dataclass(frozen=True)
class RankOne(RandomBlocks):
    """Random blocks with softmax attention, Y a random part of the context.

    shares   of the context in Y; the whole context is always there
    other    |M| / |DeltaW|: size of the random matrix M that is added to the update
    """

    shares: tuple[Share, ...]
    other: Positive

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Make the update by the library's patches and take it apart."""
        layer = self.layer()
        mixer = self.start(layer.shapes, seed, "rank one/layer")
        mlp, weights = self._mlp(seed)
        prompts, order = self.prompts(seed, "rank one/prompts", 2), self.orders(seed, "rank one/Y", 2)
        sizes = [size for size in subset_sizes(self.shares, self.N) if size]
        bare = torch.stack([layer(mixer, leave_out(prompts, order[..., :size])) for size in sizes])
        full = layer(mixer, prompts).expand_as(bare)
        M = normal(stream(seed, "rank one/other"), (len(sizes), self.networks, self.hidden, self.width), LIKE)
        both = redirection(weights["W"], bare, full)  # size, prompt, network, row, column
        update, a, a_full = both[:, 0], bare[:, 0], full[:, 0]
        found = {
            "rest": rest(update),
            "rest_two_queries": rest(both.sum(1)),
            "norm": update.norm(dim=(-2, -1)),
            **free_matrices(mlp, weights, update, a, a_full, M, self.other),
            "pseudo_inverse": far(update, pseudo_inverse(weights["W"], a, a_full)),
            "pseudo_inverse_full": far(update, pseudo_inverse(weights["W"], a, a_full, reads=a_full)),
        }
        columns = {
            name: variable("size network", np.asarray(found[name], "f8" if name == "norm" else "f4"), text)
            for name, text in NAMES.items()
        }
        columns["a"] = variable("size network column", a.numpy(), "A(C without Y, x)")
        columns["a_full"] = variable("network column", a_full[0].numpy(), "A(C, x)")
        return xr.Dataset(columns | example(weights["W"], update, a, a_full), coords={"size": sizes})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the norm of every update by its formula and the bound beside it, and both with a planted fault."""
        W, full = self._mlp(seed)[1]["W"].numpy(), dataset.a_full.values
        cases = [[(w, u - v, v, u) for w, v, u in zip(W, row, full, strict=True)] for row in dataset.a.values]
        columns = {
            name: variable("size network", np.array([[formula(*case) for case in row] for row in cases]), text)
            for name, (formula, text) in FORMULAS.items()
        }
        return dataset.assign(columns)

    def _mlp(self, seed: int) -> tuple[MLP, Weights]:
        """Return the MLP of the networks and its weights."""
        mlp = self.mlp()
        return mlp, self.start(mlp.shapes, seed, "rank one/mlp")


def rest(matrix: Float[Tensor, "... m n"]) -> Float[Tensor, "..."]:
    """Return how far a matrix is from rank 1: the norm of all singular values but the largest over the largest."""
    values = torch.linalg.svdvals(matrix)
    return values[..., 1:].norm(dim=-1) / values[..., 0]


def far(matrix: Float[Tensor, "... m n"], expected: Float[Tensor, "... m n"]) -> Float[Tensor, "..."]:
    """Return the relative distance of two matrices in the Frobenius norm."""
    return (matrix - expected).norm(dim=(-2, -1)) / expected.norm(dim=(-2, -1))


def smallest(W: Float[np.ndarray, "m n"]) -> float:
    """Return the least stretch |W v| / |v|: the smallest singular value, and 0 for a wide matrix, which has a kernel."""
    return float(np.linalg.norm(W, -2)) if len(W) >= W.shape[1] else 0.0


def free_matrices(
    mlp: MLP, weights: dict[str, Tensor], update: Tensor, a: Tensor, a_full: Tensor, M: Tensor, other: float
) -> dict[str, Tensor]:
    """Return the error of the block with DeltaW + M, and how far squared norms are from adding up; for M a = 0 and any M."""
    direction = a / a.norm(dim=-1, keepdim=True)
    inside = M - torch.einsum("...mn,...n,...k->...mk", M, direction, direction)
    outputs, W = mlp.outputs, weights["W"]
    expected = mlp(weights, state(a_full, outputs).z)[..., 0, :]
    found = {}
    for name, each in (("free", inside), ("any", M)):
        each = other * each * (update.norm(dim=(-2, -1)) / each.norm(dim=(-2, -1)))[..., None, None]
        output = mlp({**weights, "W": W + update + each}, state(a, outputs).z)[..., 0, :]
        total = update.square().sum((-2, -1)) + each.square().sum((-2, -1))
        found[f"error_{name}"] = relative(output, expected)
        found[f"pythagoras_{name}"] = ((update + each).square().sum((-2, -1)) - total).abs() / total
    return found


def pseudo_inverse(W: Tensor, a: Tensor, a_full: Tensor, reads: Tensor | None = None) -> Tensor:
    """Return the least-norm solution of D a = W (a_full - a), found by least squares on n numbers; ``reads`` replaces a."""
    target = torch.einsum("...mn,...n->...m", W, a_full - a)
    reads = a if reads is None else reads
    return torch.linalg.lstsq(reads[..., None, :], target[..., None, :], driver="gelsd").solution.mT


def example(W: Tensor, update: Tensor, a: Tensor, a_full: Tensor) -> dict[str, xr.Variable]:
    """Return the first network's update for Y = C and its two factors."""
    column, row = W[0] @ (a_full - a)[-1, 0], a[-1, 0] / a[-1, 0].square().sum()
    return {
        "example": variable("row column", update[-1, 0].numpy().astype("f4"), "update of the first network, Y = C"),
        "example_column": variable("row", column.numpy(), "W DA of the same"),
        "example_row": variable("column", row.numpy(), "a over |a|^2 of the same"),
    }


NAMES = {
    "rest": "singular values of the update but the largest, over the largest",
    "rest_two_queries": "the same for the sum of the updates of two prompts",
    "norm": "Frobenius norm of the update",
    "error_free": "relative error of the block with the update plus M, M a = 0",
    "error_any": "relative error of the block with the update plus any M",
    "pythagoras_free": "relative gap of |update + M|^2 and |update|^2 + |M|^2, M a = 0",
    "pythagoras_any": "the same for any M",
    "pseudo_inverse": "relative distance of the update from the least-norm solution of D a = W DA",
    "pseudo_inverse_full": "the same with A(C, x) in the place of a in the equation",
}
"""Readings; all but the norm are errors and need no more than float32."""
FORMULAS = {
    "norm_theory": (lambda W, change, a, a_full: contextual_blocks.update_norm(W, change, a), "|W DA| / |a|"),
    "norm_full": (lambda W, change, a, a_full: contextual_blocks.update_norm(W, change, a_full), "|W DA| / |A(C, x)|"),
    "bound": (lambda W, change, a, a_full: contextual_blocks.norm_bound(W, change, a), "|W|_2 |DA| / |a|"),
    "bound_smallest": (
        lambda W, change, a, a_full: smallest(W) * np.linalg.norm(change) / np.linalg.norm(a),
        "least stretch of W times |DA| / |a|",
    ),
}
"""The norm and its bound by their formulas, each followed by itself with a planted fault."""

_QUICK = RankOne(shares=(0.01, 0.1, 0.5), other=1.0, networks=10, d=2, N=100, width=32, heads=8, hidden=128)
RANK_ONE = Experiment(
    slug="dherin-rank-one",
    title="The update: one column times one row, and the smallest matrix that does it",
    quick=_QUICK,
    full=replace(_QUICK, shares=(0.01, 0.1, 0.3, 0.5, 0.7, 0.9), networks=30),
)
