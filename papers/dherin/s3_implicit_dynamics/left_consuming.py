"""dherin-left-consuming: the dynamics that eats the context from the left and keeps the output, its slips, its size."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from numpy import ndarray
from torch import Tensor

from icl_lib.companion import Experiment, expectation, variable, variables
from icl_lib.models.contextual.layers import ContextualLayer, LinearAttention, SoftmaxAttention
from icl_lib.patches.rank_one import redirection
from papers.dherin.s3_implicit_dynamics.consumed import Case, Paths
from papers.dherin.s3_implicit_dynamics.dynamics import length, output_error
from papers.dherin.theory import dynamics
from papers.dherin.trainings import ONE_BLOCK

SLIPS = ("W_{i-2} in the step", "the rate 1/|A(x)|^2", "A(c_i .. c_N, x) in A_i and h_i")
LARGEST = 1e6
"""Errors are given up to this size: with a slip the product may overflow."""
SHARES = (1e-10, 1e-2)
"""Singular values up to these shares of the largest are not counted: the first for rounding, the second as small."""


@dataclass(frozen=True)
class LeftConsuming(Paths):
    """Networks whose contexts are consumed from the left."""

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every case, one row per network and prompt; curves over i as medians for each kind of network."""
        found, nets = self.readings(self.measure, seed, device)
        kinds = list(dict.fromkeys(nets))
        medians = [{name: np.median(found[name][np.array(nets) == kind], 0) for name in CURVES} for kind in kinds]
        columns = variables(NAMES, found, "case {}") | variables(CURVES, medians, "kind {}", "f4")
        coords = {"net": ("case", nets), "kind": kinds, "slip": list(SLIPS), "share": list(SHARES)}
        return xr.Dataset(columns, coords=coords | {"i": np.arange(1, self.N + 1)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the bound on the rank beside it."""
        models = {model.layer: model for model in self.blocks()} | {f"trained {self.training.model.layer}": self.training.model}
        bounds = {
            net: dynamics.rank_bound(self.N, model.hidden, model.width, span(model.network().block.joint.layer))
            for net, model in models.items()
        }
        text = "min(N, rows, columns, dimensions in which A lives)"
        return dataset.assign(bound=variable("case", [bounds[net] for net in dataset.net.values], text))

    def measure(self, case: Case) -> dict[str, ndarray]:
        """Return every reading of a case, prompts first."""
        b = case.suffixes()
        back = case.along(torch.arange(self.N).flip(0)).suffixes()
        W_0, W = case.W.numpy(), dynamics.left_consuming(case.W.numpy(), b.numpy())
        other = dynamics.left_consuming(W_0, back.numpy())[:, -1]
        less = case.block.joint.layer(case.weights, torch.cat([case.tokens[:, :-2], case.tokens[:, -1:]], 1))
        patch, late, turned = (redirection(case.W, b[:, -1], full).numpy() for full in (b[:, 0], less, back[:, 0]))
        least = redirection(case.W, b[:, 1:], b[:, :1].expand_as(b[:, 1:])).numpy()
        change = W - W_0
        return {
            "output": kept(case, W, b),
            "output_slip": np.stack([kept(case, each, b) for each in slipped(W_0, b.numpy())], 1),
            "skew": skewness(left_step, b),
            "skew_quadratic": skewness(quadratic_step, b),
            "rank": rank(change[:, -1]),
            "rank_least": rank(patch),
            "rank_start": rank(W[:, 0]),
            "ratio": length(change[:, -1]) / length(patch),
            "angle": angle(change[:, -1], patch),
            "angle_late": angle(change[:, -1], late),
            "order": length(other - W[:, -1]) / length(change[:, -1]),
            "order_least": length(turned - patch) / length(patch),
            "ratios": length(change[:, 1:]) / length(least),
            "ranks": np.stack([rank(change[:, 1:], share) for share in SHARES], 1),
        }


def span(layer: ContextualLayer) -> int:
    """Return the dimensions of the space in which A lives, or in linear attention those in which a token moves it."""
    if isinstance(layer, SoftmaxAttention):
        return dynamics.attention_span(layer.heads, layer.head_width, layer.inputs, layer.outputs)
    if isinstance(layer, LinearAttention):  # one head
        return min(dynamics.linear_span(1, layer.inputs - 1), layer.outputs)
    return layer.outputs


def kept(case: Case, W: ndarray, b: Tensor) -> ndarray:
    """Return how far f(W_i b_i + b) is from f(W_0 b_0 + b), largest relative error over i, at most LARGEST."""
    found = case.output(torch.from_numpy(W), b).numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num(output_error(found, found[:, :1]), nan=LARGEST).clip(max=LARGEST)


def slipped(W_0: ndarray, b: ndarray) -> Iterator[ndarray]:
    """Yield the path with each slip, in the order of SLIPS."""
    A, h = dynamics.left_matrices(b), dynamics.rate(b[:, 1:])
    first = dynamics.rate(b[:, -1:]) + 0 * h
    early = np.einsum("bik,bin->bikn", b[:, :-1] - b[:, 1:], b[:, :-1])
    for matrices, rates, back in ((A, h, 2), (A, first, 1), (early, dynamics.rate(b[:, :-1]), 1)):
        W = [np.broadcast_to(W_0, (len(b), *W_0.shape))]
        with np.errstate(invalid="ignore", over="ignore"):
            for i in range(A.shape[1]):
                W.append(W[-1] + rates[:, i, None, None] * W[max(i + 1 - back, 0)] @ matrices[:, i])
            yield np.stack(W, 1)


def left_step(row: Tensor, full: Tensor, bare: Tensor) -> Tensor:
    """Return what a row of W_{i-1} gains in a step, row h_i A_i, with full = b_{i-1} and bare = b_i; (L, n) each."""
    return (row * (full - bare)).sum(1, keepdim=True) * bare / bare.square().sum(1, keepdim=True)


def quadratic_step(row: Tensor, full: Tensor, bare: Tensor) -> Tensor:
    """Return the gradient step of |row . bare - 1|^2 / 2 at the same rate: a field that is a gradient."""
    return -((row * bare).sum(1, keepdim=True) - 1) * bare / bare.square().sum(1, keepdim=True)


def skewness(step: Callable[[Tensor, Tensor, Tensor], Tensor], b: Tensor) -> ndarray:
    """Return |J - J^T| / |J|, J the Jacobian of a step in the row it acts on: 0 for the gradient of a loss; median over i."""
    full, bare = b[:, :-1].flatten(0, 1), b[:, 1:].flatten(0, 1)
    row = torch.zeros_like(bare, requires_grad=True)
    gain = step(row, full, bare)
    J = torch.stack([torch.autograd.grad(each.sum(), row, retain_graph=True)[0] for each in gain.unbind(1)], 1)
    return ((J - J.mT).norm(dim=(1, 2)) / J.norm(dim=(1, 2))).unflatten(0, (len(b), -1)).median(1).values.numpy()


def rank(matrices: ndarray, share: float = SHARES[0]) -> ndarray:
    """Return how many singular values are above a share of the largest; 0 for the matrix 0."""
    sizes = np.linalg.svd(matrices, compute_uv=False)
    return (sizes > share * sizes[..., :1]).sum(-1)


def angle(change: ndarray, patch: ndarray) -> ndarray:
    """Return the cosine of the angle between what ``change`` has beyond a patch and the patch, over |change|/|rest|."""
    return abs(((change - patch) * patch).sum((1, 2))) / (length(change) * length(patch))


NAMES = {
    "output": ("", "f(W_i b_i + b) against f(W_0 b_0 + b), largest relative error over i"),
    "output_slip": ("slip", "the same with a slip, at most 10^6"),
    "skew": ("", "|J - J^T| / |J|, J the Jacobian of a step, median over i"),
    "skew_quadratic": ("", "the same for gradient steps of a squared error"),
    "rank": ("", "rank of W_N - W_0"),
    "rank_least": ("", "rank of DeltaW(C)"),
    "rank_start": ("", "rank of W_0"),
    "ratio": ("", "|W_N - W_0| / |DeltaW(C)|"),
    "angle": ("", "|<W_N - W_0 - D, D>| / (|W_N - W_0| |D|), D = DeltaW(C)"),
    "angle_late": ("", "the same with D = DeltaW(c_1 .. c_{N-1})"),
    "order": ("", "|W_N - W_N'| / |W_N - W_0|, the context reversed"),
    "order_least": ("", "the same for W_0 + DeltaW(C)"),
}
"""Readings of one prompt: dimensions beside the case, and what they are."""
CURVES = {
    "ratios": ("i", "|W_i - W_0| over the least change that keeps the output at (c_{i+1} .. c_N, x), median"),
    "ranks": ("share i", "singular values of W_i - W_0 above a share of the largest, median"),
}
"""Readings along the path: dimensions beside the kind of network, and what they are."""

_QUICK = LeftConsuming(
    layers=("softmax attention", "linear attention", "tanh RNN", "GRU"),
    d=2,
    N=25,
    width=32,
    heads=8,
    hidden=128,
    networks=2,
    prompts=1,
    training=ONE_BLOCK,
)
LEFT_CONSUMING = Experiment(
    slug="dherin-left-consuming",
    title="Consuming the context from the left",
    quick=_QUICK,
    full=replace(_QUICK, N=60, networks=10, prompts=2),
)
