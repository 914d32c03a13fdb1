"""zhang-query-shift: context from the training distribution, query from another one."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import MinLen

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import QueryShift
from papers.regression.spectra import geometric_covariance, stacked_limits, standard_normal
from papers.zhang.dimensions import along_d, at_d
from papers.zhang.near_misses import gathered, of_blocks, of_shift
from papers.zhang.theory import optimum, shifts
from papers.zhang.wishart import empirical_covariances


@dataclass(frozen=True)
class QueryLaws(Declaration):
    """Error of LSA for three query distributions over N and M, along N = M = length and at N = min(N), there by contexts alone.

    d        dimensions of inputs; trace: trace of all covariances
    kappa    condition number of the covariance of training; query_kappa: condition number for queries in another basis
    N        training lengths; M: test lengths; prompts: test prompts of a query distribution at each (d, M)
    length   N = M of the longest prompts; contexts: empirical covariances of each length
    """

    d: Several[Count]
    trace: Positive
    kappa: Positive
    query_kappa: Positive
    N: Several[Count]
    M: Several[Count]
    prompts: AtLeastTwo
    length: Annotated[tuple[Count, ...], MinLen(2)]
    contexts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if any(short >= long for short, long in pairwise(self.length)):
            raise ValueError(f"length is {self.length}: take rising lengths, along which the error falls")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of the trained model on one task."""
        return along_d(self.d, lambda d: self._measured(d, seed))

    def _measured(self, d: int, seed: int) -> xr.Dataset:
        Lambda, w, queries = self._task(d, seed)
        found = [[self._risk(Lambda, w, Q, M, seed, f"{d}/{name}") for M in self.M] for name, Q in queries.items()]
        long = np.array(
            [[self._long(Lambda, w, Q, M, seed, f"{d}/{name}") for M in self.length] for name, Q in queries.items()]
        )
        return xr.Dataset(
            {
                "risk": variable("query M N", [[e.value for e in row] for row in found], "measured error", "y^2"),
                "risk_se": variable("query M N", [[e.standard_error for e in row] for row in found], "standard error", "y^2"),
                "long": variable("query length training", long[:, :, 0], "measured error on very long prompts", "y^2"),
                "long_se": variable("query length training", long[:, :, 1], "standard error", "y^2"),
            },
            coords={
                "query": list(queries),
                "M": list(self.M),
                "N": list(self.N),
                "length": list(self.length),
                "training": ["matched", "short"],
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the query-shift formula beside it."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, seed: int) -> xr.Dataset:
        Lambda, w, queries = self._task(d, seed)
        error = partial(shifts.query_shift_error, Lambda)
        cells = [[[error(N, M, Q, w) for N in self.N] for M in self.M] for Q in queries.values()]
        wrong = gathered([[[of_shift(Lambda, N, M, Lambda, Q, w) for N in self.N] for M in self.M] for Q in queries.values()])
        return dataset.assign(
            risk_theory=variable("query M N", cells, "error by the query-shift formula", "y^2"),
            risk_near=near_misses("query M N", wrong, "y^2"),
            risk_se=of_blocks(dataset.risk_se, self.prompts),
        )

    def _task(self, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Return Lambda, a w of unit length in its metric, and the query distributions' second moments, all of one trace."""
        Lambda = self.trace / d * geometric_covariance(d, self.kappa, seed)
        w, direction = (standard_normal((d,), seed, name) for name in ("w", "query direction"))
        return (
            Lambda,
            w / np.sqrt(w @ Lambda @ w),
            {
                "as in training": Lambda,
                "other basis": self.trace / d * geometric_covariance(d, self.query_kappa, seed, "query basis"),
                "one direction": self.trace * np.outer(direction, direction) / (direction @ direction),
            },
        )

    def _risk(self, Lambda, w, Q, M, seed, name) -> Estimate:
        model = LinearSelfAttention(*stacked_limits(Lambda, self.N))
        law = QueryShift(*map(torch.tensor, (Lambda, Q, w)))
        return risk(model, law, prompts=self.prompts, length=M, seed=seed, name=f"query-shift/{name}/{M}")

    def _long(self, Lambda, w, Q, M, seed, name) -> np.ndarray:
        """Return the errors at N = M and at the shortest N, with their standard errors: the mean over queries is exact."""
        contexts = empirical_covariances(Lambda, M, self.contexts, seed, f"query-shift/long/{name}/{M}").numpy()
        inverses = np.stack([np.linalg.inv(optimum.Gamma(Lambda, N)) for N in (M, self.N[0])])
        off = np.einsum("tik,bkj,j->tib", inverses, contexts, w) - w[:, None]
        found = mean(torch.tensor(np.einsum("tib,ij,tjb->tb", off, Q, off)))
        return np.stack([found.value, found.standard_error])


_QUICK = QueryLaws(
    d=(5, 2),
    trace=5.0,
    kappa=10.0,
    query_kappa=5.0,
    N=(10, 80),
    M=(5, 20),
    prompts=25_000,
    length=(10_000, 1_000_000),
    contexts=2_000,
)
QUERY_SHIFT = Experiment(
    slug="zhang-query-shift",
    title="Query shift: the error for any query distribution",
    quick=_QUICK,
    full=replace(_QUICK, M=(5, 10, 20, 40, 80), prompts=600_000),
)
