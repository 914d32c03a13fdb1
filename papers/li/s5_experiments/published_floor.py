"""li-published-floor: the paper's one-layer points against the law of the missing pattern."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.companion import Declaration, Experiment, Positive, Several, expectation, variable
from papers.li.published import LEARNERS, LENGTHS, READING_ERROR, learner_points
from papers.li.theory import floor


@dataclass(frozen=True)
class PublishedFloor(Declaration):
    """Points of the paper, read off by eye, by share alpha' and length.

    alphas          shares alpha' of the points; lengths: examples of a prompt
    reading_error   relative error of a point that is read off by eye
    """

    alphas: Several[float]
    lengths: Several[int]
    reading_error: Positive

    def __post_init__(self):
        super().__post_init__()
        if not all((alpha, "ICL") in LEARNERS for alpha in self.alphas) or not set(self.lengths) <= set(LENGTHS):
            raise ValueError(f"no points were read off at these cells: take shares of 0.8 and 0.6 and lengths of {LENGTHS}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Return the cells; nothing is drawn."""
        return xr.Dataset(coords={"alpha": list(self.alphas), "l": list(self.lengths)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the points and the laws into the cells."""

        def table(law) -> np.ndarray:
            return np.array([[law(l, alpha) for l in self.lengths] for alpha in self.alphas])

        points = [learner_points(alpha, "ICL", self.lengths) for alpha in self.alphas]
        read, missing = np.array(points) * self.reading_error, table(floor.missing)
        return dataset.assign(
            {
                "slides": variable("alpha l", points, "one-layer error, read off the authors' slides by eye"),
                "slides_low": variable("alpha l", points - read, "the least that it may be"),
                "slides_high": variable("alpha l", points + read, "the most that it may be"),
                "slides_error": variable("", self.reading_error, "relative error of a point read off by eye"),
                "vote_theory": variable("alpha l", table(floor.vote_error), "missing pattern times wrong majority"),
                "missing_theory": variable("alpha l", missing, "(1 - alpha'/2)^l, the pattern is missing"),
                "missing_theory_low": variable("alpha l", missing / 2, "half of it, all errors of a coin"),
                "missing_theory_high": variable("alpha l", missing, "all of it"),
                "missing_any": variable("alpha l", table(_no_decided), "(1 - alpha')^l, both patterns are missing"),
            }
        )


def _no_decided(l: int, alpha: float) -> float:
    return (1 - alpha) ** l


_DECLARED = PublishedFloor(alphas=(0.8, 0.6), lengths=LENGTHS, reading_error=READING_ERROR)
PUBLISHED_FLOOR = Experiment(
    slug="li-published-floor",
    title="The paper's own points and the missing pattern",
    quick=_DECLARED,
    full=_DECLARED,
)
