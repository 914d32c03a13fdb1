"""What two experiments on a dimension and a length each share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import xarray as xr
from annotated_types import Ge, Le

from icl_lib.companion import AtLeastTwo, Count, Declaration, Several, expectation, variable
from papers.regression import shapes


@dataclass(frozen=True)
class Shaped(Declaration):
    """Shapes, and layers from one on.

    d, N     dimensions and examples, one of each a shape
    layers   most layers; the exact moments of more take minutes
    """

    d: Several[Count]
    N: Several[AtLeastTwo]
    layers: Annotated[int, Ge(1), Le(6)]

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, N=self.N)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """d and N of each shape."""
        return list(zip(self.d, self.N, strict=True))

    @property
    def each(self) -> list[int]:
        """Every number of layers."""
        return list(range(1, self.layers + 1))

    @property
    def coords(self) -> dict[str, list]:
        """How shapes are told, and the numbers of layers."""
        return {"shape": shapes.told(d=self.d, N=self.N), "layers": self.each}

    @expectation
    def table(self, formula: Callable[[int, int, int], float], words: str = "") -> xr.Variable:
        """Return what a formula gives for every shape and number of layers."""
        return variable("shape layers", [[formula(d, N, L) for L in self.each] for d, N in self.pairs], words)
