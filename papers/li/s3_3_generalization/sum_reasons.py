"""li-sum-reasons: in which settings the 0-1 error depends on the coefficient sum at fixed norm."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, Several, expectation, variable
from icl_lib.seeds import stream
from papers.li.evaluate import means
from papers.li.patterns import combined_patterns
from papers.li.s3_3_generalization.odr import ODRTest, idr_scores
from papers.li.theory.coefficient_sum import gap_spread
from papers.li.trained import A, B, Setting, train_models


@dataclass(frozen=True)
class SumReasons(Declaration):
    """Settings that each change one thing, tested out of domain over S_1 at fixed norm.

    names    of the settings; S_1: coefficient sums; seeds: models of each setting
    frames   draws of ODR patterns for the spread of the score gap
    """

    names: Several[str]
    settings: Several[Setting]
    S_1: Several[float]
    test: ODRTest
    frames: Count
    seeds: Count

    def __post_init__(self):
        super().__post_init__()
        if len(self.names) != len(self.settings):
            raise ValueError(f"{len(self.names)} names for {len(self.settings)} settings: name each of them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure error, hinge and attention for every setting and S_1, and the scores between patterns."""
        trained = train_models(self.settings, self.seeds, seed, device)[self.settings[0].T]
        cells = [[means(self.test.combined(one, S_1, seed, "odr")) for S_1 in self.S_1] for one in trained]
        dims = "setting S_1 seed"
        return xr.Dataset(
            {
                "error": variable(dims, [[cell.error for cell in row] for row in cells], "0-1 error, fixed norm"),
                "hinge": variable(dims, [[cell.hinge for cell in row] for row in cells], "hinge loss, fixed norm"),
                "mass": variable(dims, [[cell.mass for cell in row] for row in cells], "attention on the query's pattern"),
                "scores": variable("setting seed key query", [idr_scores(one) for one in trained], "score, IDR patterns"),
            },
            coords={"setting": list(self.names), "S_1": list(self.S_1)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put beside it how much the score gap spreads over draws of ODR patterns."""
        W = dataset.scores.values
        axes, spread = torch.eye(W.shape[-1], dtype=torch.float64), []
        for S_1 in self.S_1:
            k = combined_patterns(stream(seed, f"frames/{S_1:g}"), axes, self.test.count, S_1, self.frames)
            spread.append(gap_spread(W, k.numpy()))
        text = "standard deviation over draws and pairs of the score gap"
        return dataset.assign(gap_spread=variable("setting S_1 seed", np.stack(spread, axis=1), text))


SHORT = replace(A, beta=1.0)
NAMES = ("A", "β = 1", "β = 1, r = 1", "A, K = 2", "B, |q| = 0.25", "B, K = 2")
TEST = ODRTest(count=3, distractors=10, draws=80, prompts=20, alpha=0.8, length=20)
SETTINGS = (A, SHORT, replace(SHORT, tasks="cyclic 1"), replace(A, K=2.0), replace(B, q=0.25), replace(B, K=2.0))

SUM_REASONS = Experiment(
    slug="li-sum-reasons",
    title="What makes the error depend on the coefficient sum",
    quick=SumReasons(
        names=NAMES[1:3],
        settings=tuple(replace(one, T=200, B=128) for one in SETTINGS[1:3]),
        S_1=(-1.3, 0.0, 0.5, 1.0, 1.3),
        frames=500,
        seeds=4,
        test=TEST,
    ),
    full=SumReasons(
        names=NAMES,
        settings=SETTINGS,
        S_1=(-1.3, -1.0, -0.5, 0.0, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3),
        frames=4000,
        seeds=12,
        test=replace(TEST, draws=48, prompts=200),
    ),
)
