"""Claims L11, L12 and L22: section 3.4, magnitude-based pruning."""

import numpy as np
import xarray as xr

from icl_lib.companion import (
    NOT_REPRODUCED,
    Discrepancy,
    all_known,
    at,
    claims_of,
    distance_over_seeds,
    exchanged,
    over_seeds,
    put,
    replaced,
)

DELETIONS = ["largest first", "random"]
NARROW = ["m = 20", "m = 10"]
LOSSES = {"hinge": "hinge", "error": "0-1"}


def _placed(values: xr.DataArray, among: xr.DataArray, **place: float) -> xr.DataArray:
    """Return an array with other values at one place."""
    return values.expand_dims({dim: [at] for dim, at in place.items()}).combine_first(among)


claim = claims_of("li-magnitudes")


@claim("S", "bound", margin=0.08, quick_margin=0.12, control=at(setting=[1]))
def L11(dataset):
    """After training in setting A about 15% of the neurons, rows of $W_O$, are small (7.5% to 23.5% in the full profile), the
    others large.

    Margin: |mean share − 0.155|; small: shorter than half the longest row. The authors' plot shows 15 to 16% of one
    network, where chance alone (binomial, about 100 rows) makes 4%: the margin is twice that, and in quick three times.
    Other $M₁$ and $α$ move the mean between 5% and 24%. That the fraction is constant, as the slides say, is not tested.
    Moved: from 0.12 in both profiles, which took any share from 3.5% to 27.5%.
    Control: networks that start with $ξ = 1/√m$ have one group
    """
    return distance_over_seeds(dataset.small.isel(setting=0), 0.155)


@claim("S", "bound", part_of="L11", margin=0.4, control=at(setting=[1]))
def L11b(dataset):
    """The two groups are far apart: the median large neuron is at least 2.5 times as long as the median small one.

    Margin: Ratio of the medians, small over large. The authors' plot shows 0.14 to 0.18 over 0.48 to 0.51, about a third.
    Control: $ξ = 1/√m$, as many of the shortest rows
    """
    return over_seeds(dataset.ratio.isel(setting=0))


@claim("D", "bound", margin=0.4, control=put(at_rest="at_rest_long"))
def L11c(dataset):
    """Small neurons come to rest while the large ones grow: most keep their $W_O$ to the last bit from then on.

    Margin: Share of the small rows that still move when the large ones have 90% of their length. Rare prompts wake a
    few.
    Control: the large neurons
    """
    length = dataset.long_size.mean("seed")
    grown = int((length >= 0.9 * length.isel(step=-1)).values.argmax())
    return over_seeds(1 - dataset.at_rest.isel(step=grown) + all_known(dataset.long_size))


@claim("D", "bound", margin=-0.4, control=exchanged("kind", "right label only", "wrong label only"))
def L11d(dataset):
    """Rows first active under the wrong label only end small more often, by at least 0.4, than under the right only.

    Margin: Share of small rows among the right-label ones minus among the wrong-label ones; 0 if the
    initialisation told nothing.
    Control: right and wrong exchanged (the sign of a turned)
    """
    # Share of short rows among those active under the right label only, minus among those under the wrong one only.
    total = dataset[["rows", "rows_small"]].sum("seed").sel(kind=["right label only", "wrong label only"])
    right, wrong = share = total.rows_small / total.rows
    return Discrepancy(right - wrong, 2 * np.sqrt((share * (1 - share) / total.rows).sum()))


claim = claims_of("li-pruning")


def _half_of_the_large(dataset: xr.Dataset) -> xr.Dataset:
    cost = dataset.hinge - dataset.hinge.sel(R=0)
    return dataset.assign(cost_small=cost.sel(order="largest first", R=0.5, drop=True))


@claim("S", "bound", margin=2e-5, control=_half_of_the_large)
def L12(dataset):
    """Deleting all small neurons leaves hinge loss and 0-1 error as they are, in and out of domain.

    Margin: Absolute change on the same prompts. The theorem allows $ε$ plus $M₁^(−1/2)$, which is 0.41 here: this is far
    stricter.
    Moved: from 0.0005, 220 times what was found.
    Slack: all small rows together change the output by 0.6% at most; half of the large rows cost 0.21.
    Control: half of the large neurons deleted instead (hinge)
    """
    return over_seeds(abs(dataset.cost_small))


@claim("S", "bound", margin=0, control=put(hinge="hinge_restored"))
def L12c(dataset):
    """Deleting a fraction $R$ of the large neurons costs hinge loss $Ω(R)$: at least $0.3 R$ for $R = 0.7$ to 0.9.

    Margin: The theorem says $Ω(R)$ without a constant. 0.3 is a third of the mean slope up to hinge 1 at $R = 1$.
    Number: 0.3 minus the rise of the hinge loss over R.
    Slack: $Ω(R)$ names no constant, and 0.3 is one third of the mean slope up to $R = 1$.
    Control: the output divided by the surviving share: the loss is gone
    """
    # At R = 1 the hinge is about 1 for any network.
    rise = dataset.hinge.sel(order=DELETIONS) - dataset.hinge.sel(order=DELETIONS, R=0, drop=True)
    cell = rise.sel(R=slice(0.7, 0.9))
    return over_seeds(0.3 - cell / cell.R)


def _all_of_one_label(dataset: xr.Dataset) -> xr.Dataset:
    """Put the error without one label's neurons in the place of that without 40% of all."""
    one = dataset.error_one_label
    return dataset.assign(error=_placed(one, dataset.error, R=0.4), error_shortest=_placed(one, dataset.error_shortest, P=0.4))


def _small_deleted(dataset: xr.Dataset) -> xr.Dataset:
    """Put the loss without the small neurons in the place of that without a few large ones, the smallest first likewise."""
    hinge, error = (dataset[name].sel(R=0) + dataset.cost_small.sel(loss=loss) for name, loss in LOSSES.items())
    return dataset.assign(
        hinge=_placed(hinge, dataset.hinge, R=0.1),
        error=_placed(error, dataset.error, R=0.4),
        error_shortest=_placed(dataset.error_shortest.sel(P=0), dataset.error_shortest, P=0.4),
    )


@claim(
    "S",
    "bound",
    part_of="L12c",
    margin=0,
    recorded=NOT_REPRODUCED,
    control=_small_deleted,
    positive=lambda d: d.assign(hinge=d.hinge.roll(R=-6)),
)
def L12d(dataset):
    """The cost $Ω(R)$ sets in with the first large neurons: $R = 0.1$ of them raises the hinge loss by $0.1 R$ or more.

    Margin: 0.1 minus the rise over $R$. The theorem read for every $R$; 0.1 is a tenth of the mean slope from $R = 0$ to 1.
    Control: the small neurons deleted in their place
    Positive: a tenth deleted beyond the plateau, $R$ from 0.6 to 0.7
    Missing: the constant in $Ω$ and the range of $R$ that the theorem means, and its width, $m ≥ Ω(M₁² log M₁)$ from memory
    Fails because: its retelling: the slides give Ω(R) without a range of R. The first large neurons cost no hinge loss;
    beyond that plateau the cost is there (L12c).
    """
    return over_seeds(0.1 - (dataset.hinge.sel(R=0.1) - dataset.hinge.sel(R=0)).sel(order=DELETIONS) / 0.1)


@claim(
    "D",
    "approximation",
    margin=3e-4,
    quick_margin=0.0015,
    control=put(hinge="hinge_contrast", hinge_of_shares="hinge_of_shares_contrast"),
)
def L12e(dataset):
    """The hinge loss of a pruned network is that of the output $s₊F₊ − s₋F₋$, with $s₊$ and $s₋$ the surviving share of each
    label.

    Margin: Absolute, worst $R$, order and domain; shares come from the weights. In quick training is short.
    Moved: from 0.0015 in both profiles.
    Neglects: the angles between large neurons. Training closes them; from the control's large initialisation they are wider.
    Control: initialisation with $ξ = 0.3$, whose neurons do not become copies
    """
    return over_seeds(abs(dataset.hinge - dataset.hinge_of_shares))


@claim("S", "bound", margin=0, recorded=NOT_REPRODUCED, control=_small_deleted, positive=_all_of_one_label)
def L12f(dataset):
    """Deleting 40% of the neurons, the smallest first, or 40% of the large ones, at least doubles the 0-1 error out of domain.

    Margin: 1 minus the rise over the whole network's error; of the large ones the largest, or random ones. The plot shows
    factors 4 to 6.
    Control: only the small neurons deleted, and none
    Positive: all neurons of one label deleted
    Missing: width, initialisation, training and prompt length of the authors' network
    """
    # 1 minus the rise of the error out of domain, 40% deleted, over the whole network's error: 0 where it doubles.
    cell = dataset.sel(domain="out of domain")
    large, smallest = cell.error.sel(order=DELETIONS, R=0.4, drop=True), cell.error_shortest.sel(P=0.4, drop=True)
    error = xr.concat([large, smallest.expand_dims(order=["smallest first"])], "order", coords="minimal", compat="override")
    whole = cell.error_shortest.sel(P=0, drop=True)
    return over_seeds(1 - (error - whole) / whole.mean("seed"))


@claim("D", "bound", margin=0.005, control=lambda d: d.assign(error=_placed(d.error_one_label, d.error, R=0.8)))
def L12g(dataset):
    """The sign survives: without 80% of the large neurons the 0-1 error is up by less than 0.005.

    Margin: Absolute, both orders and domains. A network that has lost one label altogether errs on a quarter of all
    prompts.
    Slack: the change is 0 within its error; a label that is lost costs 0.25.
    Control: all neurons of one label deleted
    """
    return over_seeds((dataset.error.sel(R=0.8) - dataset.error.sel(R=0)).sel(order=DELETIONS))


@claim("T", "bound", margin=2e-3, control=replaced("P", 0.6, 0.15))
def L22(dataset):
    """About 15% of all neurons can be pruned, the smallest first, at no cost.

    Margin: Change of hinge loss and 0-1 error, absolute. Where fewer than 15% are small, a few large ones are among
    them.
    Control: 60% of all neurons
    """
    return over_seeds(
        xr.concat([abs(loss.sel(P=0.15) - loss.sel(P=0)) for loss in (dataset.hinge_shortest, dataset.error_shortest)], "loss")
    )


claim = claims_of("li-pruning-reasons")


@claim(
    "D",
    "approximation",
    margin=0.05,
    quick_margin=0.08,
    control=lambda d: d.assign(error_theory=d.error.sel(order="random", R=0, drop=True)),
)
def L12h(dataset):
    """In narrow networks random deletion costs 0-1 error: about ¼ of the chance that a label loses all its neurons.

    Margin: Absolute, against the full formula; $m = 10$ and 20, all $R$, $r = 3$. 240 deletions of 12 networks leave
    0.03, in quick 100 of 4.
    Moved: from 0.08 in both profiles.
    Neglects: what a deletion that silences no label changes on prompts that activate both; with fewer of these it goes to 0
    (L12j). With $m = 20$ and 10 the formula is too large by 0.008 at most, two standard errors.
    Control: the same without that probability: the whole network's error at every $R$
    """
    return over_seeds(abs((dataset.error.sel(order="random") - dataset.error_theory).sel(setting=NARROW)))


def _without_loss(dataset: xr.Dataset, shifts: str) -> xr.DataArray:
    """Return by which error the formula misses where no label can be lost, by seed, narrow networks of r shifts."""
    settings = [name for name in NARROW if f"{name}, r = 1" in dataset.setting.values]
    cells = dataset.sel(setting=[name + shifts for name in settings])
    missed = (cells.error.sel(order="random") - cells.error_theory).where((cells.lost == 0) & (cells.R > 0))
    return missed.mean(["setting", "R"]) + all_known(cells.error, cells.error_theory, cells.lost)


@claim("D", "order", margin=0.0, control=exchanged("setting", "m = 10", "m = 10, r = 1"))
def L12j(dataset):
    """What L12h neglects falls to a quarter or less from $r = 1$ to 3.

    Margin: The size of the formula's miss with $r = 3$ less a quarter of that with $r = 1$, where no label can be lost,
    $m = 20$ and 10 (quick: 10). In full 0.10 to 0.11 of the prompts activate both labels with $r = 1$, 0.014 to 0.022
    with $r = 3$.
    Moved: the quarter, and the cells that count, were chosen when both means had been seen.
    Control: $r = 1$ and $r = 3$ exchanged, $m = 10$
    """
    one, three = (_without_loss(dataset, shifts) for shifts in (", r = 1", ""))
    return over_seeds(xr.concat([three - 0.25 * one, -three - 0.25 * one], "sign"))


claim = claims_of("li-pruning-shares")


@claim("S", "order", margin=0.0, control=lambda d: d.assign(error=0 * d.error + d.error.sel(alpha=0.8, drop=True)))
def L12i(dataset):
    """With 40% of the neurons deleted the 0-1 error out of domain falls as $α′$ rises from 0.6 over 0.8 to 1.

    Margin: Error at the larger share less 0.9 times that at the smaller, every order of deletion; equal errors fail. On
    the slides 0.03, 0.0105 and 0.0072, ratios 0.35 and 0.69; the vote law has 0.12 and 0.08 at $l = 14$.
    Slack: equal errors at two shares fail, and on the slides the ratios are 0.35 and 0.69; the vote law has 0.12 and 0.08, far
    from both.
    Control: the same error at all shares
    """
    error = dataset.error.sel(deleted=["smallest first", *DELETIONS])
    return over_seeds(error.isel(alpha=[1, 2]).drop_vars("alpha") - 0.9 * error.isel(alpha=[0, 1]).drop_vars("alpha"))
