"""Claims L6 to L6e: section 3.2, the error over prompt length."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, over_seeds

RESOLVED = 0.02
"""Cells whose predicted error is smaller are not judged: too few errors to count."""


def _as_predicted(dataset: xr.Dataset) -> Discrepancy:
    cells = _judged(dataset)
    mean = over_seeds(cells.error)
    return Discrepancy(abs(mean.value / cells.error_theory - 1), mean.two_se / cells.error_theory)


def _judged(dataset: xr.Dataset) -> xr.Dataset:
    """Keep the models trained on every pair of patterns, and the cells with enough errors."""
    stacked = dataset.isel(tasks=np.flatnonzero(dataset.all_pairs.values)).stack(cell=("alpha", "l"))
    return stacked.isel(cell=np.flatnonzero(stacked.error_theory.values >= RESOLVED))


def _between(dataset: xr.Dataset) -> Discrepancy:
    cells = _judged(dataset)
    mean, two_se = over_seeds(cells.error).value / cells.missing, over_seeds(cells.error).two_se / cells.missing
    return Discrepancy(np.maximum(mean - 1, 0.5 - mean), two_se)


def _best_below_half(dataset: xr.Dataset) -> Discrepancy:
    cells = _judged(dataset)
    return Discrepancy(cells.best / (cells.missing / 2), 2 * cells.best_se / (cells.missing / 2))


def _guaranteed(dataset: xr.Dataset) -> Discrepancy:
    stacked = dataset.stack(cell=("alpha", "l"))
    return over_seeds(stacked.error_guaranteed.isel(cell=np.flatnonzero(stacked.l * stacked.alpha >= 2)))


def _best_exact(dataset: xr.Dataset) -> Discrepancy:
    cells = dataset.stack(cell=("alpha", "l"))
    cells = cells.isel(cell=np.flatnonzero(np.isfinite(cells.best_theory)))
    return Discrepancy(abs(cells.best - cells.best_theory), 2 * cells.best_se)


L6 = Claim(
    id="L6",
    paper="li",
    section="3.2",
    sentence="A trained model errs as the vote law says: 2⁻ˡ Σ C(l,k)(1−α′)^(l−k) over k > l/2, half the term k = l/2.",
    confidence="D",
    kind="formula",
    experiment="li-floor",
    margin=0.15,
    reason="Relative, where the law is 0.02 or more. Other patterns are attended alike to some per cent only.",
    check=_as_predicted,
    control=lambda dataset: dataset.assign(error=dataset.error_start.broadcast_like(dataset.error)),
    control_sentence="the models before training",
)

L6b = Claim(
    id="L6b",
    paper="li",
    section="3.2",
    sentence="A trained model errs between 0.5 and 1 times the probability (1−α′/2)ˡ that the query's pattern is missing.",
    confidence="D",
    kind="bound",
    experiment="li-floor",
    margin=0.05,
    reason="By how much the ratio leaves [0.5, 1]; it comes close to 1 as l grows.",
    check=_between,
    control=lambda dataset: dataset.assign(error=dataset.error_start.broadcast_like(dataset.error)),
    control_sentence="the models before training",
)

L6c = Claim(
    id="L6c",
    paper="li",
    section="3.2",
    sentence="Half of that is no floor for every predictor: one that knows the law of tasks errs less than (1−α′/2)ˡ/2.",
    confidence="D",
    kind="bound",
    experiment="li-floor",
    margin=0.95,
    reason="Error over half the missing probability; exactly (1−α′)/(1−α′/2) at l = 1, which is 0.89 for α′ = 0.2.",
    check=_best_below_half,
    control=lambda dataset: dataset.assign(best=dataset.error.isel(tasks=0).mean("seed")),
    control_sentence="the trained model",
)

L6d = Claim(
    id="L6d",
    paper="li",
    section="3.2",
    sentence="The best predictor's error, summed exactly over all prompts, is what it makes on drawn prompts.",
    confidence="D",
    kind="formula",
    experiment="li-floor",
    margin=0.015,
    reason="Absolute; two standard errors of the quick run are 0.006.",
    check=_best_exact,
    control=lambda dataset: dataset.assign(best=dataset.error.isel(tasks=0).mean("seed")),
    control_sentence="the trained model",
)

L6e = Claim(
    id="L6e",
    paper="li",
    section="3.2",
    sentence="If a share α′/2 of the contexts is sure to have the query's pattern, the error is at most 0.002 for l ≥ 2/α′.",
    confidence="S",
    kind="bound",
    experiment="li-floor",
    margin=0.002,
    reason="Then the pattern is never missing. Independent contexts err in 0.02 to 0.2 of the same prompts.",
    check=_guaranteed,
    control=lambda dataset: dataset.assign(error_guaranteed=dataset.error),
    control_sentence="independent contexts, which guarantee nothing",
)
