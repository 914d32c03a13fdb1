"""Claims L11, L12 and L22: section 3.4, magnitude-based pruning."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy, distance_over_seeds, over_seeds

DELETIONS = ["largest first", "random"]
NARROW = ["m = 20", "m = 10"]


def _share_short(dataset: xr.Dataset) -> Discrepancy:
    return distance_over_seeds(dataset.small.isel(setting=0), 0.155)


def _still_moving(dataset: xr.Dataset) -> Discrepancy:
    """Share of the small rows that still move when the large ones have 90% of their length."""
    length = dataset.long_size.mean("seed")
    grown = int((length >= 0.9 * length.isel(step=-1)).values.argmax())
    return over_seeds(1 - dataset.at_rest.isel(step=grown))


def _kinds_apart(dataset: xr.Dataset) -> Discrepancy:
    """Share of short rows among those heard by the right label only, minus among those heard by the wrong one only."""
    total = dataset[["rows", "rows_small"]].sum("seed").sel(kind=["right label only", "wrong label only"])
    right, wrong = share = total.rows_small / total.rows
    return Discrepancy(right - wrong, 2 * np.sqrt((share * (1 - share) / total.rows).sum()))


def _exchange_labels(dataset: xr.Dataset) -> xr.Dataset:
    swapped = dataset.kind.values.copy()
    swapped[[0, 2]] = swapped[[2, 0]]
    return dataset.assign_coords(kind=swapped)


def _above(dataset: xr.Dataset, least: float) -> Discrepancy:
    """How far hinge/R stays below ``least`` for R = 0.7 to 0.9; at R = 1 the hinge is about 1 for any network."""
    cell = dataset.hinge.sel(order=DELETIONS).where((dataset.R > 0.69) & (dataset.R < 0.91), drop=True)
    return over_seeds(least - cell / cell.R)


def _error_growth(dataset: xr.Dataset) -> Discrepancy:
    """1 minus the rise of the error out of domain, 40% deleted, over the whole network's error: 0 where it doubles."""
    cell = dataset.sel(domain="out of domain")
    large, smallest = cell.error.sel(order=DELETIONS, R=0.4, drop=True), cell.error_shortest.sel(P=0.4, drop=True)
    error = xr.concat([large, smallest.expand_dims(order=["smallest first"])], "order", coords="minimal", compat="override")
    whole = cell.error_shortest.sel(P=0, drop=True)
    return over_seeds(1 - (error - whole) / whole.mean("seed"))


L11 = Claim(
    id="L11",
    paper="li",
    section="3.4",
    sentence="After training in setting A about 15% of the neurons (rows of W_O) are small, 3% to 28%; the others are large.",
    confidence="S",
    kind="formula",
    experiment="li-magnitudes",
    margin=0.12,
    reason=(
        "|mean share − 0.155|; small: shorter than half the longest row. The authors' plot shows 15 to 16% of one network, "
        "where chance alone (binomial, about 100 rows) makes 4%, and other M₁ and α move the mean between 5% and 20%. That "
        "the fraction is constant, as the slides say, is not tested."
    ),
    check=_share_short,
    control=lambda dataset: dataset.isel(setting=[1]),
    control_sentence="networks that start with ξ = 1/√m have one group",
)

L11b = Claim(
    id="L11b",
    paper="li",
    section="3.4",
    sentence="The two groups are far apart: the median large neuron is at least 2.5 times as long as the median small one.",
    confidence="S",
    kind="bound",
    experiment="li-magnitudes",
    margin=0.4,
    reason="Ratio of the medians, small over large. The authors' plot shows 0.14-0.18 over 0.48-0.51, that is 0.33.",
    check=lambda dataset: over_seeds(dataset.ratio.isel(setting=0)),
    control=lambda dataset: dataset.isel(setting=[1]),
    control_sentence="ξ = 1/√m, as many of the shortest rows",
)

L11c = Claim(
    id="L11c",
    paper="li",
    section="3.4",
    sentence="Small neurons fall silent while the large ones grow, and then rest: most keep their W_O to the last bit.",
    confidence="D",
    kind="bound",
    experiment="li-magnitudes",
    margin=0.4,
    reason="Share of the small rows that still move when the large ones have 90% of their length. Rare prompts wake a few.",
    check=_still_moving,
    control=lambda dataset: dataset.assign(at_rest=dataset.at_rest_long),
    control_sentence="the large neurons",
)

L11d = Claim(
    id="L11d",
    paper="li",
    section="3.4",
    sentence="Rows first active under the wrong label only end small more often, by at least 0.4, than under the right only.",
    confidence="D",
    kind="bound",
    experiment="li-magnitudes",
    margin=-0.4,
    reason="Share of small rows among the right-label ones minus among the wrong-label ones; 0 if the start told nothing.",
    check=_kinds_apart,
    control=_exchange_labels,
    control_sentence="right and wrong exchanged (the sign of a turned)",
)

L12 = Claim(
    id="L12",
    paper="li",
    section="3.4",
    sentence="Deleting all small neurons leaves hinge loss and 0-1 error as they are, in and out of domain.",
    confidence="S",
    kind="bound",
    experiment="li-pruning",
    margin=5e-4,
    reason="Absolute change on the same prompts. The theorem allows ε plus M₁^−½, which is 0.41 here: this is far stricter.",
    check=lambda dataset: over_seeds(abs(dataset.cost_small)),
    control=lambda dataset: dataset.assign(
        cost_small=(dataset.hinge - dataset.hinge.sel(R=0)).sel(order="largest first", R=0.5, drop=True)
    ),
    control_sentence="half of the large neurons deleted instead (hinge)",
)

L12b = Claim(
    id="L12b",
    paper="li",
    section="3.4",
    sentence="Small neurons hardly speak: without them the output changes by less than 2% of its size.",
    confidence="D",
    kind="bound",
    experiment="li-pruning",
    margin=0.02,
    reason="Mean |change of F| over mean |F|. They are a tenth of the rows; a share of the output like that would be 10%.",
    check=lambda dataset: over_seeds(dataset.change_small),
    control=lambda dataset: dataset.assign(change_small=dataset.change_long),
    control_sentence="as many of the largest neurons deleted",
)

L12c = Claim(
    id="L12c",
    paper="li",
    section="3.4",
    sentence="Deleting a fraction R of the large neurons costs hinge loss Ω(R): at least 0.3 R for R = 0.7 to 0.9.",
    confidence="S",
    kind="bound",
    experiment="li-pruning",
    margin=0,
    reason="The theorem says Ω(R) without a constant. 0.3 is a third of the mean slope up to hinge 1 at R = 1.",
    check=lambda dataset: _above(dataset, 0.3),
    control=lambda dataset: dataset.assign(hinge=dataset.hinge_restored),
    control_sentence="the output divided by the surviving share: the loss is gone",
)

L12d = Claim(
    id="L12d",
    paper="li",
    section="3.4",
    sentence="The cost Ω(R) sets in with the first large neurons: R = 0.1 of them raises the hinge loss by 0.1 R or more.",
    confidence="S",
    kind="bound",
    experiment="li-pruning",
    margin=0,
    reason="0.1 minus the rise over R. The theorem read for every R; 0.1 is a tenth of the mean slope from R = 0 to 1.",
    check=lambda dataset: over_seeds(0.1 - (dataset.hinge.sel(R=0.1) - dataset.hinge.sel(R=0)).sel(order=DELETIONS) / 0.1),
    control=lambda dataset: dataset.assign(
        hinge=(dataset.hinge.sel(R=0) + dataset.cost_small.sel(loss="hinge")).expand_dims(R=[0.1]).combine_first(dataset.hinge)
    ),
    control_sentence="the small neurons deleted in their place",
    recorded=FAILS,
)

L12e = Claim(
    id="L12e",
    paper="li",
    section="3.4",
    sentence="The hinge loss of a pruned network is that of the output s₊F₊ − s₋F₋, with s± the surviving share of each label.",
    confidence="D",
    kind="formula",
    experiment="li-pruning",
    margin=0.0015,
    reason="Absolute, worst R, order and domain; shares come from the weights. Angles between large neurons leave about 3e-4.",
    check=lambda dataset: over_seeds(abs(dataset.hinge - dataset.hinge_of_shares)),
    control=lambda dataset: dataset.assign(hinge=dataset.hinge_contrast, hinge_of_shares=dataset.hinge_of_shares_contrast),
    control_sentence="start with ξ = 0.3, whose neurons do not become copies",
)

L12f = Claim(
    id="L12f",
    paper="li",
    section="3.4",
    sentence="Deleting 40% of the neurons at least doubles the 0-1 error out of domain, whichever go first.",
    confidence="S",
    kind="bound",
    experiment="li-pruning",
    margin=0,
    reason="1 minus the rise over the whole network's error; smallest, largest, random first. The plot shows factors 4 to 6.",
    check=_error_growth,
    control=lambda dataset: dataset.assign(
        error=(dataset.error.sel(R=0) + dataset.cost_small.sel(loss="0-1")).expand_dims(R=[0.4]).combine_first(dataset.error),
        error_shortest=dataset.error_shortest.sel(P=0).expand_dims(P=[0.4]).combine_first(dataset.error_shortest),
    ),
    control_sentence="only the small neurons deleted, and none",
    recorded=FAILS,
)

L12g = Claim(
    id="L12g",
    paper="li",
    section="3.4",
    sentence="The sign survives: without 80% of the large neurons the 0-1 error is up by less than 0.005.",
    confidence="D",
    kind="bound",
    experiment="li-pruning",
    margin=0.005,
    reason="Absolute, both orders and domains. A network that has lost one label altogether errs on a quarter of all prompts.",
    check=lambda dataset: over_seeds((dataset.error.sel(R=0.8) - dataset.error.sel(R=0)).sel(order=DELETIONS)),
    control=lambda dataset: dataset.assign(error=dataset.error_one_label.expand_dims(R=[0.8]).combine_first(dataset.error)),
    control_sentence="all neurons of one label deleted",
)

L12h = Claim(
    id="L12h",
    paper="li",
    section="3.4",
    sentence="In narrow networks random deletion costs 0-1 error: about ¼ of the chance that a label loses all its neurons.",
    confidence="D",
    kind="formula",
    experiment="li-pruning-reasons",
    margin=0.08,
    reason="Absolute, against the full formula; m = 10 and 20, all R, r = 3. 40 deletions of 4 networks leave up to 0.03.",
    check=lambda dataset: over_seeds(abs((dataset.error.sel(order="random") - dataset.error_theory).sel(setting=NARROW))),
    control=lambda dataset: dataset.assign(
        error_theory=dataset.error.sel(order="random", R=0, drop=True).broadcast_like(dataset.error_theory)
    ),
    control_sentence="the same without that probability: the whole network's error at every R",
)

L22 = Claim(
    id="L22",
    paper="li",
    section="3.4",
    sentence="About 15% of all neurons can be pruned, the smallest first, at no cost.",
    confidence="T",
    kind="bound",
    experiment="li-pruning",
    margin=2e-3,
    reason="Change of hinge loss and 0-1 error, absolute. Where fewer than 15% are small, a few large ones are among them.",
    check=lambda dataset: over_seeds(
        xr.concat([abs(loss.sel(P=0.15) - loss.sel(P=0)) for loss in (dataset.hinge_shortest, dataset.error_shortest)], "loss")
    ),
    control=lambda dataset: dataset.assign(
        hinge_shortest=dataset.hinge_shortest.sel(P=0.6).expand_dims(P=[0.15]).combine_first(dataset.hinge_shortest)
    ),
    control_sentence="60% of all neurons",
)
