"""dherin-dynamics: the matrices W_i of a consumed context, the steps between them, and the readings that do not fit."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from numpy import ndarray
from torch import Tensor

from icl_lib.companion import Experiment, variable
from icl_lib.patches.rank_one import redirection
from papers.dherin.s3_implicit_dynamics.consumed import Case, Paths
from papers.dherin.theory import dynamics
from papers.dherin.trainings import ONE_BLOCK


@dataclass(frozen=True)
class Dynamics(Paths):
    """Networks whose path W_0, ..., W_N is compared with readings of its steps."""

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every case; one row per network and prompt."""
        found, nets = self.readings(measure, seed, device)
        columns = {name: variable("case", found[name].astype("f4"), text) for name, text in NAMES.items()}
        return xr.Dataset(columns, coords={"net": ("case", nets)})


def measure(case: Case) -> dict[str, ndarray]:
    """Return every reading of a case, one number a prompt."""
    a, b, W_0 = case.prefixes(), case.suffixes().numpy(), case.W.numpy()
    W = case.W + redirection(case.W, a[:, :1], a)
    Delta, h = dynamics.step_matrices(W_0, a.numpy()), dynamics.rate(a[:, 0].numpy())
    return {
        **steps(W.numpy(), Delta, h, dynamics.rate(b[:, 1:])),
        **decreases(W.numpy(), Delta, h),
        **gradients(case.W, a, Delta),
        **quadratic(case.W, W, a, Delta),
        **outputs(case, a, W),
    }


def steps(W: ndarray, Delta: ndarray, h: ndarray, h_left: ndarray) -> dict[str, ndarray]:
    """Compare the steps of the path W (B, N + 1, m, n) with -h Delta_i and with the readings that do not fit."""
    step, h = np.diff(W, axis=1), h[:, None, None, None]
    longest, farthest = length(step).max(1), length(W - W[:, :1]).max(1)

    def off(found: ndarray, expected: ndarray, unit: ndarray) -> ndarray:
        return length(found - expected).max(1) / unit

    followed = dynamics.follow(W[0, 0], Delta, h[:, 0, 0, 0])
    literal = dynamics.follow(W[0, 0], Delta[:, 1:], h[:, 0, 0, 0])  # W_i = W_{i-1} - h Delta_i, i = 1 .. N - 1
    return {
        "step": off(step, -h * Delta, farthest),
        "whole": off(W, followed, farthest),
        "literal": off(step[:, :-1], -h * Delta[:, 1:], longest),
        "left_rate": off(step, -h_left[..., None, None] * Delta, longest),
        "ahead": off(literal, dynamics.ahead(W), farthest),
        "ahead_whole": off(literal, W[:, 1:], farthest),
    }


def gradients(W_0: Tensor, a: Tensor, Delta: ndarray) -> dict[str, ndarray]:
    """Compare gradients by automatic differentiation with their formulas."""
    difference, a_0 = a[:, :-1] - a[:, 1:], a[:, :1].expand_as(a[:, 1:])
    frozen, r = torch.from_numpy(Delta), min(W_0.shape)
    moving = torch.einsum("bik,bin->bikn", difference, a_0)
    W = W_0.expand_as(frozen)
    found = gradient(lambda M: (frozen.mT @ M).diagonal(dim1=-2, dim2=-1).sum(), W)
    found_moving = gradient(lambda M: ((M @ moving).mT @ M).diagonal(dim1=-2, dim2=-1).sum(), W)
    expected = dynamics.moving_gradient(W_0.numpy(), difference.numpy(), a_0.numpy())
    square = Delta[..., :r, :r]
    return {
        "gradient": relative(found, Delta),
        "gradient_transposed": relative(found[..., :r, :r], square.swapaxes(-1, -2)),
        "gradient_moving": relative(found_moving, expected),
        "gradient_moving_frozen": relative(found_moving, Delta),
    }


def decreases(W: ndarray, Delta: ndarray, h: ndarray) -> dict[str, ndarray]:
    """Compare L_i(W_i) - L_i(W_{i+1}), all i as one vector, with h |Delta_i|^2; and with the printed index."""
    fall = dynamics.linear_loss(Delta, W[:, :-1]) - dynamics.linear_loss(Delta, W[:, 1:])
    printed = dynamics.linear_loss(Delta[:, 1:], W[:, :-2]) - dynamics.linear_loss(Delta[:, 1:], W[:, 1:-1])
    expected = dynamics.decrease(Delta, h[:, None])
    return {"decrease": vector_error(fall, expected), "decrease_printed": vector_error(printed, expected[:, 1:])}


def quadratic(W_0: Tensor, W: Tensor, a: Tensor, Delta: ndarray) -> dict[str, ndarray]:
    """Compare the gradient of Q_i at W_i, and at W_0, with Delta_i; and W_{i+1} A(x) with the target W_0 a_{i+1}."""
    a_0, target = a[:, :1].expand_as(a[:, 1:]), torch.einsum("mk,bik->bim", W_0, a[:, 1:])

    def loss(M: Tensor) -> Tensor:
        return (torch.einsum("bimk,bik->bim", M, a_0) - target).square().sum() / 2

    left = torch.einsum("bimk,bik->bim", W, a[:, :1].expand_as(a)).numpy()
    expected = target.numpy()
    unit = np.linalg.norm(left[:, :-1] - expected, axis=-1).max(1)
    return {
        "quadratic": relative(gradient(loss, W[:, :-1]), Delta),
        "quadratic_start": relative(gradient(loss, W[:, :1].expand_as(W[:, 1:])), Delta),
        "solved": np.linalg.norm(left[:, 1:] - expected, axis=-1).max(1) / unit,
    }


def gradient(loss, W: Tensor) -> ndarray:
    """Return the gradient of a sum of losses, each in its own matrix of W."""
    W = W.clone().requires_grad_()
    return torch.autograd.grad(loss(W), W)[0].numpy()


def outputs(case: Case, a: Tensor, W: Tensor) -> dict[str, ndarray]:
    """Compare f(W_i A(x) + b) with the block on (c_1 .. c_i, x), run anew for five lengths i, and with W_{i-1} for control."""
    N = a.shape[1] - 1
    places = sorted({0, 1, N // 2, N - 1, N})
    context, query = case.tokens[:, :-1], case.tokens[:, -1:]
    block = [case.block(case.weights, torch.cat([context[:, :i], query], 1))[:, -1] for i in places]
    expected = torch.stack(block, 1).numpy()
    bare = a[:, :1].expand(-1, len(places), -1)
    late = [max(i - 1, 0) for i in places]
    return {
        "output": output_error(case.output(W[:, places], bare).numpy(), expected),
        "output_late": output_error(case.output(W[:, late], bare).numpy(), expected),
        "output_end": output_error(case.output(W[:, -1:], bare[:, :1]).numpy(), expected[:, -1:]),
    }


def length(matrices: ndarray) -> ndarray:
    """Return Frobenius norms."""
    return (matrices**2).sum((-2, -1)) ** 0.5


def relative(found: ndarray, expected: ndarray) -> ndarray:
    """Return the largest error of matrices (B, N, m, n) over the longest of those expected, for every prompt."""
    return length(found - expected).max(1) / length(expected).max(1)


def vector_error(found: ndarray, expected: ndarray) -> ndarray:
    """Return |found - expected| / |expected| of vectors (B, N), for every prompt."""
    return np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)


def output_error(found: ndarray, expected: ndarray) -> ndarray:
    """Return |found - expected| / |expected| of vectors (B, L, n), the largest over L, for every prompt."""
    return (np.linalg.norm(found - expected, axis=-1) / np.linalg.norm(expected, axis=-1)).max(1)


NAMES = {
    "step": "W_{i+1} - W_i against -h Delta_i, largest error over i over the largest |W_i - W_0|",
    "whole": "W_i against i steps -h Delta_j from W_0, over the largest |W_i - W_0|",
    "literal": "W_i - W_{i-1} against -h Delta_i, the index as printed, over the longest step",
    "left_rate": "W_{i+1} - W_i against -Delta_i / |A(c_{i+2} .. c_N, x)|^2, over the longest step",
    "ahead": "steps with the printed index against W_0 + W_{i+1} - W_1, same unit",
    "ahead_whole": "steps with the printed index against W_{i+1}, same unit",
    "gradient": "gradient of trace(Delta_i^T W) against Delta_i, largest error over i over the longest Delta_i",
    "gradient_transposed": "the same against Delta_i transposed, leading square",
    "gradient_moving": "gradient of trace((W D)^T W) against W (D + D^T), same measure",
    "gradient_moving_frozen": "the same against Delta_i",
    "decrease": "L_i(W_i) - L_i(W_{i+1}) against h |Delta_i|^2, relative error of the vector of all i",
    "decrease_printed": "L_i(W_{i-1}) - L_i(W_i) against the same",
    "quadratic": "gradient of Q_i at W_i against Delta_i, largest error over i over the longest Delta_i",
    "quadratic_start": "gradient of Q_i at W_0 against Delta_i, same measure",
    "solved": "W_{i+1} A(x) against W_0 A(c_1 .. c_{i+1}, x), largest over i, over the same before the step",
    "output": "f(W_i A(x) + b) against the block on (c_1 .. c_i, x), largest relative error over i",
    "output_late": "f(W_{i-1} A(x) + b) against the same",
    "output_end": "f(W_N A(x) + b) against the block on (C, x), relative error",
}
"""Readings of one prompt."""

_QUICK = Dynamics(
    layers=("softmax attention", "linear attention", "tanh RNN", "GRU"),
    d=2,
    N=20,
    width=32,
    heads=8,
    hidden=128,
    networks=1,
    prompts=2,
    training=ONE_BLOCK,
)
DYNAMICS = Experiment(
    slug="dherin-dynamics",
    title="The steps of the implicit dynamics",
    quick=_QUICK,
    full=replace(_QUICK, N=100, networks=10, prompts=3),
)
