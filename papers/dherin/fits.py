"""One matrix for many rows: what a patch is fitted with. One row gives a token patch, many a joint or a static one.

Row k of ``reads`` is h_k, what a matrix reads; row k of ``changes`` is t_k, what should be added to its output.

Two orthogonal rows, h = (1, 0) with t = 3 and h = (0, 2) with t = 4; the ridge is lambda = 0.5 (1 + 16)/(1 + 4) = 1.7:

>>> import torch
>>> from papers.dherin.fits import LeastSquares, Ridge
>>> reads, changes = torch.tensor([[1.0, 0.0], [0.0, 2.0]]).double(), torch.tensor([[3.0], [4.0]]).double()
>>> [[round(entry, 4) for entry in fit(reads, changes)[0].tolist()] for fit in (LeastSquares(), Ridge(0.5))]
[[3.0, 2.0], [1.1111, 1.4035]]
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Fit(Protocol):
    """A rule that makes one matrix D of K pairs, so that D h_k is near t_k."""

    def __call__(self, reads: Float[Tensor, "... K n"], changes: Float[Tensor, "... K m"]) -> Float[Tensor, "... m n"]: ...


@dataclass(frozen=True)
class LeastSquares:
    """The minimiser of sum_k |t_k - D h_k|^2 of least Frobenius norm."""

    def __call__(self, reads: Float[Tensor, "... K n"], changes: Float[Tensor, "... K m"]) -> Float[Tensor, "... m n"]:
        """Return D from the pseudo-inverse; raises ValueError when there is no pair, or their numbers differ."""
        require_pairs(reads, changes)
        return torch.einsum("...nk,...km->...mn", torch.linalg.pinv(reads), changes)


@dataclass(frozen=True)
class Ridge:
    """The minimiser of sum_k |t_k - D h_k|^2 + lambda |D|_F^2, lambda = strength |H^T H|_F^2 / tr(H^T H).

    Of the two forms D = T^T H (H^T H + lambda I)^-1 = T^T (H H^T + lambda I)^-1 H it solves the smaller: n x n or K x K.
    """

    strength: float

    def __post_init__(self):
        if not self.strength > 0:
            raise ValueError(f"the strength of a ridge must be positive, not {self.strength}: for none take LeastSquares()")

    def __call__(self, reads: Float[Tensor, "... K n"], changes: Float[Tensor, "... K m"]) -> Float[Tensor, "... m n"]:
        """Return D by a QR factorisation over sqrt(lambda) I, which does not square the condition of H.

        Raises ValueError when there is no pair, their numbers differ, or all h_k are 0.
        """
        require_pairs(reads, changes)
        wide = reads.shape[-2] < reads.shape[-1]
        tall = reads.mT if wide else reads
        square = torch.einsum("...ki,...kj->...ij", tall, tall)
        size = square.diagonal(dim1=-2, dim2=-1).sum(-1)
        if (size == 0).any():
            raise ValueError("all the vectors that a matrix reads are 0, so no change of it can act on them: patch a bias")
        root = (self.strength * square.square().sum((-2, -1)) / size).sqrt()[..., None, None]
        Q, R = torch.linalg.qr(torch.cat([tall, root * torch.eye(tall.shape[-1]).to(tall)], -2))
        Q = Q[..., : tall.shape[-2], :]
        if wide:
            return torch.einsum("...km,...kn->...mn", changes, torch.linalg.solve_triangular(R, Q.mT, upper=True))
        return torch.linalg.solve_triangular(R, torch.einsum("...kn,...km->...nm", Q, changes), upper=True).mT


def require_pairs(reads: Tensor, changes: Tensor) -> None:
    """Raise ValueError in a sentence where there is no pair, or reads and changes are not as many."""
    if reads.shape[:-1] != changes.shape[:-1]:
        raise ValueError(
            f"reads {tuple(reads.shape)} and changes {tuple(changes.shape)} must agree but for their last dimension"
        )
    if reads.shape[-2] == 0:
        raise ValueError("a static patch needs at least one calibration query, K = 0 is none")
