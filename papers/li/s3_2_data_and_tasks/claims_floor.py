"""Claims L6 to L6e: section 3.2, the error over prompt length."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Discrepancy, claims_of, over_seeds
from icl_lib.companion.controls import put

RESOLVED = 0.02
"""Cells whose predicted error is smaller are not judged: too few errors to count."""


def _judged(dataset: xr.Dataset) -> xr.Dataset:
    """Keep the models trained on every pair of patterns, and the cells with enough errors."""
    stacked = dataset.isel(tasks=np.flatnonzero(dataset.all_pairs.values)).stack(cell=("alpha", "l"))
    return stacked.isel(cell=np.flatnonzero(stacked.error_theory.values >= RESOLVED))


claim = claims_of("li-floor")


@claim("D", "formula", margin=0.15, control=put(error="error_start"))
def L6(dataset):
    """A trained model errs as the vote law says: 2⁻ˡ Σ C(l,k)(1−α′)^(l−k) over k > l/2, half the term k = l/2.

    Margin: Relative, where the law is 0.02 or more. Other patterns are attended alike to some per cent only.
    Control: the models before training
    """
    cells = _judged(dataset)
    mean = over_seeds(cells.error)
    return Discrepancy(abs(mean.value / cells.error_theory - 1), mean.two_se / cells.error_theory)


@claim("D", "bound", margin=0.95, control=lambda dataset: dataset.assign(best=dataset.error.isel(tasks=0).mean("seed")))
def L6c(dataset):
    """Half of that is no floor for every predictor: one that knows the law of tasks errs less than (1−α′/2)ˡ/2.

    Margin: Error over half the missing probability; exactly (1−α′)/(1−α′/2) at l = 1, which is 0.89 for α′ = 0.2.
    Control: the trained model
    """
    cells = _judged(dataset)
    return Discrepancy(cells.best / (cells.missing / 2), 2 * cells.best_se / (cells.missing / 2))


@claim("S", "bound", margin=0.002, control=put(error_guaranteed="error"))
def L6e(dataset):
    """If a share α′/2 of the contexts is sure to have the query's pattern, the error is at most 0.002 for l ≥ 2/α′.

    Margin: Then the pattern is never missing. Independent contexts err in 0.02 to 0.2 of the same prompts.
    Control: independent contexts, which guarantee nothing
    """
    stacked = dataset.stack(cell=("alpha", "l"))
    return over_seeds(stacked.error_guaranteed.isel(cell=np.flatnonzero(stacked.l * stacked.alpha >= 2)))
