"""lenses-which-vector: how far the vector of a trained network's answers is from those that theories name."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Experiment, Positive, Several, expectation, variable
from icl_lib.measure.estimate import mean
from icl_lib.models.linear_attention import LinearSelfAttention
from papers.ahn.theory import depth, wishart
from papers.dherin.trained import Training
from papers.dherin.trainings import ONE_BLOCK, PREFIX_ATTENTION
from papers.lenses.s4_what_is_left import parts
from papers.lenses.s4_what_is_left.asked import Asked
from papers.lenses.s4_what_is_left.contexts import isotropic, least_norm, ridge
from papers.lenses.s4_what_is_left.readers import CHUNK, RUNS, LinearReader, Reader, dimension, names, readers
from papers.regression.decoders import DecoderTraining
from papers.regression.spectra import stacked_limits
from papers.regression.trainings import FIXED

LINEAR = "linear attention"
ZHANG, POSTERIOR, TASK = "Zhang's step", "posterior mean", "the task"
COUNTED = ("one", "two", "three", "four", "five")


@dataclass(frozen=True)
class WhichVector(Asked):
    """Networks as in training, and linear self-attention at the limit of its training, on contexts of their own.

    blocks, decoders   trainings, three networks of each; linear attention is that for the prompts of the last decoder
    steps              numbers of best steps that are the same for all contexts
    penalties          of ridge
    read               contexts from which the length of a block's step is read, as in its training; of blocks trained at one
                       length

    Shared stream: weights: blocks and decoders are trained each for themselves, as for the pages that ship them.
    Shared stream: data/#: the same.
    """

    steps: Several[Count]
    penalties: Several[Positive]
    read: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if max(self.steps) > len(COUNTED):
            raise ValueError(f"{max(self.steps)} steps: take at most {len(COUNTED)}, beyond which the moments lose digits")

    @property
    def candidates(self) -> list[str]:
        """The names of the vectors."""
        best = [f"{COUNTED[L - 1]} best step{'s' if L > 1 else ''}" for L in self.steps]
        return [ZHANG, *best, *(f"ridge {penalty:g}" for penalty in self.penalties), POSTERIOR, TASK]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Estimate the squared distance of each network's vector from each candidate, over d = E|w|^2, and blocks' steps."""
        found = [self._training(each, readers(each, seed, device), each.name, seed) for each in self.trainings]
        lengths = np.array([self._lengths(each, readers(each, seed, device), seed) for each in self._single])
        last = self.decoders[-1]
        limit = LinearReader(LinearSelfAttention(*(each[0] for each in stacked_limits(np.eye(last.d), (last.N,)))))
        table = np.array([*found, self._training(last, [limit] * RUNS, LINEAR, seed)])
        told = "squared distance of the answers' vector from a candidate, over E|w|^2"
        columns = {
            "distance": variable("network seed k candidate", table[..., 0], told),
            "distance_se": variable("network seed k candidate", table[..., 1], "standard error over contexts"),
            "length": variable("block seed", lengths[..., 0], "step size that fits the answers best"),
            "length_se": variable("block seed", lengths[..., 1], "standard error over contexts"),
        }
        coords = {"network": [*names(*self.trainings), LINEAR], "k": list(self.k), "candidate": self.candidates}
        coords["block"] = names(*self._single)
        return xr.Dataset(columns, coords=coords)

    @property
    def _single(self) -> list[Training]:
        return [each for each in self.blocks if not each.every_prefix]

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the step size of Zhang et al. beside those of blocks, and a step that shrinks nothing."""
        sizes = [best_steps(dimension(each), each.N, 1)[0] for each in self._single]
        return dataset.assign(
            length_theory=variable("block", sizes, "step size of Zhang et al., N/(N + d + 1)"),
            length_whole=variable("block", np.ones(len(sizes)), "without d + 1"),
        )

    def _lengths(self, training: Training, found: list[Reader], seed: int) -> list[tuple[float, float]]:
        """Return a and its standard error, for each network: a <h, x> fits its answers best, h the gradient step of size 1."""
        told = []
        for s, reader in enumerate(found):
            role = f"which vector/{training.name}/{s}/length"
            _, x, y, queries = isotropic(seed, role, (self.read, training.N, self.queries), dimension(training))
            batches = ((x[i : i + CHUNK], y[i : i + CHUNK], queries[i : i + CHUNK]) for i in range(0, self.read, CHUNK))
            t = torch.cat([reader.read(*each, training.N).output for each in batches])
            step = torch.einsum("bqd,bd->bq", queries, torch.einsum("bkd,bk->bd", x, y) / training.N)
            product, square = (t * step).mean(-1), (step * step).mean(-1)
            a = product.mean() / square.mean()
            told.append((float(a), float(mean(product - a * square).standard_error / square.mean())))
        return told

    def _training(self, training: Training | DecoderTraining, found: list[Reader], name: str, seed: int) -> np.ndarray:
        return np.array([self._network(each, training, f"which vector/{name}/{s}", seed) for s, each in enumerate(found)])

    def _network(self, reader: Reader, training: Training | DecoderTraining, role: str, seed: int) -> np.ndarray:
        d = dimension(training)
        drawn = isotropic(seed, role, (self.contexts, training.N, self.queries), d)
        found, metric = np.full((len(self.k), len(self.candidates), 2), np.nan), torch.eye(d, dtype=drawn.x.dtype)
        for place, k in enumerate(self.k):
            if k > training.N:
                continue
            x, y = drawn.first(k)
            asked = (x, y, drawn.queries)
            t = torch.cat([reader.read(*(part[i : i + CHUNK] for part in asked), k).output for i in range(0, len(x), CHUNK)])
            far = [parts.distance(t, drawn.queries, c, metric) / d for c in (*self._vectors(x, y, training.N), drawn.w)]
            found[place] = np.stack(mean(torch.stack(far)), -1)
        return found

    def _vectors(self, x: Float[Tensor, "B k d"], y: Float[Tensor, "B k"], N: int) -> list[Float[Tensor, "B d"]]:
        """Return the candidates that a context of k examples has, but for the task."""
        k, d = x.shape[1:]
        steps = [best_steps(d, N, 1), *(best_steps(d, k, L) for L in self.steps)]
        found = [descended(x, y, sizes) for sizes in steps]
        return [*found, *(ridge(x, y, penalty) for penalty in self.penalties), least_norm(x, y)]


def best_steps(d: int, k: int, L: int) -> Float[np.ndarray, "L"]:
    """Return the sizes of the best L steps on k examples."""
    return depth.step_sizes(wishart.moments(d, k, 2 * L), L)


def descended(x: Float[Tensor, "B k d"], y: Float[Tensor, "B k"], steps: np.ndarray) -> Float[Tensor, "B d"]:
    """Return w after gradient steps of these sizes from 0 on (1/2k) sum (<w, x_i> - y_i)^2."""
    w = torch.zeros_like(x[:, 0])
    for step in steps.tolist():
        w = w + step * torch.einsum("bkd,bk->bd", x, y - torch.einsum("bkd,bd->bk", x, w)) / x.shape[1]
    return w


_QUICK = WhichVector(
    blocks=(ONE_BLOCK, PREFIX_ATTENTION),
    decoders=(FIXED[0], FIXED[2]),
    k=(1, 2, 3, 5, 10, 20, 50, 100),
    steps=(1, 2, 3),
    penalties=(0.01, 0.1, 1.0),
    contexts=40,
    queries=32,
    read=800,
)
WHICH_VECTOR = Experiment(
    slug="lenses-which-vector",
    title="The vector of trained networks, beside those of theories",
    quick=_QUICK,
    full=replace(_QUICK, contexts=1000, queries=64, read=2000),
)
