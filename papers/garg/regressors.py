"""Regressors of one prompt beyond one matrix product: nearest neighbours, the Lasso, the Bayes predictor of sparse tasks."""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts

LASSO_SWEEPS = 100_000
"""Sweeps of coordinate descent at most; scikit-learn warns when they do not suffice."""


@dataclass(frozen=True)
class NeighbourAverage:
    """The mean label of the ``neighbours`` examples nearest to the query in Euclidean distance, of all when there are fewer."""

    neighbours: int

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the predictions; raises ValueError without a neighbour."""
        if self.neighbours < 1:
            raise ValueError(f"neighbours = {self.neighbours}: take at least 1")
        distance = (prompts.x - prompts.x_query[..., None, :]).square().sum(-1)
        nearest = distance.topk(min(self.neighbours, distance.shape[-1]), dim=-1, largest=False).indices
        return torch.take_along_dim(prompts.y, nearest, -1).mean(-1)


@dataclass(frozen=True)
class LassoPath:
    """w_hat = argmin |y - X w|^2/(2M) + penalty |w|_1, no intercept, for P penalties from the largest down (scikit-learn)."""

    penalties: tuple[float, ...]

    def __call__(self, prompts: Prompts) -> Float[Tensor, "P B"]:
        """Return the predictions on (B, M, d) prompts for each penalty; raises ValueError unless positive and never rising."""
        from sklearn import config_context, linear_model  # over a second, which all but this class do without

        if not self.penalties or min(self.penalties) <= 0 or list(self.penalties) != sorted(self.penalties, reverse=True):
            raise ValueError(f"penalties {self.penalties}: take positive ones, the largest first")
        with config_context(assume_finite=True, skip_parameter_validation=True):
            paths = [
                linear_model.lasso_path(X, y, alphas=list(self.penalties), max_iter=LASSO_SWEEPS)[1]
                for X, y in zip(prompts.x.double().numpy(), prompts.y.double().numpy(), strict=True)
            ]
        return torch.einsum("bdp,bd->pb", torch.from_numpy(np.stack(paths)).to(prompts.y), prompts.x_query)


@dataclass(frozen=True)
class SparseBayes:
    """The posterior mean of <w, x_query> from noiseless labels: ``sparsity`` entries of w, uniformly chosen, are N(0, 1).

    With M <= sparsity examples every support S explains the labels: its weight is the density of y under N(0, X_S X_S^T),
    and E[w_S | S, y] = X_S^+ y. With more, exactly one support does, almost surely: that of the least residual.
    """

    sparsity: int

    def __call__(self, prompts: Prompts) -> Float[Tensor, "B"]:
        """Return the predictions on (B, M, d) prompts; raises ValueError unless 1 <= sparsity <= d."""
        (M, d), s = prompts.x.shape[-2:], self.sparsity
        if not 1 <= s <= d:
            raise ValueError(f"{s} entries of {d}: take 1 <= sparsity <= {d}")
        if M == 0:
            return torch.zeros_like(prompts.y_query)
        supports = torch.tensor(list(itertools.combinations(range(d), s)))
        x, x_query = prompts.x[:, :, supports].movedim(2, 1), prompts.x_query[:, supports]
        predictions, evidence = (_before if s >= M else _beyond)(x, prompts.y[:, None, :], x_query)
        return torch.einsum("bs,bs->b", evidence.softmax(-1), predictions)


def _before(x: Float[Tensor, "B S M s"], y: Float[Tensor, "B 1 M"], x_query: Float[Tensor, "B S s"]) -> tuple[Tensor, Tensor]:
    """Return the prediction on each support and its log evidence, M <= s."""
    gram = torch.einsum("bsmi,bsni->bsmn", x, x)
    dual = torch.linalg.solve(gram, y.expand(*gram.shape[:-1])[..., None])[..., 0]
    evidence = -0.5 * (torch.einsum("bsm,bsm->bs", y.expand_as(dual), dual) + gram.logdet())
    return torch.einsum("bsmi,bsm,bsi->bs", x, dual, x_query), evidence


def _beyond(x: Float[Tensor, "B S M s"], y: Float[Tensor, "B 1 M"], x_query: Float[Tensor, "B S s"]) -> tuple[Tensor, Tensor]:
    """Return the prediction on each support, and 0 for the support of the least residual and -inf for the others, M > s."""
    gram, moment = torch.einsum("bsmi,bsmj->bsij", x, x), torch.einsum("bsmi,bsm->bsi", x, y.expand(*x.shape[:3]))
    w = torch.linalg.solve(gram, moment[..., None])[..., 0]
    residual = (torch.einsum("bsmi,bsi->bsm", x, w) - y).square().sum(-1)
    evidence = torch.full_like(residual, -torch.inf).scatter(-1, residual.argmin(-1, keepdim=True), 0.0)
    return torch.einsum("bsi,bsi->bs", w, x_query), evidence
