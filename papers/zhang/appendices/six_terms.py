"""zhang-six-terms: the six terms behind Theorem 4.2, each measured, with the wrong centre beside the right one."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    InnerShare,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
)
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import chunks
from icl_lib.models.baselines import mean_label_input
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import CubicLabels
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.dimensions import along_d, at_d, sizes
from papers.zhang.near_misses import of_blocks, of_theorem
from papers.zhang.theory import error
from papers.zhang.theory.optimum import Gamma

TERMS = ("I", "II", "III", "I x II", "I x III", "II x III")


@dataclass(frozen=True)
class SixTerms(Declaration):
    """Cubic labels, so that the best linear predictor errs; the expansion around a, and around ``shrunk`` times a.

    d        dimensions of inputs; kappa: condition number of the covariance
    N        training length at each d; M: test length at each d
    shrunk   factor on a in the wrong centre; prompts: test prompts at each d
    """

    d: Several[Count]
    kappa: Positive
    N: Several[Count]
    M: Several[Count]
    shrunk: InnerShare
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        sizes(self.d, self.N, self.M)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Average the three squares and the three doubled products of the expansion."""
        return along_d(self.d, lambda d: self._measured(d, *sizes(self.d, self.N, self.M)[d], seed))

    def _measured(self, d: int, N: int, M: int, seed: int) -> xr.Dataset:
        Lambda, v = self._task(d, seed)
        law, a = CubicLabels(torch.tensor(Lambda), torch.tensor(v)), error.cubic_labels(Lambda, v).a
        centres = [torch.tensor(factor * a) for factor in (1.0, self.shrunk)]
        generator, parts = stream(seed, f"six-terms/{d}"), []
        for size in chunks(self.prompts, M):
            batch = law.sample(generator, (size,), M)
            parts.append(torch.stack([terms(batch, Lambda, N, a, centre) for centre in centres]))
        measured = mean(torch.cat(parts, dim=-1))
        return xr.Dataset(
            {
                "term": variable("term_name", measured.value[0], "measured term", "y^2"),
                "term_se": variable("term_name", measured.standard_error[0], "standard error", "y^2"),
                "term_wrong": variable("term_name", measured.value[1], "measured term, wrong centre", "y^2"),
            },
            coords={"term_name": list(TERMS)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the three terms of Theorem 4.2 beside it; the products have mean 0."""
        return along_d(self.d, lambda d: self._expected(at_d(dataset, d), d, *sizes(self.d, self.N, self.M)[d], seed))

    @expectation
    def _expected(self, dataset: xr.Dataset, d: int, N: int, M: int, seed: int) -> xr.Dataset:
        Lambda, v = self._task(d, seed)
        law, products = error.cubic_labels(Lambda, v), [0.0, 0.0, 0.0]
        found = [*error.error_terms(Lambda, N, M, law), *products]
        wrong = of_theorem(Lambda, N, M, law).items()
        return dataset.assign(
            term_theory=variable("term_name", found, "term by Theorem 4.2", "y^2"),
            term_scale=variable("", sum(found), "their sum", "y^2"),
            term_near=near_misses("term_name", {label: [*three, *products] for label, three in wrong}, "y^2"),
            term_se=of_blocks(dataset.term_se, self.prompts),
        )

    def _task(self, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda and a v of unit length in its metric."""
        Lambda, v = geometric_covariance(d, self.kappa, seed), standard_normal((d,), seed, "v")
        return Lambda, v / np.sqrt(v @ Lambda @ v)


def terms(batch: Prompts, Lambda: np.ndarray, N: int, a: np.ndarray, centre: torch.Tensor) -> torch.Tensor:
    """Return (6, prompts): squares of I, II, III and twice their products, with ``centre`` in the place of a."""
    inverse = torch.tensor(np.linalg.inv(Gamma(Lambda, N)))
    expected = torch.tensor(Lambda @ a)
    noise = torch.einsum("ij,bj->bi", inverse, mean_label_input(batch) - expected)
    I = torch.einsum("bi,i->b", batch.x_query, centre) - batch.y_query
    II = torch.einsum("bi,bi->b", batch.x_query, noise)
    III = torch.einsum("bi,i->b", batch.x_query, inverse @ expected - centre)
    return torch.stack([I**2, II**2, III**2, 2 * I * II, 2 * I * III, 2 * II * III])


_QUICK = SixTerms(d=(4, 6), kappa=10.0, N=(10, 25), M=(8, 10), shrunk=0.5, prompts=800_000)
SIX_TERMS = Experiment(
    slug="zhang-six-terms",
    title="The six terms behind Theorem 4.2",
    section="B",
    quick=_QUICK,
    full=replace(_QUICK, M=(20, 10), prompts=4_000_000),
)
