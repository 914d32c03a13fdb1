"""li-classical: the trained one-layer model against classical learners on the same prompts (section 5 of Li et al.)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, PositiveShare, Several, expectation, variable
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.li.classification import same_pattern, wrong
from papers.li.classifiers import GaussianSVM, LinearSVM, LogisticRegression, NearestNeighbours
from papers.li.counted import counted
from papers.li.evaluate import beside_draws
from papers.li.odr import ODRPatterns
from papers.li.patterns import Codes, Patterns, write
from papers.li.published import learner_points
from papers.li.task_sets import all_tasks
from papers.li.theory import floor
from papers.li.theory.neighbours import neighbours_error
from papers.li.trained import A, Setting, Trained, train_models

Learner = Callable[[Prompts], Tensor]
CLASSICAL: dict[str, Learner] = {
    "logistic": LogisticRegression(),
    "linear SVM": LinearSVM(),
    "Gaussian SVM": GaussianSVM(),
    "1-NN": NearestNeighbours(1),
    "3-NN": NearestNeighbours(3),
}
"""The learners of the slides, with scikit-learn's defaults."""
RESOLVED = 0.05
"""Cells where nearest neighbours are to err less often are not judged: too few errors to count."""


@dataclass(frozen=True)
class Classical(Declaration):
    """``seeds`` models, each on sets of ODR patterns of sum S_1, ``prompts`` prompts a set and cell.

    seeds     models that are trained; S_1: coefficient sum of the ODR patterns
    odr       patterns out of domain
    prompts   test prompts of a draw in a cell
    alphas    shares alpha' of contexts with a pattern of the task; lengths: examples of a test prompt
    The classical learners are fitted on the examples of each prompt and see nothing else; all meet the same prompts.
    """

    setting: Setting
    seeds: Count
    S_1: float
    odr: ODRPatterns
    prompts: Count
    alphas: Several[PositiveShare]
    lengths: Several[Count]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every learner's error, split at the presence of the query's pattern among the examples."""
        marks = train_models((self.setting,), self.seeds, seed, device, marks=(0,))
        (untrained,), (trained,) = marks[0], marks[self.setting.T]
        patterns = self.odr.drawn(trained, self.S_1, seed, "odr")
        models = {"ICL": trained, "untrained": untrained}
        cells = [[self._cell(models, patterns, alpha, l, seed) for l in self.lengths] for alpha in self.alphas]
        present, absent, share = (np.moveaxis(np.array([[c[k] for c in row] for row in cells]), 2, 0) for k in range(3))
        names = [*models, *CLASSICAL]
        where = "learner alpha l seed"
        return xr.Dataset(
            {
                "error": variable(where, present + absent, "classification error out of domain"),
                "missed_present": variable(where, present, "share of prompts that contain the query's pattern, and wrong"),
                "missed_absent": variable(where, absent, "share of prompts without the query's pattern, and wrong"),
                "absent": variable("alpha l seed", share[0], "share of prompts without the query's pattern"),
            },
            coords={"learner": names, "alpha": list(self.alphas), "l": list(self.lengths), "seed": range(self.seeds)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the laws of section 3.2, that of nearest neighbours and the points of the slides beside it."""
        names = dataset.learner.values.tolist()
        slides = [[learner_points(alpha, name, self.lengths) for alpha in self.alphas] for name in names]
        vote = [[floor.vote_error(l, alpha) for l in self.lengths] for alpha in self.alphas]
        return dataset.assign(self._counted(dataset)).assign(
            {
                "vote_theory": variable("alpha l", vote, "error of a vote among all contexts"),
                "neighbours_theory": variable("learner alpha l", self._neighbours(names), "error of k-NN in closed form"),
                "slides": variable("learner alpha l", slides, "read off the authors' slides by eye, about 10%"),
            }
        )

    @expectation
    def _counted(self, dataset: xr.Dataset) -> dict[str, xr.Variable]:
        """Return the errors of 1-NN and 3-NN, their law and its near misses."""

        def table(law: Callable[[int, float, int], float]) -> xr.DataArray:
            cells = [[[law(l, alpha, k) for l in self.lengths] for alpha in self.alphas] for k in (1, 3)]
            return xr.DataArray(cells, dims=("learner", "alpha", "l"))

        near = {
            "one neighbour for three": lambda l, alpha, k: neighbours_error(l, alpha, 1 if k == 3 else 3),
        }
        errors = dataset.error.sel(learner=["1-NN", "3-NN"]).drop_vars(["learner", "alpha", "l"])
        return counted(
            "error_neighbours",
            errors,
            table(neighbours_error),
            {label: table(law) for label, law in near.items()},
            prompts=self.odr.draws * self.prompts,
            least=RESOLVED,
        )

    @expectation
    def _neighbours(self, names: list[str]) -> np.ndarray:
        """Return the law of ``k-NN``, NaN for the other learners."""
        k = {f"{k}-NN": k for k in (1, 3)}
        rows = [
            [[neighbours_error(l, a, k[name]) if name in k else np.nan for l in self.lengths] for a in self.alphas]
            for name in names
        ]
        return np.array(rows)

    def _cell(self, models: dict[str, Trained], patterns: Patterns, alpha: float, l: int, seed: int) -> list[np.ndarray]:
        """Return what is missed with and without the query's pattern, (learner, S), and the share without it, (1, S)."""
        law = self.setting.law(all_tasks(self.odr.count), alpha, patterns)
        codes = law.codes(stream(seed, f"classical/{alpha}/{l}"), (self.seeds, self.odr.draws, self.prompts), l)
        absent = ~same_pattern(codes).any(-1)
        faults = torch.stack(
            [*icl_faults(models.values(), codes, patterns), *classical_faults(CLASSICAL.values(), codes, patterns)]
        )
        shares = (faults * ~absent, faults * absent, absent[None].double())
        return [share.flatten(2).mean(-1).numpy() for share in shares]


def icl_faults(models, codes: Codes, patterns: Patterns) -> list[Tensor]:
    """Return the 0-1 loss of models on every prompt (S, draws, prompts)."""
    return [wrong(codes.y[..., -1] * beside_draws(trained.model()).on(patterns)(codes)) for trained in models]


def classical_faults(learners, codes: Codes, patterns: Patterns, scale: float = 1.0) -> list[Tensor]:
    """Return the 0-1 loss of classical learners on the same prompts, with all inputs times ``scale``."""
    prompts = write(codes, patterns)
    scaled = prompts._replace(x=scale * prompts.x, x_query=scale * prompts.x_query)
    return [wrong(learner(scaled) * prompts.y_query) for learner in learners]


QUICK = replace(A, T=150, B=96, m=50)
_QUICK = Classical(
    setting=QUICK,
    seeds=6,
    S_1=1.1,
    odr=ODRPatterns(count=3, distractors=10, draws=2),
    prompts=35,
    alphas=(0.8, 0.6),
    lengths=(6, 8),
)
CLASSICAL_LEARNERS = Experiment(
    slug="li-classical",
    title="In-context learning against classical learners",
    quick=_QUICK,
    full=replace(
        _QUICK, setting=A, seeds=10, odr=replace(_QUICK.odr, draws=10), prompts=60, lengths=(6, 8, 10, 12, 14, 16, 18, 20)
    ),
)
