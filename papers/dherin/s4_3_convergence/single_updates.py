"""Single updates as matrices: how far they are from the formula of the increment, and from rank one."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.layers import SoftmaxAttention, heads
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import rank_one, redirection
from papers.dherin.along import states_along
from papers.dherin.s4_3_convergence.heads import scored
from papers.dherin.theory import convergence


def formula(
    layer: SoftmaxAttention, block: Weights, sequence: Float[Tensor, "B T n"], a: Float[Tensor, "B k"]
) -> tuple[Float[Tensor, "B N m k"], Float[Tensor, "B N m k"]]:
    """Return the single updates by the formula, and by the formula with the average one token late; a = A(x)."""
    (_, _, W_V, W_O), (order, scores) = heads(layer, block), scored(layer, block, sequence)
    values, scores = torch.einsum("hcn,btn->bhtc", W_V, order).numpy(), scores.numpy()
    behind = values[..., 1:, :] - convergence.running_average(scores, values)[..., 1:, :]
    late = convergence.newest_share(scores)[..., None] * behind
    return tuple(
        torch.from_numpy(convergence.marginal_update(block["W"].numpy(), W_O.numpy(), steps, a.numpy()))
        for steps in (convergence.increment(scores, values), late)
    )


def of_matrices(layer: SoftmaxAttention, block: Weights, sequence: Float[Tensor, "B T n"]) -> dict[str, float]:
    """Return the readings of CHECKS for the updates along some contexts."""
    a = states_along(layer, block, sequence)
    updates = redirection(block["W"], a[:, :1].expand_as(a), a)
    scale = updates.flatten(-2).norm(dim=-1).amax(-1, keepdim=True)
    found, expected, late = updates.diff(dim=1), *formula(layer, block, sequence, a[:, 0])
    turned = rank_one(torch.einsum("mk,bik->bim", block["W"], a - a[:, :1]), a).diff(dim=1)  # A(C_n, x) as row vector
    return {
        "formula": ((found - expected).flatten(-2).norm(dim=-1) / scale).max().item(),
        "formula_late": ((found - late).flatten(-2).norm(dim=-1) / scale).max().item(),
        "excess": _excess(found, scale),
        "excess_turned": _excess(turned, scale),
    }


def _excess(matrices: Float[Tensor, "B N m k"], scale: Float[Tensor, "B 1"]) -> float:
    """Return max (Frobenius norm - spectral norm) over the largest patch: 0 for rank one."""
    return ((torch.linalg.matrix_norm(matrices) - torch.linalg.matrix_norm(matrices, 2)).abs() / scale).max().item()


CHECKS = {
    "formula": ("", "max |single update - formula| over the largest patch of the trial"),
    "formula_late": ("", "the same with the average that has the newest token in it already"),
    "excess": ("", "max (Frobenius - spectral norm) of single updates over the largest patch"),
    "excess_turned": ("", "the same when A(C_n, x) takes the place of A(x) as row vector"),
}
"""Readings of one block, by block and network."""
