"""lenses-any-prior: the risk of trained networks as a sum of three parts, under priors and queries not of their training."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import mean
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.trained import Training
from papers.dherin.trainings import ONE_BLOCK
from papers.lenses.s4_what_is_left import parts
from papers.lenses.s4_what_is_left.contexts import LIKE, Contexts, among, isotropic, least_norm, ridge
from papers.lenses.s4_what_is_left.readers import CHUNK, Reader, dimension, names, readers
from papers.lenses.theory import what_is_left as left
from papers.regression.decoders import DecoderTraining
from papers.regression.spectra import geometric_covariance
from papers.regression.trainings import FIXED

CLEAN, NOISY, FEW = "Gaussian tasks, no noise", "Gaussian tasks, noise", "few tasks, noise"
PRIORS = (CLEAN, NOISY, FEW)
NAMES = {
    "risk": "squared error at fresh queries",
    "bayes": "squared error of the posterior mean",
    "curved": "mean square of what is not linear in the query",
    "missed": "squared distance of the answers' vector from the posterior mean",
    "missed_task": "squared distance of the answers' vector from the task",
    "missed_square": "squared distance of the answers from the posterior mean's",
    "missed_plain": "squared distance from the posterior mean, pairs of one query left in",
}
MISSES = {
    "the task for its posterior mean": "missed_task",
    "answers for their linear part": "missed_square",
    "the scatter of queries left in": "missed_plain",
}


@dataclass(frozen=True)
class AnyPrior(Declaration):
    """Contexts with inputs from N(0, I), tasks of three priors, and queries from a covariance that is not I.

    block, decoder   trainings; the first network of each is asked
    k                examples
    noise            standard deviation of the labels' noise where there is any; tasks: of the prior of few
    kappa            condition number of the covariance of queries, whose trace is d
    contexts         of each prior, for the block and for the decoder
    queries          of each context

    Shared stream: weights: blocks and decoders are trained each for themselves, as for the pages that ship them.
    Shared stream: data/#: the same.
    """

    block: Training
    decoder: DecoderTraining
    k: Several[Count]
    noise: Positive
    tasks: AtLeastTwo
    kappa: Positive
    contexts: Several[AtLeastTwo]
    queries: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if max(self.k) > min(self.block.N, self.decoder.N):
            raise ValueError(f"k is {self.k}: take no more examples than in training")
        if len(self.contexts) != 2:
            raise ValueError(f"contexts is {self.contexts}: take one number for the block and one for the decoder")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Estimate risk and parts, and the error of their sum, context by context."""
        found = np.array([[self._network(place, prior, seed, device) for place in range(2)] for prior in PRIORS])
        dims = "prior network k"
        columns = {name: variable(dims, found[..., place, 0], told) for place, (name, told) in enumerate(NAMES.items())}
        columns["risk_se"] = variable(dims, found[..., -2, 1], "standard error of the risk less the sum of its parts")
        columns["curved_se"] = variable(dims, found[..., -1, 1], "standard error of what is not linear less its theory")
        columns["risk_se"].attrs["blocks"] = columns["curved_se"].attrs["blocks"] = min(self.contexts)
        coords = {"prior": list(PRIORS), "network": names(self.block, self.decoder), "k": list(self.k)}
        return xr.Dataset(columns, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the sum of the parts beside the risk, with one part mistaken, and what is not linear beside its own theory."""
        dims = "prior network k"

        def whole(far: str) -> np.ndarray:
            return left.risk_in_parts(*(dataset[name].values for name in ("bayes", "curved", far)))

        block = dataset.isel(network=0, drop=True)
        beyond, kept = block.missed_square - block.missed, 1 - 2 * dimension(self.block) / self.queries
        return dataset.assign(
            risk_theory=variable(dims, whole("missed"), "Bayes risk, what is not linear, and the distance"),
            risk_near=near_misses(dims, {label: whole(far) for label, far in MISSES.items()}),
            bent=block.curved.assign_attrs(long_name="mean square of what is not linear, the block"),
            bent_se=block.curved_se,
            bent_scale=block.missed_square,
            bent_theory=variable("prior k", beyond.values, "squared distance from the posterior mean, less that of the vector"),
            bent_near=near_misses("prior k", {"less what a fit to the same half would take": (kept * beyond).values}),
        )

    def _network(self, place: int, prior: str, seed: int, device: str) -> np.ndarray:
        training = (self.block, self.decoder)[place]
        reader, d = readers(training, seed, device)[0], dimension(training)
        Lambda = torch.tensor(geometric_covariance(d, self.kappa, seed, f"any prior/{d}/basis"))
        drawn, few = self._drawn(f"any prior/{prior}/{training.name}", prior, Lambda, self.contexts[place], seed)
        return np.array([self._split(reader, drawn, few, Lambda, prior, k) for k in self.k])

    def _drawn(
        self, role: str, prior: str, Lambda: Float[Tensor, "d d"], B: int, seed: int
    ) -> tuple[Contexts, Float[Tensor, "K d"]]:
        """Draw B contexts of a prior, their queries from N(0, Lambda), and the tasks of the prior of few."""
        d = len(Lambda)
        drawn = isotropic(seed, role, (B, max(self.k), self.queries), d)
        few, w, y = normal(stream(seed, f"{role}/few"), (self.tasks, d), LIKE), drawn.w, drawn.y
        if prior == FEW:
            w = few[torch.randint(self.tasks, (B,), generator=stream(seed, f"{role}/which"))]
            y = torch.einsum("bkd,bd->bk", drawn.x, w)
        if prior != CLEAN:
            y = y + self.noise * normal(stream(seed, f"{role}/noise"), y.shape, LIKE)
        root = torch.linalg.cholesky(Lambda)
        return Contexts(w, drawn.x, y, torch.einsum("bqe,de->bqd", drawn.queries, root)), few

    def _posterior_mean(self, prior: str, x: Tensor, y: Tensor, few: Tensor) -> Float[Tensor, "B d"]:
        if prior == CLEAN:
            return least_norm(x, y)
        return ridge(x, y, self.noise**2) if prior == NOISY else among(x, y, few, self.noise)

    def _split(self, reader: Reader, drawn: Contexts, few: Tensor, Lambda: Tensor, prior: str, k: int) -> np.ndarray:
        """Return mean and standard error of each of NAMES over contexts, and of two differences that theory says are 0."""
        x, y, queries, w = *drawn.first(k), drawn.queries, drawn.w
        t = torch.cat(
            [reader.read(*(part[i : i + CHUNK] for part in (x, y, queries)), k).output for i in range(0, len(x), CHUNK)]
        )
        m, inverse = self._posterior_mean(prior, x, y, few), torch.linalg.inv(Lambda)
        found = {
            "risk": parts.square(t, queries, w),
            "bayes": torch.einsum("bd,de,be->b", m - w, Lambda, m - w),
            "curved": parts.curved(t, queries, inverse),
            "missed": parts.distance(t, queries, m, inverse),
            "missed_task": parts.distance(t, queries, w, inverse),
            "missed_square": parts.square(t, queries, m),
            "missed_plain": parts.distance_plain(t, queries, m, inverse),
        }
        rest = found["risk"] - found["bayes"] - found["curved"] - found["missed"]
        beyond = found["missed_square"] - found["missed"] - found["curved"]
        return np.stack(mean(torch.stack([*(found[name] for name in NAMES), rest, beyond])), -1)


_QUICK = AnyPrior(
    block=ONE_BLOCK, decoder=FIXED[2], k=(1, 4, 10), noise=1.0, tasks=4, kappa=9.0, contexts=(1500, 150), queries=32
)
ANY_PRIOR = Experiment(
    slug="lenses-any-prior",
    title="The risk of any model is a sum of three parts",
    quick=_QUICK,
    full=replace(_QUICK, contexts=(12_000, 5000)),
)
