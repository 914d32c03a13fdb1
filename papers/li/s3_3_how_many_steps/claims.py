"""Claims L9p to L9r and L10: section 3.3, how long training prompts are and how many steps training takes."""

import numpy as np
import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, claims_of, distance_over_seeds, everywhere, over_seeds, put, replaced

# --- L9: the length of the training prompts -------------------------------------------------------------------------


claim = claims_of("li-training-length")


def _long_enough(dataset: xr.Dataset) -> xr.DataArray:
    """Say which training prompts have l_tr >= 1/alpha."""
    return dataset.training_length * dataset.alpha >= 1 - 1e-9


@claim("S", "bound", margin=0.01, control=everywhere("error", training_length=1))
def L9p(dataset):
    """Training prompts of $l_tr ≥ 1/α$ are long enough: after training the error on unseen tasks is at most 0.01.

    Margin: $ε = 0.01$ at every such length, constant 1 in $Ω(1/α)$; the test distribution is the same for all models.
    Number: 0-1 error.
    Slack: no network errs at the end, and $ε = 0.01$ is what the theorem is read with; a network that did not learn errs on
    half.
    Control: training prompts of one context, where attention has nothing to choose
    """
    return over_seeds(dataset.error.where(_long_enough(dataset), 0.0))


@claim("P", "bound", margin=0.0, control=lambda d: d.assign(steps=d.steps.mean("alpha") + 0 * d.steps))
def L9q(dataset):
    """A larger share takes less training data: twice the share $α$ takes at most 0.8 times the steps, at every $l_tr ≥ 3$.

    Margin: Steps until the hinge is ½ at the larger share less 0.8 times those at the smaller; the batch is the same, so
    these are prompts. The escape time has a factor 0.50 to 0.54; a power of −⅓ fails.
    Control: the same number of steps at all shares
    """
    steps = dataset.steps.sel(training_length=dataset.training_length >= 3)
    larger, smaller = (steps.isel(alpha=part).drop_vars("alpha") for part in (slice(1, None), slice(-1)))
    return over_seeds(larger - 0.8 * smaller)


@claim("D", "bound", margin=0.05, control=everywhere("error", training_length=1))
def L9r(dataset):
    """Training prompts of $l_tr ≥ 1/α$ are not needed: two contexts, fewer than $1/α$ for $α ≤ 0.4$, also train the model.

    Margin: Error on unseen tasks at the end of training with $l_tr = 2$, at the shares below ½. Chance is ½; the first
    push has a factor $1 − 1/l$, so it is half of that for long prompts and 0 for $l_tr = 1$.
    Slack: no network errs at the end; one that did not learn errs on half.
    Control: training prompts of one context
    """
    return over_seeds(dataset.error.sel(training_length=2, alpha=dataset.alpha < 0.5))


# --- L10: the number of steps ---------------------------------------------------------------------------------------

STATED = ["alpha", "beta", "eta", "M1"]


def _of_total(dataset: xr.Dataset, phase: str) -> xr.DataArray:
    return dataset.slope.sel(phase=phase).isel(start=0, drop=True)


def _opposite(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(slope=-dataset.slope)


def _as_stated(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(slope=dataset.slope_stated.broadcast_like(dataset.slope))


claim = claims_of("li-iterations")


@claim("T", "rate", part_of="L10n", margin=-0.15, control=replaced("letter", "M1", "alpha"))
def L10(dataset):
    """Training takes fewer steps with larger $α$, $β$, $η$ and more with larger $M₁$.

    Margin: Largest of the exponents of $α$, $β$, $η$ and minus that of $M₁$; a trial run had −0.95, −1.7, −0.85 and −0.39.
    Slack: the sentence is a direction; the least exponent, that of $M₁$, is 0.33, and half of it is asked for.
    Control: the number of patterns $M₁$, which slows training down, in the place of $α$
    """
    return over_seeds(_of_total(dataset, "to 0.1").sel(letter=STATED) * xr.DataArray([1, 1, 1, -1], dims="letter"))


@claim("T", "rate", margin=0.25, recorded=NOT_REPRODUCED, control=_opposite, positive=_as_stated)
def L10n(dataset):
    """The number of steps goes like $η⁻¹ M₁ α^(−2/3) β^(−2/3) √log M₁$: every exponent within 0.25.

    Margin: Largest deviation over $α$, $β$, $η$, $M₁$; $M₁√log M₁$ is fitted over the same grid. Single
    networks scatter by 0.03 to 0.13.
    Control: the exponents with opposite signs
    Positive: the exponents of the stated law
    Missing: the regime in which the formula is meant, known from a retelling only; $M₁$ beyond 24
    Fails because: its retelling: the formula is complete in a retelling only, which names no regime. At these sizes
    nearly all steps are spent at the start.
    """
    return over_seeds(abs(_of_total(dataset, "to 0.1") - dataset.slope_stated).sel(letter=STATED))


def _stated_through_the_middle(dataset: xr.Dataset) -> xr.Dataset:
    ratio = dataset.time.sel(level=0.5).mean("seed") / dataset.stated
    return dataset.assign(escape_theory=np.exp(np.log(ratio).mean("cell")) * dataset.stated)


@claim("D", "approximation", margin=0.3, quick_margin=0.35, control=_stated_through_the_middle)
def L10c(dataset):
    """From a small $W_O$, $ξ = 0.01$, the steps until the hinge is ½ are the escape time $Ψ(M₁)/(ηρ|q|αβ²δ²)$, without a fit:
    within 30% in the full profile.

    Margin: Relative, $W_O$ of size $ξ = 0.01$, worst setting. In full the formula is late by 11% in the mean, 20% at worst.
    Moved: from 0.35 in both profiles, which 1.1 times the formula passed; it is undecided now. 0.25 was tried after a look at
    the data, and leaves the claim itself undecided.
    Neglects: the falling scores of the patterns with the other label, which take 12% off at $M₁ = 6$ and 9% at 24, as much as
    the formula misses in the mean (L10p); H(0), the noise of the batches and the size of the steps, by which single cells
    differ (0.80 to 0.98 of the formula over $|q| = 0.5$ to 2).
    Control: the stated law, its constant fitted
    """
    return over_seeds(abs(dataset.time.sel(level=0.5) / dataset.escape_theory - 1).isel(start=0))


@claim("D", "approximation", margin=0.05, control=put(escape_falling="escape_theory"))
def L10p(dataset):
    """With the falling scores of the other patterns in it, the escape time is that of the runs at $ξ = 0.01$, in the mean over
    settings.

    Margin: |mean of steps/formula − 1|. L10c misses by 11% in the mean, and the term was derived after that had been seen; the
    margin is half of what the term makes.
    Neglects: what a larger $ξ$ changes, $H(0)$ among it: with $ξ = 0.1$ the runs take 0.45 of it.
    Control: without the falling scores, as in L10c
    """
    ratio = (dataset.time.sel(level=0.5) / dataset.escape_falling).isel(start=0)
    return distance_over_seeds(ratio.mean("cell", skipna=False), 1.0)


@claim("D", "rate", margin=0.25, quick_margin=0.5, control=put(slope_escape="slope_stated"))
def L10d(dataset):
    """At $ξ = 0.01$ the exponents are within 0.25 (full profile) of the escape time's: −1 in $η$, $|q|$ and $α$, −2 in $β$
    and $δ$, but for what $ρ$ adds, and those of $Ψ$ and $ρ$ in $M₁$ and $K$.

    Margin: Largest deviation over the letters of the sweep. 30 steps are too few to follow a continuous time: up to
    0.25, and in quick up to 0.5. A power of $α$ or of $β$ that is 0.2 off passes as well: seeds and misses leave as much.
    Moved: from 0.5 in both profiles.
    Control: the exponents of the stated law
    """
    return over_seeds(abs(_of_total(dataset, "to 0.5") - dataset.slope_escape))


claim = claims_of("li-small-steps")


@claim("T", "rate", part_of="L10n", margin=0.25, recorded=NOT_REPRODUCED, control=_opposite, positive=_as_stated)
def L10o(dataset):
    """Behind the escape, from hinge 0.9 to 0.1, the number of steps goes as stated: every exponent within 0.25.

    Margin: The margin of L10n, over $α$, $β$, $η$ and $M₁$; $δ = 0.4$ and small steps, so that 26 to 143 steps are counted
    (quick: 10 to 25).
    Number: Largest deviation over $α$, $β$, $η$ and $M₁$.
    Control: the exponents with opposite signs
    Positive: the exponents of the stated law
    Missing: as for L10n
    Fails because: its retelling: as for L10n. The exponents of η and α come near those stated, those of β and M₁ do
    not.
    """
    return over_seeds(abs(_of_total(dataset, "from 0.9 to 0.1") - dataset.slope_stated).sel(letter=STATED))
