"""lenses-head-floor: the least risk of linear attention with H heads and no MLP, for one task that it knows."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, NotNegative, Positive, Several, expectation, variable
from icl_lib.companion import near_misses as nears
from papers.lenses.s2_own_weights.descents import Dimension, descend, free
from papers.lenses.theory import own_weights as own
from papers.lenses.theory import population
from papers.regression import shapes
from papers.regression.spectra import geometric_covariance, standard_normal


@dataclass(frozen=True)
class HeadFloor(Declaration):
    """One task w, the same in all prompts, in dimensions and lengths, one of each a shape; H heads, H = 1 .. d + 2.

    d, N     dimensions of inputs and training lengths, one of each a shape
    kappa    condition number of the covariance of inputs
    noise    standard deviations of the labels' noise
    starts   descents for each least risk
    """

    d: Several[Dimension]
    N: Several[Count]
    kappa: Positive
    noise: Several[NotNegative]
    starts: Count

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, N=self.N)

    @property
    def heads(self) -> range:
        """From one head to one more than a token has directions."""
        return range(1, max(self.d) + 3)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Descend the exact risk; told over E|w|^2_Lambda."""
        shares = [[[self._share(seed, k, noise, H) for H in self.heads] for noise in self.noise] for k in range(len(self.d))]
        words = "least risk over the risk of no answer"
        coords = {"shape": shapes.told(d=self.d, N=self.N), "noise": list(self.noise), "heads": list(self.heads)}
        return xr.Dataset({"share": variable("shape noise heads", shares, words)}, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the floor beside it."""

        def table(share) -> np.ndarray:
            cells = [[[share(d, N, s, H) for H in self.heads] for s in self.noise] for d, N in zip(self.d, self.N, strict=True)]
            return np.array(cells)

        def directions(d: int, s: float) -> int:
            return d + 1 if s > 0 else d

        misses = {
            "H + 1 heads": table(lambda d, N, s, H: own.floor(N, H + 1, directions(d, s))),
            "N H for N H + 2": table(lambda d, N, s, H: 2 / (N * min(H, directions(d, s)))),
            "no end at d + 1 heads": table(lambda d, N, s, H: own.floor(N, H)),
        }
        theory = table(lambda d, N, s, H: own.floor(N, H, directions(d, s)))
        return dataset.assign(
            share_theory=variable("shape noise heads", theory, "2/(N H + 2)"),
            share_near=nears("shape noise heads", misses),
        )

    def _share(self, seed: int, place: int, noise: float, H: int) -> float:
        d, role = self.d[place], f"head floor/{place}"
        Lambda = geometric_covariance(d, self.kappa, seed, f"{role}/basis")
        w = standard_normal((d,), seed, f"{role}/task")
        law = population.tasks(Lambda, w, np.zeros((d, d)), noise)
        ends = descend(law, self.N[place], free(d, H, False, True), self.starts, seed, f"{role}/{noise:g}/{H}")
        return min(risk for risk, _ in ends) / float(w @ Lambda @ w)


_QUICK = HeadFloor(d=(2, 3), N=(5, 7), kappa=4.0, noise=(0.0, 0.5), starts=3)
HEAD_FLOOR = Experiment(
    slug="lenses-head-floor",
    title="What attention without an MLP cannot say",
    quick=_QUICK,
    full=replace(_QUICK, d=(2, 3, 4), N=(5, 7, 20), starts=6),
)
