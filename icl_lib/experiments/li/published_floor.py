"""li-published-floor: the paper's one-layer points against the law of the missing pattern."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.li.published import LENGTHS, READING_ERROR, learner_points
from icl_lib.results import variable
from icl_lib.theory.li import floor


@dataclass(frozen=True)
class PublishedFloor:
    """Shares alpha' and lengths of the points; ``reading_error`` is their relative error, read off by eye."""

    alphas: tuple[float, ...]
    lengths: tuple[int, ...]
    reading_error: float

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Put the laws beside the points; nothing is drawn."""

        def table(law) -> np.ndarray:
            return np.array([[law(l, alpha) for l in self.lengths] for alpha in self.alphas])

        points = [learner_points(alpha, "ICL", self.lengths) for alpha in self.alphas]
        return xr.Dataset(
            {
                "slides": variable("alpha l", points, "one-layer error, read off the authors' slides by eye"),
                "slides_error": variable("", self.reading_error, "relative error of a point read off by eye"),
                "vote_theory": variable("alpha l", table(floor.vote_error), "missing pattern times wrong majority"),
                "missing_theory": variable("alpha l", table(floor.missing), "(1 - alpha'/2)^l, the pattern is missing"),
                "missing_any": variable("alpha l", table(_no_decided), "(1 - alpha')^l, both patterns are missing"),
            },
            coords={"alpha": list(self.alphas), "l": list(self.lengths)},
        )


def _no_decided(l: int, alpha: float) -> float:
    return (1 - alpha) ** l


_DECLARED = PublishedFloor(alphas=(0.8, 0.6), lengths=LENGTHS, reading_error=READING_ERROR)
PUBLISHED_FLOOR = Experiment(
    slug="li-published-floor",
    title="The paper's own points and the missing pattern",
    paper="li",
    section="5",
    notebook="li_5_experiments",
    quick=_DECLARED,
    full=_DECLARED,
)
