"""Static patches: one change of a block's matrices that serves all queries of a context, fitted to some of them.

A token patch is exact for its query alone. Here K calibration queries share one change. States and tokens carry the
queries as the dimension before the last two, (..., K, 1, k), and weights of patched blocks get a dimension of size one in
its place, so that they meet all queries, the calibration ones and new ones.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.blocks import Block, State
from icl_lib.models.contextual.weights import Weights, linear
from icl_lib.patches.rank_one import rank_one
from papers.dherin.fits import Fit, require_pairs
from papers.dherin.network import Network


@dataclass(frozen=True)
class Average:
    """The mean of the token patches t_k h_k^T / |h_k|^2 (thought matrix, Mazzawi et al.) times ``scale``."""

    scale: float = 1.0

    def __call__(self, reads: Float[Tensor, "... K n"], changes: Float[Tensor, "... K m"]) -> Float[Tensor, "... m n"]:
        """Return D; raises ValueError when there is no pair, their numbers differ, or one h_k is 0."""
        require_pairs(reads, changes)
        return self.scale * rank_one(changes, reads).mean(-3)


def affine(
    reads: Float[Tensor, "... K n"], changes: Float[Tensor, "... K m"]
) -> tuple[Float[Tensor, "... m n"], Float[Tensor, "... m"]]:
    """Return D and c that minimise sum_k |t_k - D h_k - c|^2: a change of the matrix and of the bias behind it."""
    require_pairs(reads, changes)
    h, t = reads.mean(-2, keepdim=True), changes.mean(-2, keepdim=True)
    rounding = max(reads.shape[-2:]) * torch.finfo(reads.dtype).eps * torch.linalg.matrix_norm(reads, 2)
    # What rounding leaves of rows that are alike is no direction.
    inverse = torch.linalg.pinv(reads - h, atol=rounding, rtol=torch.zeros(()))
    D = torch.einsum("...nk,...km->...mn", inverse, changes - t)
    return D, (t[..., 0, :] - torch.einsum("...mn,...n->...m", D, h[..., 0, :]))


@dataclass(frozen=True)
class StaticPatch:
    """Which matrices of a block are changed, and how each is fitted.

    read    names of matrices applied to z, each sent from W z to W z_full
    last    name of the last matrix, which takes up what is then still missing at the output; empty to leave it
    """

    fit: Fit
    read: tuple[str, ...]
    last: str

    def block(self, block: Block, weights: Weights, bare: State, full: State) -> Weights:
        """Return the block's weights patched for all queries together.

        bare, full   states of the queries without and with the context, (..., K, 1, k) each. The last matrix is fitted to
                     t_k = W (h_k^full - h_k) + v_k^full - v_k with h_k what the matrices patched before send it.

        Raises ValueError when there is no query, the states do not match, or a name is not that of such a matrix.
        """
        _require_states(bare, full)
        unknown = [name for name in self.read if name not in block.feed_forward.reads]
        if unknown or (self.last and self.last not in weights):
            raise ValueError(f"the block has no such matrix: {', '.join([*unknown, self.last])}")
        patched = dict(weights)
        for name in self.read:
            change = linear(weights, name, full.z - bare.z)
            patched[name] = weights[name] + self._fitted(bare.z, change)
        if self.last:
            hidden, aim = block.feed_forward.hidden(patched, bare.z), block.feed_forward.hidden(weights, full.z)
            change = linear(weights, self.last, aim - hidden) + full.v - bare.v
            patched[self.last] = weights[self.last] + self._fitted(hidden, change)
        return patched

    def network(
        self, network: Network, weights: Weights, targets: list[State], tokens: Float[Tensor, "... K 1 D"]
    ) -> list[Weights]:
        """Return the weights of every block, patched from the first on.

        targets   state of each query in every block with the whole context, (..., K, 1, k)
        tokens    the queries alone as they enter the first block

        Each block is fitted on what the patched blocks below really send it.
        """
        patched = []
        for block, full in zip(network.blocks(weights), targets, strict=True):
            bare = network.block.mix(block, tokens)
            patched.append(self.block(network.block, block, bare, full))
            tokens = network.block.feed(patched[-1], bare)
        return patched

    def _fitted(self, reads: Float[Tensor, "... K 1 n"], changes: Float[Tensor, "... K 1 m"]) -> Float[Tensor, "... 1 m n"]:
        return self.fit(reads[..., 0, :], changes[..., 0, :])[..., None, :, :]


def _require_states(bare: State, full: State) -> None:
    if bare.z.shape != full.z.shape or bare.v.shape != full.v.shape:
        raise ValueError(
            f"states without {tuple(bare.z.shape)} and with the context {tuple(full.z.shape)} must be of the same queries"
        )
    if bare.z.ndim < 3 or bare.z.shape[-2] != 1:
        raise ValueError(f"states must be of K queries with one token each, (..., K, 1, k), not {tuple(bare.z.shape)}")
