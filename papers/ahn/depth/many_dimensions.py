"""ahn-many-dimensions: the error of L layers where dimension and length grow together."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from icl_lib.measure.estimate import Estimate, mean
from papers.ahn import layers
from papers.ahn.theory import depth


@dataclass(frozen=True)
class ManyDimensions(Declaration):
    """Contexts of N = d/rho examples x ~ N(0, I), tasks w ~ N(0, I).

    rho, d     ratios d/N, and dimensions of which each ratio makes a whole N
    layers     most layers
    contexts   of each size
    """

    rho: Several[Positive]
    d: Several[AtLeastTwo]
    layers: Count
    contexts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if any(round(d / rho) * rho != d for d in self.d for rho in self.rho):
            raise ValueError(f"d is {self.d}, rho {self.rho}: take those with a whole d/rho")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error with the step sizes of the limit, and with the best equal ones of the limit."""
        spectra = [[self._spectra(seed, rho, d) for d in self.d] for rho in self.rho]
        dims, columns = "rho d layers", {}
        for name, words in (("error", "error over that of no answer"), ("equal", "the same, with one step size in all layers")):
            found = [[self._errors(each, rho, name) for each in row] for rho, row in zip(self.rho, spectra, strict=True)]
            value, error = np.moveaxis(np.array(found), 2, 0)
            columns |= {name: variable(dims, value, words), f"{name}_se": variable(dims, error, "standard error")}
        return xr.Dataset(columns, coords={"rho": list(self.rho), "d": list(self.d), "layers": self._each})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the limits beside it, and the same with one mistake."""
        return dataset.assign(
            limit=self._table(depth.limit_error, "1/(1 + 1/rho + ... + 1/rho^L)"),
            limit_short=self._table(lambda rho, L: 1 / (1 / depth.limit_error(rho, L) - 1), "the same without the 1"),
            equal_limit=self._table(depth.limit_equal, "limit with the best equal steps"),
            equal_geometric=self._table(_geometric, "the same without Catalan's numbers"),
        )

    @property
    def _each(self) -> list[int]:
        return list(range(1, self.layers + 1))

    @expectation
    def _table(self, formula, words: str) -> xr.Variable:
        return variable("rho layers", [[formula(rho, L) for L in self._each] for rho in self.rho], words)

    def _spectra(self, seed: int, rho: float, d: int) -> Float[Tensor, "B d"]:
        """Return the eigenvalues of S for each context; of the smaller of both Gram matrices, and zeros."""
        N, found = round(d / rho), []
        for x in layers.examples(seed, f"many dimensions/{rho:g}/{d}", self.contexts, N, d):
            gram = x if d <= N else x.mT
            small = torch.linalg.eigvalsh(torch.einsum("bnd,bne->bde", gram, gram) / N)
            found.append(torch.cat([small, torch.zeros(len(x), d - small.shape[-1], dtype=small.dtype)], -1))
        return torch.cat(found)

    def _errors(self, spectra: Float[Tensor, "B d"], rho: float, name: str) -> Estimate:
        errors = []
        for L in self._each:
            kept = torch.ones_like(spectra)
            for step in _chosen(rho, L)[name]:
                kept = kept * (1 - float(step) * spectra)
            errors.append(kept.square().mean(-1))
        return mean(torch.stack(errors))


def _chosen(rho: float, L: int) -> dict[str, np.ndarray]:
    return {"error": depth.limit_steps(rho, L), "equal": np.full(L, 1 / (1 + rho))}


@expectation
def _geometric(rho: float, L: int) -> float:
    return 1 - sum((rho / (1 + rho) ** 2) ** j for j in range(L)) / (1 + rho)


_QUICK = ManyDimensions(rho=(0.5, 2.0), d=(50, 100, 200), layers=4, contexts=40)
MANY_DIMENSIONS = Experiment(
    slug="ahn-many-dimensions",
    title="Depth where dimension and length grow together",
    quick=_QUICK,
    full=replace(_QUICK, d=(50, 100, 200, 400), layers=5, contexts=400),
)
