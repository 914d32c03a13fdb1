"""zhang-query-shift: context from the training law, query from another one."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, stacked_limits, standard_normal
from icl_lib.measure.risk import risk
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.results import variable
from icl_lib.tasks import QueryShift
from icl_lib.theory.zhang import shifts


@dataclass(frozen=True)
class QueryLaws:
    """Error of LSA for three query laws over N and M, and the formula along N = M = length and at N = min(N)."""

    d: int
    kappa: float
    query_kappa: float
    N: tuple[int, ...]
    M: tuple[int, ...]
    prompts: int
    length: tuple[int, ...]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of the trained model on one task and put the query-shift formula beside it."""
        Lambda = geometric_covariance(self.d, self.kappa, seed)
        w = standard_normal((self.d,), seed, "w")
        w /= np.sqrt(w @ Lambda @ w)
        queries = self._queries(Lambda, seed)
        cells = np.array([[self._cell(Lambda, w, Q, M, seed, name) for M in self.M] for name, Q in queries.items()])
        lines = np.array([[self._long(Lambda, w, Q, K) for K in self.length] for Q in queries.values()])
        names = ("measured error", "standard error", "error by the query-shift formula")
        measured = {
            term: variable("query M N", cells[:, :, k], names[k], "y^2")
            for k, term in enumerate(("risk", "risk_se", "risk_theory"))
        }
        long = variable("query length training", lines, "error at M = length, by the formula", "y^2")
        coords = {"query": list(queries), "M": list(self.M), "N": list(self.N), "length": list(self.length)}
        return xr.Dataset(measured | {"long_theory": long}, coords=coords | {"training": ["matched", "short"]})

    def _queries(self, Lambda: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        """Second moments of the query laws, all of trace d."""
        direction = standard_normal((self.d,), seed, "query direction")
        return {
            "as in training": Lambda,
            "other basis": geometric_covariance(self.d, self.query_kappa, seed, "query basis"),
            "one direction": self.d * np.outer(direction, direction) / (direction @ direction),
        }

    def _cell(self, Lambda, w, Q, M, seed, name) -> np.ndarray:
        model = LinearSelfAttention(*stacked_limits(Lambda, self.N))
        law = QueryShift(*map(torch.tensor, (Lambda, Q, w)))
        measured = risk(model, law, prompts=self.prompts, length=M, seed=seed, name=f"query-shift/{name}/{M}")
        return np.stack([*measured, [shifts.query_shift_error(Lambda, N, M, Q, w) for N in self.N]])

    def _long(self, Lambda, w, Q, length) -> list[float]:
        return [shifts.query_shift_error(Lambda, N, length, Q, w) for N in (length, self.N[0])]


QUERY_SHIFT = Experiment(
    slug="zhang-query-shift",
    title="Query shift: the error for any query law",
    paper="zhang",
    section="4.2",
    notebook="zhang_4_2_shifts",
    quick=QueryLaws(
        d=5, kappa=10.0, query_kappa=5.0, N=(10, 80), M=(5, 20, 80), prompts=25_000, length=(10_000, 100_000, 1_000_000)
    ),
    full=QueryLaws(
        d=5,
        kappa=10.0,
        query_kappa=5.0,
        N=(10, 80),
        M=(5, 10, 20, 40, 80),
        prompts=600_000,
        length=(10_000, 100_000, 1_000_000),
    ),
)
