"""zhang-random-covariance-limit: the conditional mean E[y_hat | x_query, w] of the trained model as N = M grows."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import MinLen

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    NotNegative,
    Several,
    expectation,
    near_misses,
    variable,
)
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import chunks
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import of_blocks
from papers.zhang.random_covariance import RandomDiagonalRegression
from papers.zhang.random_spectra import exponential, stacked_weights
from papers.zhang.theory import random_covariance as theory


@dataclass(frozen=True)
class RandomCovarianceLimit(Declaration):
    """Exp(1) variances; the prediction is bilinear in x_query and w, so unit vectors tell all of its mean.

    d       dimensions of inputs; lengths: training length and test length in one
    edges   of the bins of |<w, x_query>|; prompts: test prompts at each d and length
    """

    d: Several[AtLeastTwo]
    lengths: Several[Count]
    edges: Annotated[tuple[NotNegative, ...], MinLen(2)]
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if not all(low < high for low, high in pairwise(self.edges)):
            raise ValueError(f"the edges of the bins are {self.edges}: take them in rising order")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the mean prediction for a query of its own distribution, and for one with the covariance of its prompt."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        cells = [self._length(d, N, seed) for N in self.lengths]
        columns = {key: np.array([cell[key] for cell in cells]) for key in cells[0]}
        labels = {
            "mean": ("N task", "mean prediction at unit x_query and w, over all pairs of axes"),
            "mean_se": ("N task", "standard error"),
            "spread": ("N", "standard deviation of the prediction over its mean, at x_query = w = e_1"),
            "own": ("N bin", "mean prediction over <w, x_query>, query from the prompt's covariance"),
            "own_se": ("N bin", "standard error"),
        }
        data = {key: variable(dims, columns[key], name) for key, (dims, name) in labels.items()}
        return xr.Dataset(data, coords={"N": list(self.lengths), "task": ["along the query", "across"]})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the limit of the mean beside it, for both distributions of the query."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int) -> xr.Dataset:
        lengths, size = np.array(self.lengths), bin_means(np.array(self.edges))
        a, along = theory.exponential_A(d, lengths), np.array([1.0, 0.0])
        factor, middle = (
            theory.exponential_posterior_mean(each) for each in (size, np.convolve(self.edges, [0.5, 0.5], "valid"))
        )
        by_moments = np.array([theory.A_limit(theory.exponential_moments(np.ones(d)), N)[0, 0] for N in self.lengths])
        wrong = {
            "d + 4 for d + 5": theory.exponential_A(d - 1, lengths),
            "2d + 2 for d + 5": theory.exponential_A(2 * d - 3, lengths),
            "d + 2 for d + 5, a λ³/N dropped": theory.exponential_A(d - 3, lengths),
            "N + 1 for N": theory.exponential_A(d, lengths + 1),
        }
        line = np.geomspace(self.lengths[0], self.lengths[-1], 25)
        return dataset.assign(
            mean_theory=variable("N task", by_moments[:, None] * along, "<w, x_query> xi / gamma, of Theorem 4.5"),
            own_theory=variable("N bin", a[:, None] * factor, "(1/2 + |x|/sqrt 2) / (3 + (d + 5)/N), averaged over the bin"),
            mean_scale=variable("N", a, "1 / (3 + (d + 5)/N)"),
            mean_near=near_misses("N task", {label: b[:, None] * along for label, b in wrong.items()}),
            own_near=near_misses("N bin", {label: b[:, None] * factor for label, b in wrong.items()}),
            own_middle=variable("N bin", a[:, None] * middle, "the same with the middle of the bin for its mean |x|"),
            mean_se=of_blocks(dataset.mean_se, self.prompts),
            own_se=of_blocks(dataset.own_se, self.prompts // 10),  # every bin holds more than a tenth
            size=variable("bin", size, "mean |x| in the bin"),
            shrinkage_line=variable("N_line", theory.exponential_A(d, line), "1 / (3 + (d + 5)/N)"),
            shrinkage_limit=variable("", theory.exponential_A(d, np.inf), "its limit as N grows"),
        ).assign_coords(N_line=line)

    def _length(self, d: int, N: int, seed: int) -> dict:
        probes, queries = self._probes(d, N, seed)
        along = torch.einsum("jjb->jb", probes)
        across = (torch.einsum("ijb->b", probes) - along.sum(0)) / (d * (d - 1))
        estimate = mean(torch.stack([along.mean(0), across]))
        own = along.flatten()
        bins = torch.bucketize(queries.abs().flatten(), torch.tensor(self.edges, dtype=torch.float64)) - 1
        per_bin = [mean(own[bins == k]) for k in range(len(self.edges) - 1)]
        return {
            "mean": estimate.value,
            "mean_se": estimate.standard_error,
            "spread": float(probes[0, 0].std() / probes[0, 0].mean()),
            "own": [cell.value for cell in per_bin],
            "own_se": [cell.standard_error for cell in per_bin],
        }

    def _probes(self, d: int, N: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return y_hat at x_query = e_i, w = e_j, (d, d, prompts), and the queries the prompts came with."""
        spectrum, moments = exponential(np.ones(d))
        model = LinearSelfAttention(*(W[0] for W in stacked_weights([theory.A_limit(moments, N)])))
        law, generator = RandomDiagonalRegression(spectrum), stream(seed, f"limit/{d}/{N}")
        batches = [unit_probes(model, law.sample(generator, (size,), N)) for size in chunks(self.prompts, N + 1)]
        return torch.cat([p for p, _ in batches], dim=-1), torch.cat([q for _, q in batches], dim=-1)


def unit_probes(model: LinearSelfAttention, batch: Prompts) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the predictions on a batch for all unit queries and tasks, (d, d, B), and the batch's queries, (d, B)."""
    B, d = batch.x_query.shape
    units = torch.eye(d, dtype=torch.float64)
    labels = torch.einsum("bmj->jbm", batch.x)[None]
    queries = units[:, None, None, :].expand(d, 1, B, d)
    prompts = Prompts(batch.x[None, None], labels, queries, torch.zeros(d, d, B, dtype=torch.float64))
    return model(prompts), torch.einsum("bd->db", batch.x_query)


def bin_means(edges: np.ndarray) -> np.ndarray:
    """Return E[|x| | a < |x| < b] between neighbouring edges; |x| is exponential with rate sqrt(2)."""
    tail = np.exp(-np.sqrt(2) * edges)
    return (np.diff(-edges * tail) - np.diff(tail) / np.sqrt(2)) / -np.diff(tail)


_QUICK = RandomCovarianceLimit(d=(3, 6), lengths=(5, 10), edges=(0.0, 0.2, 0.5, 0.9, 1.4, 2.5), prompts=80_000)
RANDOM_COVARIANCE_LIMIT = Experiment(
    slug="zhang-random-covariance-limit",
    title="Mean prediction under random covariances",
    quick=_QUICK,
    full=replace(_QUICK, lengths=(10, 40, 320), prompts=200_000),
)
