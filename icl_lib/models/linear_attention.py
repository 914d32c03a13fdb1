"""Linear self-attention. A model maps prompts to predictions: ``model(prompts) -> y_hat``."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, unread
from icl_lib.typed import refuse


def embed(prompts: Prompts) -> Float[Tensor, "... D T"]:
    """Return the token matrix E = [[x_1 .. x_M x_query], [y_1 .. y_M 0]], D = d+1 by T = M+1, M >= 1 (Zhang et al., 3.2)."""
    refuse(not prompts.x.shape[-2], "a prompt without examples has no token matrix: give at least one example")
    refuse(*unread(prompts))
    inputs = torch.cat([prompts.x, prompts.x_query[..., None, :]], dim=-2)
    labels = torch.cat([prompts.y, torch.zeros_like(prompts.y[..., :1])], dim=-1)
    return torch.cat([inputs.mT, labels[..., None, :]], dim=-2)


@dataclass(frozen=True, eq=False)
class LinearSelfAttention:
    """f_LSA(E) = E + W_PV E (E^T W_KQ E) / rho with rho = prompt length (Zhang et al., section 3.2).

    Weights are (d+1, d+1), or carry leading dimensions that broadcast against those of the prompts' batch dimensions
    except the last: weights (S, d+1, d+1) meet prompts (S, B, M, d).

    With these weights it makes one gradient step, y_hat = <(1/M) sum y_i x_i, x_query> = (3 - 2) / 2:

    >>> import torch
    >>> from icl_lib.models.linear_attention import LinearSelfAttention
    >>> from icl_lib.tasks.prompts import Prompts
    >>> model = LinearSelfAttention(W_PV=torch.diag(torch.tensor([0.0, 0, 1])), W_KQ=torch.diag(torch.tensor([1.0, 1, 0])))
    >>> x, y, x_query = torch.tensor([[[1.0, 0], [0, 2]]]), torch.tensor([[3.0, -1]]), torch.tensor([[1.0, 1]])
    >>> model(Prompts(x, y, x_query, torch.zeros(1))).tolist()
    [0.5]
    """

    W_PV: Float[Tensor, "... D D"]
    W_KQ: Float[Tensor, "... D D"]

    def __post_init__(self):
        refuse(
            len({*self.W_PV.shape[-2:], *self.W_KQ.shape[-2:]}) > 1 or min(self.W_PV.ndim, self.W_KQ.ndim) < 2,
            f"W_PV and W_KQ have shapes {tuple(self.W_PV.shape)} and {tuple(self.W_KQ.shape)}: both end in (d+1, d+1)",
        )

    def tokens(self, E: Float[Tensor, "... B D T"]) -> Float[Tensor, "... B D T"]:
        """Return f_LSA(E) of B prompts as printed, forming the (M+1) x (M+1) matrix; O(M^2 d) per prompt."""
        rho = E.shape[-1] - 1
        scores = torch.einsum("...bim,...ij,...bjn->...bmn", E, self.W_KQ, E) / rho
        return E + torch.einsum("...ij,...bjm,...bmn->...bin", self.W_PV, E, scores)

    def __call__(self, prompts: Prompts) -> Float[Tensor, "... B"]:
        """Return y_hat = [f_LSA(E)]_{d+1, M+1} from the query's column alone; O(M d + d^2) per prompt, no number at M = 0.

        Only the last row (p, p_y) of W_PV and the first d columns of W_KQ enter:
        y_hat = sum_j value_j score_j, over the M examples and the query token (x_query, 0).
        """
        x, y, x_query, _ = prompts
        d, M = x.shape[-1], x.shape[-2]
        refuse(
            self.W_KQ.shape[-1] != d + 1, f"weights of size {self.W_KQ.shape[-1]} need inputs of one entry less, and have {d}"
        )
        refuse(*unread(prompts))
        refuse(x.ndim < 3, f"a single prompt, x of shape {tuple(x.shape)}: give a batch, (B, M, d)")
        refuse(
            {self.W_PV.dtype, self.W_KQ.dtype} != {x.dtype},
            f"prompts are {x.dtype} and weights {self.W_PV.dtype} and {self.W_KQ.dtype}: give all in one, as W.to(x) does",
        )
        row, columns = self.W_PV[..., -1, :], self.W_KQ[..., :d]
        key = torch.einsum("...ij,...bj->...bi", columns, x_query)
        scores = torch.einsum("...bmd,...bd->...bm", x, key[..., :d]) + y * key[..., d:]
        values = torch.einsum("...bmd,...d->...bm", x, row[..., :d]) + y * row[..., None, d:]
        own_score = torch.einsum("...bd,...bd->...b", x_query, key[..., :d])
        own_value = torch.einsum("...bd,...d->...b", x_query, row[..., :d])
        return (torch.einsum("...bm,...bm->...b", values, scores) + own_value * own_score) / M
