"""ahn-free-features: layers that change the features too, fitted to many contexts, on new prompts and on all prompts."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Le
from jaxtyping import Float
from scipy.optimize import minimize

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.measure.risk import chunks
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.ahn import layers, published
from papers.ahn.theory import depth, free_features, wishart
from papers.regression import shapes

WHICH = ("fitted", "least")
"""Numbers fitted to contexts, and those of the least mean over all prompts."""


@dataclass(frozen=True)
class FreeFeatures(Declaration):
    """Layers x <- x + p S_l x beside the step a in the labels; inputs and tasks N(0, I).

    d, N               dimensions and examples
    layers             numbers of layers, 2 or 3; L of them have L step sizes and L - 1 numbers for the features
    starts             descents for each
    contexts           to which numbers are fitted
    batches            of new prompts
    prompts            of a batch, each with a task and a query
    small_d, small_N   shapes in which two layers are read on all tasks and queries of a context and on all its sizes, so that
                       the mean over all prompts is measured; tried: contexts of each

    One size: L, l: with one layer no feature is read, and with three no number of prompts shows the mean of degree 26.
    """

    d: AtLeastTwo
    N: AtLeastTwo
    layers: Several[Annotated[int, Ge(2), Le(3)]]
    starts: Count
    contexts: AtLeastTwo
    batches: AtLeastTwo
    prompts: AtLeastTwo
    small_d: Several[AtLeastTwo]
    small_N: Several[AtLeastTwo]
    tried: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(small_d=self.small_d, small_N=self.small_N)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit to contexts, and to the mean over all prompts; then measure both on new prompts."""
        covariances = [layers.covariance(x) for x in layers.examples(seed, "free/fit", self.contexts, self.N, self.d)]
        spectra = torch.linalg.eigvalsh(torch.cat(covariances)).numpy().ravel()
        numbers = []
        for L in self.layers:
            rules = sampled_rule(spectra, free_features.degree(L) + 1), free_features.rule(self.d, self.N, L)
            numbers.append([self._descended(seed, f"{L}/{name}", L, *rule) for name, rule in zip(WHICH, rules, strict=True)])
        batches = np.stack([self._batch(seed, k, [each for row in numbers for each in row]) for k in range(self.batches)], -1)
        size, most = (len(self.layers), 2), max(self.layers)
        told = [[np.concatenate([np.pad(each, (0, most - len(each))) for each in pair]) for pair in row] for row in numbers]
        columns = {
            "numbers": variable("layers which entry", told, "step sizes, then by what features are changed"),
            "batch": variable(
                "layers which draw", np.reshape(batches, (*size, -1)), "squared error on new prompts, a batch each"
            ),
        }
        small = [self._two(seed, *pair) for pair in self._small]
        columns |= {
            "pair": variable("shape entry_of_two", [each for each, _ in small], "numbers of two layers, as above"),
            "two": variable("shape", [each.value for _, each in small], "squared error of two layers, mean over prompts"),
            "two_se": variable("shape", [each.standard_error for _, each in small], "standard error"),
        }
        columns["two_se"].attrs["blocks"] = self.tried
        told = {"shape": shapes.told(d=self.small_d, N=self.small_N)}
        return xr.Dataset(columns, coords={"layers": list(self.layers), "which": list(WHICH), **told})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the mean over all prompts beside it, that of layers that change labels only, and what was printed."""
        found = [[self._over_all(each, L) for each in row] for row, L in zip(dataset.numbers.values, self.layers, strict=True)]
        labels = [self.d * depth.least_error(wishart.moments(self.d, self.N, 2 * L), L) for L in self.layers]
        printed = np.mean(published.MEDIANS) if self._as_published else np.nan
        return dataset.assign(
            whole=variable("layers which", found, "squared error, mean over all prompts"),
            typical=dataset.batch.median("draw").assign_attrs(long_name="median over batches", units="1"),
            labels=variable("layers", labels, "least squared error of layers that change labels only"),
            two_theory=variable("shape", self._near(dataset, 0, 0), "mean over all prompts, by exact moments"),
            two_near=near_misses(
                "shape", {"N + 1 for N": self._near(dataset, 0, 1), "d - 1 for d": self._near(dataset, -1, 0)}
            ),
            printed=variable("layers", [printed if published.SHAPE["layers"] == L else np.nan for L in self.layers], "printed"),
        )

    @expectation
    def _near(self, dataset: xr.Dataset, more_d: int, more_N: int) -> list[float]:
        """Return the mean over all prompts of the pairs of layers, with contexts of so much more dimensions and examples."""
        numbers = zip(dataset.pair.values, self._small, strict=True)
        return [free_features.loss(each[2:], each[:2], d + more_d, N + more_N) * d / (d + more_d) for each, (d, N) in numbers]

    @property
    def _small(self) -> list[tuple[int, int]]:
        return list(zip(self.small_d, self.small_N, strict=True))

    def _two(self, seed: int, d: int, N: int) -> tuple[Float[np.ndarray, "3"], Estimate]:
        """Return the numbers of least mean of two layers, and that mean over all tasks, queries and sizes of contexts."""
        a, p = self._descended(seed, f"two/{d}/{N}", 2, *free_features.rule(d, N, 2))
        one, errors, numbers = torch.eye(d, dtype=torch.float64), [], (torch.tensor([*p, 0.0]), torch.tensor(a))
        sizes = list(zip(*layers.sizes(N * d / 2, free_features.degree(2) + 1), strict=True))
        drawn = torch.cat([*layers.examples(seed, f"free/two/{d}/{N}", self.tried, N, d)])
        for shape in layers.of_size_1(drawn).split(1000):
            w, query = (each.repeat(len(shape), 1) for each in (one.repeat_interleave(d, 0), one.repeat(d, 1)))
            found = 0
            for size, weight in sizes:
                x = ((2 * size) ** 0.5 * shape).repeat_interleave(d * d, 0)
                y = torch.einsum("bnd,bd->bn", x, w)
                off = layers.answers_of_free_features(*numbers, x, y, query) - (query * w).sum(-1)
                found = found + weight * off.square().reshape(len(shape), -1).sum(-1)
            errors.append(found)
        return np.r_[a, p], mean(torch.cat(errors))

    @property
    def _as_published(self) -> bool:
        return (self.d, self.N) == (published.SHAPE["d"], published.SHAPE["N"])

    @expectation
    def _over_all(self, numbers: Float[np.ndarray, "n"], L: int) -> float:
        most = max(self.layers)
        return free_features.loss(numbers[most : most + L - 1], numbers[:L], self.d, self.N)

    def _descended(self, seed: int, role: str, L: int, nodes, weights) -> tuple[np.ndarray, np.ndarray]:
        """Return step sizes and changes of the features where the best of many descents ends, of the logarithm of the loss."""

        def loss(numbers: Float[np.ndarray, "n"]) -> float:
            return float(np.log(weights @ free_features.left(numbers[L:], numbers[:L], nodes) ** 2))

        drawn = normal(stream(seed, f"free/starts/{role}"), (self.starts, 2 * L - 1), ONE).numpy()
        grown = 3.0 ** np.r_[range(L), range(L - 1)] * np.r_[np.full(L, 0.5), np.full(L - 1, -0.3)]
        ends = [minimize(loss, grown * np.exp(0.5 * each), method="BFGS", options={"gtol": 1e-7}) for each in drawn]
        best = min(ends, key=lambda end: end.fun).x
        return best[:L], best[L:]

    def _batch(self, seed: int, k: int, numbers: list[tuple[np.ndarray, np.ndarray]]) -> Float[np.ndarray, "n"]:
        """Return the squared error of several layers on one batch of new prompts, drawn in parts that fit the cache."""
        generator, errors = stream(seed, f"free/batch/{k}"), []
        for B in chunks(self.prompts, 2 * self.N):
            x = normal(generator, (B, self.N, self.d), ONE)
            w, query = (normal(generator, (B, self.d), ONE) for _ in range(2))
            y, target = torch.einsum("bnd,bd->bn", x, w), (query * w).sum(-1)
            changes = [(torch.tensor([*p, 0.0]), torch.tensor(a)) for a, p in numbers]
            found = [layers.answers_of_free_features(p, a, x, y, query) - target for p, a in changes]
            errors.append(torch.stack(found).square())
        return torch.cat(errors, -1).mean(-1).numpy()


ONE = torch.zeros((), dtype=torch.float64)


def sampled_rule(values: Float[np.ndarray, "M"], n: int) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Return n nodes and weights with the sample's mean of every polynomial of degree 2n - 1, by Stieltjes' procedure."""
    alpha, sizes, beta, before, now = [], [1.0], [], np.zeros_like(values), np.ones_like(values)
    for k in range(n):
        sizes.append((now**2).mean())
        beta.append(sizes[-1] / sizes[-2])
        alpha.append((values * now**2).mean() / sizes[-1])
        before, now = now, (values - alpha[-1]) * now - (beta[-1] if k else 0.0) * before
    return wishart.gauss_rule(np.array(alpha), np.array(beta))


_QUICK = FreeFeatures(
    d=5,
    N=20,
    layers=(2, 3),
    starts=16,
    contexts=60_000,
    batches=5,
    prompts=20_000,
    small_d=(3, 4),
    small_N=(12, 20),
    tried=2000,
)
FREE_FEATURES = Experiment(
    slug="ahn-free-features",
    title="What new prompts show of a mean over all prompts",
    quick=_QUICK,
    full=replace(_QUICK, starts=60, contexts=200_000, batches=120, tried=40_000),
)
