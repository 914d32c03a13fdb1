"""Claims Z23 to Z26f: section 5.3, the PL inequality and global convergence."""

import numpy as np
import xarray as xr

from icl_lib.companion import Discrepancy, all_known, claims_of, put

claim = claims_of("zhang-pl")


@claim("V", "identity", margin=1e-6, control=put(drift="drift_unbalanced"))
def Z23(dataset):
    """Lemma A.3: $u₋₁² = ‖U₁₁‖²$ at all times, from Assumption 3.3.

    Margin: Greatest drift over the flow, relative to $‖Γ⁻¹‖$; the integrator's tolerance is 1e-10.
    Control: an initialisation with $u₋₁(0)$ doubled
    """
    return Discrepancy(dataset.drift)


@claim("D", "formula", of="u_last_unbalanced", margin=1e-6, near=("δ = 0", "N + 1 for N"))
def Z23b(dataset):
    """From an unbalanced initialisation with $u₁₂ = u₂₁ = 0$, $δ = u₋₁² − ‖U₁₁‖²$ fixes the limit: $u₋₁²$ $= ½(δ + √(δ² +
    4‖Γ⁻¹‖²))$.

    Margin: Relative, on $u₋₁$ at the end of the flow; the numerical error: the slowest mode has then decayed by $e⁻²⁵$.
    """


@claim("V", "bound", margin=1, control=lambda dataset: dataset.assign(pl_constant=1 / dataset.pl_constant))
def Z24(dataset):
    """Lemma 5.4: along the flow $‖∇ℓ‖² ≥ μ (ℓ − min ℓ)$.

    Margin: $μ$ over the least ratio along the flow; the lemma says at most 1.
    Slack: The lemma's $μ$ is loose by its proof, the more so the higher the dimension, which is Z24c; what a true
    inequality leaves over is not the lemma's to say.
    Control: $μ$ upside down
    """
    return Discrepancy(dataset.pl_constant / dataset.pl_ratio)


@claim("V", "bound", margin=0, control=lambda dataset: dataset.assign(u_last_bound=3 * dataset.u_last_bound))
def Z24b(dataset):
    """Lemma A.5: $u₋₁(t)$ stays above a bound set by $σ$, $Θ$, $Λ$ and $Γ$.

    Margin: The bound minus the least $u₋₁$ along the flow.
    Control: three times the bound
    """
    return Discrepancy(dataset.u_last_bound - dataset.u_last_least)


@claim("D", "order", margin=0, control=lambda dataset: dataset[["slack"]].rename(d="kappa", kappa="d"))
def Z24c(dataset):
    """The PL inequality is loose, and the looser the higher the dimension: its slack is above 2 and grows with $d$.

    Margin: Fall of the log of (least ratio)/$μ$ from one $d$ to the next, from $d = 2$ on, at each $κ$, from $ΘΘᵀ =
    I/√d$, $σ²$ at 0.3 of its bound.
    Slack: Grows is what the sentence says; from one $d$ to the next the slack rises several times.
    Control: the condition number in the place of the dimension, with which the slack falls at $d = 2$
    """
    fall = -np.log(dataset.slack.where(dataset.d > 1, drop=True)).diff("d")
    return Discrepancy(fall.where(bool((dataset.slack > 2).all()), np.inf))


claim = claims_of("zhang-start-size")


def _start_for_bound(dataset: xr.Dataset) -> xr.Dataset:
    above = dataset.sel(multiple=dataset.multiple > 1).isel(multiple=[0])
    return above.assign(u_last_bound=above.u_last_bound_start)


@claim("D", "bound", margin=0, control=_start_for_bound)
def Z25b(dataset):
    """$u₋₁$ has a positive lower bound for every $σ > 0$, so the flow converges without the condition on $σ$.

    Margin: The bound minus the least $u₋₁$ along the flow, for all multiples of the largest $σ²$ that is allowed; above
    it, too, where the flow ends farther than 10⁻⁶ from $Γ⁻¹$.
    Control: the initial value $σ$ as the bound, at the least multiple above 1
    """
    return Discrepancy(np.stack([dataset.u_last_bound - dataset.u_last_least, np.log10(dataset.miss / 1e-6)]))


claim = claims_of("zhang-dense-init")


def _arrived(loss: xr.DataArray, end: float) -> Discrepancy:
    """Return the share of initialisations that end below this loss, with its binomial interval; NaN where one has no loss."""
    share = (loss < end).where(loss.notnull()).mean("start", skipna=False)
    return Discrepancy(share, 2 * np.sqrt(share * (1 - share) / loss.sizes["start"]))


@claim(
    "D", "convergence", margin=0.9, control=lambda d: d.drop_dims("start").assign(loss=d.loss_allowed.rename(allowed="start"))
)
def Z26(dataset):
    """From dense initialisations of all live parameters not every flow is at the optimum by time $T = 150$ ($d = 3$).

    Margin: Share that arrives, with its binomial interval; 'not every' is read as at most nine in ten.
    Control: initialisations of Assumption 3.3, which all arrive
    """
    return _arrived(dataset.loss, dataset.attrs["at_optimum"])


claim = claims_of("zhang-rank-one-trap")


@claim("D", "identity", margin=0, control=put(margin_theory="margin_leading"))
def Z26b(dataset):
    """The full loss has local minima that are not global: the rank-one point is one exactly where $hᵀK⁻¹h < m₄ρ²$, and
    a saddle elsewhere.

    Margin: Cells where the Hessian's signs, the gradient (1e-10) or the excess loss disagree; exact to rounding. In
    some cells it is a minimum.
    Control: the criterion to leading order in $1/N$
    """
    saddle = dataset.margin_theory < 0
    wrong = abs(dataset.negative - saddle) + abs(dataset.zero - 1) + ~(dataset.excess > 0) + all_known(dataset.margin_theory)
    return Discrepancy(wrong + ~(dataset.gradient <= 1e-10) + float(saddle.all()))


claim = claims_of("zhang-long-prompts")


def _traps(dataset: xr.Dataset) -> xr.Dataset:
    """Return the cells of d = 2 and 3."""
    return dataset.where(dataset.d <= 3, drop=True)


def _no_trap(cells: xr.Dataset) -> xr.DataArray:
    """Return 0 where one of the two descents ends at a local minimum that is not global."""
    wrong = cells.negative + abs(cells.zero - 1) + ~(cells.gradient <= 1e-10) + ~(cells.loss >= 1.001 * cells.minimum)
    return wrong.min("place", skipna=False)


@claim(
    "D",
    "identity",
    margin=0,
    control=lambda d: d.assign(negative=(d.rank_one_margin < 0).astype(float).broadcast_like(d.negative)),
)
def Z26c(dataset):
    """At $d = 2$ and 3 long prompts do not remove the local minima: for every $N$ tried from 5 on, the full loss has one that
    is not global.

    Margin: Cells where neither descent ends above $L^*$ (by 0.1%) with gradient 0 (1e-10) and one zero mode, all else positive.
    Control: the rank-one point in its place, a saddle at long prompts
    """
    return Discrepancy(_no_trap(_traps(dataset)))


@claim("D", "identity", margin=0, control=lambda dataset: dataset.assign_coords(d=8 - dataset.d))
def Z26g(dataset):
    """In dimension 5 the two descents do not find one at every length: at $κ = 10$ both end at $L^*$ for the $N$ tried
    from 100 to 1000, and not both for shorter prompts, nor at $10⁴$.

    Margin: Cells where the descents end otherwise; $L^*$ is reached when 0.1% is left. Written when the data had been seen.
    Control: $d = 3$ in the place of $d = 5$
    """
    cells = dataset.where(dataset.d == 5, drop=True)
    both = (cells.loss < 1.001 * cells.minimum).where((cells.loss + cells.minimum).notnull()).min("place", skipna=False)
    return Discrepancy(abs(both - ((cells.N >= 100) & (cells.N <= 1000)).astype(float)))


@claim("D", "bound", margin=0, control=put(height="height_without_trace"))
def Z26d(dataset):
    """A wall stands between them and the optimum: wherever $(1 + 3/N) u₁₂ᵀΛu₁₂$ $= tr(Λ) u₋₁²$, $L − L^*$ is at least
    the height of the proposition.

    Margin: The height less the least $L − L^*$ that descents on the wall find. At long prompts the two come together.
    Control: the height without its term in $tr Λ$
    """
    return Discrepancy(dataset.height - (dataset.least_on_wall - dataset.minimum))


@claim("D", "order", margin=0, control=lambda d: d.assign(minimum=0 * d.minimum + 1))
def Z26e(dataset):
    """At $d = 2$ and 3 the lowest of these minima, over $L^*$, grows with the length of the prompt.

    Margin: Fall of its log from one $N$ to the next, $d = 2$ and 3.
    Control: the loss itself, which falls
    """
    traps = _traps(dataset)
    beyond = (traps.beyond > 1) & (traps.negative == 0)
    least = traps.loss.where(beyond).min("place") + all_known(traps.loss, traps.beyond)
    return Discrepancy(-np.log(least / traps.minimum).diff("N"))


@claim("D", "convergence", margin=0.9, control=put(dense_loss="dense_loss_zero_blocks"))
def Z26f(dataset):
    """Dense initialisations do not all lead to the optimum by time $T = 150$ at long prompts either ($d = 3$).

    Margin: As Z26, the largest share over $N$.
    Number: Largest share that arrives, over $N$, with its binomial interval.
    Control: the same initialisations with $u₁₂ = u₂₁ = 0$
    """
    return _arrived(dataset.dense_loss, 1.01)
