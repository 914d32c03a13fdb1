"""zhang-orthogonal-query: what LSA predicts for a query orthogonal to every context input."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from papers.regression.prompts import OrthogonalQuery
from papers.regression.spectra import geometric_covariance, stacked_limits


@dataclass(frozen=True, eq=False)
class InvariantSpan:
    """A context in the span of the first M eigenvectors of a covariance, a query in the span of the others.

    Coordinates in the eigenbasis are N(0, d/M) and N(0, d/(d - M)), so that both have mean squared norm d; w ~ N(0, I).
    """

    covariance: np.ndarray

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples; needs length < d."""
        d, M = len(self.covariance), length
        if not 1 <= M < d:
            raise ValueError(f"{M} eigenvectors leave no room for a query in dimension {d}: take 1 <= length < {d}")
        basis = torch.tensor(np.linalg.eigh(self.covariance)[1])
        z = torch.randn((*shape, M + 2, d), generator=generator, dtype=torch.float64)
        x = torch.einsum("...mk,dk->...md", z[..., :M, :M], basis[:, :M]) * (d / M) ** 0.5
        x_query = torch.einsum("...k,dk->...d", z[..., M, M:], basis[:, M:]) * (d / (d - M)) ** 0.5
        w = z[..., M + 1, :]
        return Prompts(x, torch.einsum("...md,...d->...m", x, w), x_query, torch.einsum("...d,...d->...", x_query, w))


@dataclass(frozen=True)
class OrthogonalQueries(Declaration):
    """Mean square of the prediction over that of the label, for covariances of growing condition number and trace d.

    d       dimension of inputs; N: training length; M: examples of a test prompt
    kappa   condition numbers of the covariance; prompts: test prompts of each kind at each kappa
    """

    d: Count
    N: Count
    M: Count
    kappa: Several[Annotated[float, Ge(1)]]
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.d <= self.M:
            raise ValueError(f"{self.M} examples leave no query orthogonal to them in dimension {self.d}: take M < d")
        if not {1, 20} <= set(self.kappa):
            raise ValueError(f"condition numbers {self.kappa}: take 1 and 20 among them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure orthogonal queries, ordinary ones, and contexts that span an invariant subspace."""
        covariances = [geometric_covariance(self.d, kappa, seed) for kappa in self.kappa]
        laws = {
            "orthogonal": lambda Lambda: OrthogonalQuery(torch.tensor(Lambda)),
            "invariant": InvariantSpan,
            "ordinary": lambda Lambda: LinearRegression(torch.tensor(Lambda)),
        }
        found = np.array(
            [
                [self._power(Lambda, law(Lambda), f"{name}/{k}", seed) for k, Lambda in enumerate(covariances)]
                for name, law in laws.items()
            ]
        )
        return xr.Dataset(
            {
                "power": variable("query kappa", found[:, :, 0], "E y_hat^2 / E y_query^2"),
                "power_se": variable("query kappa", found[:, :, 1], "standard error"),
            },
            coords={"query": list(laws), "kappa": list(self.kappa)},
        )

    def _power(self, Lambda: np.ndarray, law, name: str, seed: int) -> Estimate:
        W_PV, W_KQ = stacked_limits(Lambda, (self.N,))
        prompts = law.sample(stream(seed, f"orthogonal-query/{name}"), (self.prompts,), self.M)
        return mean(LinearSelfAttention(W_PV[0], W_KQ[0])(prompts) ** 2 / self.d)


_QUICK = OrthogonalQueries(d=10, N=50, M=5, kappa=(1.0, 2.0, 5.0, 20.0, 100.0), prompts=6_000)
ORTHOGONAL_QUERY = Experiment(
    slug="zhang-orthogonal-query",
    title="Queries orthogonal to the context",
    quick=_QUICK,
    full=replace(_QUICK, kappa=(1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0), prompts=150_000),
)
