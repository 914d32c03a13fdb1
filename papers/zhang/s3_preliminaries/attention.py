"""zhang-attention: which entries of linear self-attention matter, and its rescaling (section 3.2)."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
import xarray as xr
from annotated_types import Gt
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Positive, Several, variable
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance, standard_normal


@dataclass(frozen=True)
class Attention(Declaration):
    """Dense random weights, ``weights`` pairs a dimension, on ``prompts`` prompts a pair and length.

    d         dimensions of inputs; M: prompt lengths; kappa: condition number of the covariance
    weights   pairs (W_PV, W_KQ) of each dimension and length; prompts: of each pair
    scale     factor c of the rescaling
    """

    d: Several[Count]
    M: Several[Count]
    kappa: Positive
    weights: Count
    prompts: Count
    scale: Annotated[float, Gt(1)]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compare the layer as printed with what should change nothing, and with what should."""
        cells = [[self._cell(d, M, seed) for M in self.M] for d in self.d]
        titles = {
            "query_row": "query row against the layer as printed",
            "dead_entries": "all other entries drawn anew",
            "rescaling": "weights rescaled by c and 1/c",
            "query_row_without_own_token": "query row that omits the query's own token",
            "live_entries": "the last row of the first d columns of W_KQ drawn anew too",
            "rescaling_one_sided": "both weights rescaled by c",
        }
        differences = {name: [[cell[name] for cell in row] for row in cells] for name in titles}
        return xr.Dataset(
            {name: variable("d M", differences[name], f"relative change of y_hat: {titles[name]}") for name in titles},
            coords={"d": list(self.d), "M": list(self.M)},
        )

    def _cell(self, d: int, M: int, seed: int) -> dict[str, float]:
        role = f"attention/{d}/{M}"
        W_PV, W_KQ, other_PV, other_KQ = dense_weights(4, self.weights, d, seed, role)
        covariance = torch.tensor(geometric_covariance(d, self.kappa, seed))
        prompts = LinearRegression(covariance).sample(stream(seed, role), (self.weights, self.prompts), M)
        E = embed(prompts)
        y_hat = printed(W_PV, W_KQ, E)
        row_PV = torch.cat([other_PV[..., :-1, :], W_PV[..., -1:, :]], dim=-2)
        columns_KQ = torch.cat([W_KQ[..., :d], other_KQ[..., d:]], dim=-1)
        top_KQ = torch.cat([columns_KQ[..., :-1, :], other_KQ[..., -1:, :]], dim=-2)
        fast, c = LinearSelfAttention(W_PV, W_KQ)(prompts), self.scale
        changed = {
            "query_row": fast,
            "dead_entries": printed(row_PV, columns_KQ, E),
            "rescaling": printed(c * W_PV, W_KQ / c, E),
            "query_row_without_own_token": fast - own_token(W_PV, W_KQ, prompts),
            "live_entries": printed(row_PV, top_KQ, E),
            "rescaling_one_sided": printed(c * W_PV, c * W_KQ, E),
        }
        return {name: float((other - y_hat).abs().max() / y_hat.abs().max()) for name, other in changed.items()}


def dense_weights(count: int, S: int, d: int, seed: int, role: str) -> Tensor:
    """Draw ``count`` stacks of S dense (d+1, d+1) matrices with standard normal entries."""
    return torch.tensor(standard_normal((count, S, d + 1, d + 1), seed, f"{role}/weights"))


def printed(W_PV: Tensor, W_KQ: Tensor, E: Tensor) -> Tensor:
    """Return y_hat = [f_LSA(E)]_{d+1, M+1} from the whole layer as printed."""
    return LinearSelfAttention(W_PV, W_KQ).tokens(E)[..., -1, -1]


def own_token(W_PV: Tensor, W_KQ: Tensor, prompts: Prompts) -> Tensor:
    """Return what the query's own token adds to y_hat: (w_21_PV . x_query)(x_query^T W_11_KQ x_query) / M."""
    x, d = prompts.x_query, prompts.x_query.shape[-1]
    value = torch.einsum("sd,sbd->sb", W_PV[:, -1, :d], x)
    score = torch.einsum("sbi,sij,sbj->sb", x, W_KQ[:, :d, :d], x)
    return value * score / prompts.x.shape[-2]


_QUICK = Attention(d=(1, 2, 5, 20), M=(1, 4, 40), kappa=10.0, weights=4, prompts=50, scale=7.0)
ATTENTION = Experiment(
    slug="zhang-attention",
    title="The entries that matter",
    section="3.2",
    quick=_QUICK,
    full=replace(_QUICK, M=(1, 4, 40, 100), weights=10),
)
