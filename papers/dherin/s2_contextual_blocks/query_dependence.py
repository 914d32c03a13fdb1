"""dherin-query-dependence: the update of one context for many queries, and what it does to a query it was not made for."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
    variables,
)
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.distance import relative
from papers.dherin.network import Network
from papers.dherin.s2_contextual_blocks.random_blocks import LIKE, state
from papers.dherin.theory import contextual_blocks
from papers.dherin.trained import OneBlock, Training, regression, tokens, trained
from papers.dherin.trainings import ONE_BLOCK

KINDS = ("trained", "random")
EDGES = np.linspace(-1, 1, 21)
"""Bins of the cosine between two updates."""


@dataclass(frozen=True)
class QueryDependence(Declaration):
    """Trained networks of one block and as many random ones of the same shape; Y = C.

    contexts     of N examples; queries: drawn from N(0, I_d) for each context
    spread       the near queries of the control are one query plus this times N(0, I_d)
    lengths      of contexts on which ``drawn`` random networks of the same shape are compared with cos(x_i, x_j)^2
    drawn        random networks for each of ``lengths`` and of ``dimensions``
    dimensions   of inputs for which as many random networks are drawn, else of the same shape
    """

    training: Training
    contexts: AtLeastTwo
    queries: AtLeastTwo
    spread: Positive
    lengths: Several[Count]
    drawn: AtLeastTwo
    dimensions: Several[AtLeastTwo]

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.training.model, OneBlock) or self.training.model.d < 2:
            raise ValueError("the comparison needs a training of one block without skips, and d of 2 or more")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Make the update of every query, and try each on all others."""
        models = trained(self.training, seed, device)
        random = models.network.start(stream(seed, "query dependence/weights"), (models.replicates,), LIKE)
        sources = {
            "trained": [models.replicate(s) for s in range(models.replicates)],
            "random": [{name: w[s] for name, w in random.items()} for s in range(models.replicates)],
        }
        prompts, near = self._prompts(seed, "query dependence")
        found = [[self._one_network(models.network, each, prompts, near) for each in sources[kind]] for kind in KINDS]
        columns = variables(NAMES, found, "kind replicate {}")
        text = "mean over pairs and contexts of the cosine of two updates minus cos(x_i, x_j)^2, random networks"
        shorter = [replace(self, training=replace(self.training, N=N)) for N in self.lengths]
        columns["excess"] = variable("N drawn", [np.subtract(*each._drawn(seed)) for each in shorter], text)
        model, text = self.training.model, "mean over pairs and contexts of the cosine of two updates, random networks"
        others = [replace(self, training=replace(self.training, model=replace(model, d=d))) for d in self.dimensions]
        columns["cosine_drawn"] = variable("d drawn", [each._drawn(seed)[0] for each in others], text)
        coords = {"kind": list(KINDS), "cosine_bin": (EDGES[1:] + EDGES[:-1]) / 2, "N": list(self.lengths)}
        coords["d"] = list(self.dimensions)
        return xr.Dataset(columns, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the distribution of cos(x_i, x_j)^2 beside the cosines."""
        d, text = self.training.model.d, "share of the pairs in a bin if the cosine is cos(x_i, x_j)^2"
        shares = [contextual_blocks.aligned_share(*edges, d) for edges in zip(EDGES[:-1], EDGES[1:], strict=True)]
        return dataset.assign(
            share_theory=variable("cosine_bin", shares, text),
            cosine_theory=variable("", 1 / d, "mean of cos(x_i, x_j)^2"),
            cosine_drawn_theory=variable("d", [1 / each for each in self.dimensions], "mean of cos(x_i, x_j)^2"),
            cosine_near=near_misses("", {label: wrong(d) for label, wrong in MISTAKES.items()}),
            cosine_drawn_near=near_misses("d", {label: [*map(wrong, self.dimensions)] for label, wrong in MISTAKES.items()}),
        )

    def _drawn(self, seed: int) -> Float[np.ndarray, "2 drawn"]:
        """Return the mean cosine in each random network, by the cosines of columns and of rows, and the mean cos^2."""
        network, found = self.training.model.network(), []
        role = f"query dependence/d={self.training.model.d}, N={self.training.N}"
        weights = network.start(stream(seed, f"{role}/drawn"), (self.drawn,), LIKE)
        i, j = np.triu_indices(self.queries, 1)
        for s in range(self.drawn):  # each with prompts of its own: so their readings are independent
            prompts = self._prompts(seed, f"{role}/{s}")[0]
            x = prompts[..., -1, :-1]
            (block,) = network.blocks({name: weight[s] for name, weight in weights.items()})
            a, full = reads(network, block, prompts)
            both = cosines(a) * cosines(torch.einsum("mn,ckn->ckm", block["W"], full - a))
            found.append([each[:, i, j].mean() for each in (both, cosines(x) ** 2)])
        return np.array(found).T

    def _prompts(self, seed: int, role: str) -> tuple[Float[Tensor, "c k T n"], Float[Tensor, "c k T n"]]:
        """Return every context with every query, and with queries that lie close together."""
        d, shape = self.training.model.d, (self.contexts, self.queries)
        one = tokens(regression(d).sample(stream(seed, f"{role}/contexts"), (self.contexts,), self.training.N))
        queries = normal(stream(seed, f"{role}/queries"), (*shape, d), LIKE)
        sequences = one[:, None].repeat(1, self.queries, 1, 1)
        near = sequences.clone()
        sequences[..., -1, :-1] = queries
        near[..., -1, :-1] += self.spread * queries
        return sequences, near

    def _one_network(self, network: Network, weights: Weights, prompts: Tensor, near: Tensor) -> dict[str, np.ndarray]:
        (block,), i, j = network.blocks(weights), *np.triu_indices(self.queries, 1)
        a, full = reads(network, block, prompts)
        update = redirection(block["W"], a, full)
        cosine, one = cosines(update), cosines(redirection(block["W"], *reads(network, block, near)))
        columns = torch.einsum("mn,ckn->ckm", block["W"], full - a)
        pairs, by_columns = cosine[:, i, j], cosines(columns)[0, i, j]
        theory = by_theory(columns[0].numpy(), a[0].numpy())[i, j]
        own, swapped, bare = predictions(network, block, update, a, full)
        miss = np.maximum(swapped[:, i, j], swapped[:, j, i])
        bins = np.digitize(pairs, EDGES[1:-1])
        return {
            "cosine": pairs.mean(-1),
            "cosine_least": pairs.min(-1),
            "cosine_of_near": one[:, i, j].mean(-1),
            "cosine_gap": abs(pairs[0] - theory).max(),
            "cosine_gap_columns": abs(by_columns - theory).max(),
            "pairs": np.bincount(bins.ravel(), minlength=20),
            "miss": np.array([np.median(miss[bins == b]) if (bins == b).any() else np.nan for b in range(20)]),
            "error_own": own.max(-1),
            "error_swapped": median_of_others(swapped),
            "error_bare": np.median(bare, -1),
            "miss_bare": np.median(np.maximum(bare[:, i], bare[:, j])),
        }


def reads(network: Network, block: Weights, prompts: Tensor) -> tuple[Float[Tensor, "c k n"], Float[Tensor, "c k n"]]:
    """Return A(x) and A(C, x)."""
    layer = network.block.joint.layer
    return layer(block, prompts[..., -1:, :]), layer(block, prompts)


def cosines(things: Float[Tensor, "c k ..."]) -> Float[np.ndarray, "c k k"]:
    """Return the cosines between the things of each context, vectors or matrices."""
    flat = things.flatten(2)
    flat = flat / flat.norm(dim=-1, keepdim=True)
    return torch.einsum("cis,cjs->cij", flat, flat).numpy()


def by_theory(columns: Float[np.ndarray, "k m"], a: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "k k"]:
    """Return the cosines between the updates of one context by the formula."""
    factors = list(zip(columns, a, strict=True))
    return np.array([[contextual_blocks.update_cosine((c, e), (r, s)) for e, s in factors] for c, r in factors])


def predictions(network: Network, block: Weights, update: Tensor, a: Tensor, full: Tensor) -> list[np.ndarray]:
    """Return relative errors: of the output with a query's own update, of predictions with each other's, and with none.

    The second is (context, update of i, query j).
    """
    mlp = network.block.feed_forward
    changed = block | {"W": block["W"] + update}
    expected, bare = (mlp(block, state(z, mlp.outputs).z)[..., 0, :] for z in (full, a))
    own = mlp(changed, state(a, mlp.outputs).z)[..., 0, :]
    every = mlp(changed, a[:, None])[..., -1]
    label = expected[..., -1]
    swapped = (every - label[:, None]).abs() / label[:, None].abs()
    return [relative(own, expected).numpy(), swapped.numpy(), ((bare[..., -1] - label).abs() / label.abs()).numpy()]


def median_of_others(swapped: Float[np.ndarray, "c k k"]) -> Float[np.ndarray, "c"]:
    """Return the median over all pairs of an update and another query."""
    others = ~np.eye(swapped.shape[-1], dtype=bool)
    return np.median(swapped[:, others], -1)


MISTAKES = {
    "1/(d + 1) for 1/d": lambda d: 1 / (d + 1),
    "2/(d + 2) for 1/d": lambda d: 2 / (d + 2),
    "1/√(d + 2) for 1/d": lambda d: 1 / (d + 2) ** 0.5,
}
"""Near misses of the mean of cos^2; the last two are equal to it at d = 2."""
NAMES = {
    "cosine": ("context", "mean cosine between the updates of two queries"),
    "cosine_least": ("context", "least cosine between the updates of two queries"),
    "cosine_of_near": ("context", "mean cosine between the updates of near queries"),
    "cosine_gap": ("", "first context: largest distance of a cosine from the product of those of columns and rows"),
    "cosine_gap_columns": ("", "first context: largest distance of the columns' cosine from the product"),
    "pairs": ("cosine_bin", "pairs of queries by the cosine of their updates"),
    "miss": ("cosine_bin", "median over these pairs of the relative error with the other's update, the worse of the two"),
    "miss_bare": ("", "median over all pairs of the relative error of the prediction without a patch, the worse of the two"),
    "error_own": ("context", "largest relative error of the output with the query's own update"),
    "error_swapped": ("context", "median relative error of the prediction with another query's update"),
    "error_bare": ("context", "median relative error of the prediction without a patch"),
}

_QUICK = QueryDependence(
    training=ONE_BLOCK, contexts=10, queries=30, spread=0.01, lengths=(25, 400), drawn=12, dimensions=(3, 6)
)
QUERY_DEPENDENCE = Experiment(
    slug="dherin-query-dependence",
    title="One context, many queries, as many updates",
    quick=_QUICK,
    full=replace(_QUICK, contexts=16, queries=100),
)
