"""Numbers in the alternative texts of this part, by a second route."""

from fractions import Fraction

import numpy as np
from scipy.special import softmax

from papers.li import published
from papers.li.theory.floor import majority_wrong, missing
from tests.papers.prose import ends, numbers, tells


def average(values, **at):
    """Return the mean over networks at a place."""
    return values.sel(at).sum("seed") / values.sizes["seed"]


def slides():
    """Return what is said of the slides' curves of deletion; both start at one error."""
    (start, *_, largest), (*_, random) = published.PRUNED.values()
    return start, published.PRUNED_SHARES[0], largest, random, published.PRUNED_SHARES[-1]


# --- 2 and 3.2 --------------------------------------------------------------------------------------------------------


@tells("li-training")
def training(d):
    least, _ = ends(average(d.hinge_unseen, tasks="one-sided"))
    first, last = (average(d.hinge_training, step=step).mean() for step in ends(d.step))
    return first, last, least, average(d.hinge_blind)[0].mean(), d.error_training.sel(step=0).mean()


@tells("li-unseen-tasks")
def unseen_tasks(d):
    """The sets are told by their names."""
    violating = [name.startswith(("single", "one-sided", "first half")) for name in d.set.values]
    covering = average(d.error)[~np.array(violating)]
    return average(d.error_trained).max(), covering.max(), *ends(average(d.error)[violating])


@tells("li-two-memories")
def two_memories(d):
    """5/9 as a fraction; attention and the error on contrary contexts at the least and the greatest ratio."""
    memory = Fraction(float(d.error_theory)).limit_denominator(20)
    at = [average(values, ratio=ratio) for values in (d["mass"], d.value_error) for ratio in ends(d.ratio)]
    return memory.numerator, memory.denominator, *at


# --- 3.3 --------------------------------------------------------------------------------------------------------------


@tells("li-coefficient-sum")
def coefficient_sum(d):
    """Under rescaling error and hinge are largest where the sum is 0; the 0 and 1 of the 0-1 error."""
    fixed, rescaled, hinge, lost = map(average, (d.error, d.error_rescaled, d.hinge, d.hinge_rescaled))
    peaks = [(each.max(), each.mean("setting").idxmax()) for each in (rescaled, lost)]
    beyond = [ends(each[:, least <= d.S_1])[-1] for each, least in ((fixed, 0), (rescaled, 1))]
    towards = [hinge[:, -1].mean(), *hinge[:, np.flatnonzero(d.S_1 == -1)[0]], -1]
    return *ends(d.S_1), 0, 1, beyond[0], 0, *peaks[0], beyond[1], 1, *towards, *peaks[1]


@tells("li-rescaling")
def rescaling(d):
    """What the vote law and the attention of theory give, on whose lines the markers lie."""
    least, most = ends(d.S_1)
    error, attention = (average(values) for values in (d.error_theory, d.mass_theory))
    at = [error.sel(S_1=least), error.sel(S_1=0.7), 0.7, *attention.sel(S_1=[least, most])]
    return least, most, *at, ends(average(d.hinge_fixed))[-1]


@tells("li-sum-reasons")
def sum_reasons(d):
    """The two largest of the greatest errors of the settings, at sums from 0 on."""
    greatest = average(d.error)[:, d.S_1 >= 0].max("S_1")
    *_, second, first = np.argsort(greatest.values)
    widest = d.S_1[d.gap_spread.transpose("S_1", ...).values.sum((1, 2)).argmax()]
    return *map(float, numbers(d.setting.values[first])), greatest[first], greatest[second], widest


@tells("li-task-fraction")
def task_fraction(d):
    """A shift gives as many tasks as patterns; an error below 0.0001 is said to be at most that."""
    least, most = (shifts * d.sizes["key"] for shifts in ends(d.shifts))
    few = [average(values, shifts=1) for values in (d.error_out, d.error_worst)]
    rest = sorted([1e-4, float(average(d.error_out)[-1])])[-1]
    return ends(average(d.error_in))[-1], few[0], least, few[1], rest, most, least, most


@tells("li-training-length")
def training_length(d):
    """The largest share needs the fewest steps, the least share the most."""
    reached = [d.training_length[k] for k in np.flatnonzero(np.isfinite(d.steps).all(["alpha", "seed"]))]
    shares = ends(d.alpha)[::-1]
    return [each for k in (0, -1) for each in (reached[k], *average(d.steps).sel(training_length=reached[k], alpha=shares))]


# --- 3.4 --------------------------------------------------------------------------------------------------------------


@tells("li-magnitudes")
def magnitudes(d):
    """Rows shorter than half the longest, counted among the lengths; the first step at which half of them rest."""
    lengths = d.length.sel(group="A").transpose("seed", "row").values
    return (lengths < lengths[:, -1:] / 2).mean(), d.step[np.searchsorted(average(d.at_rest), 0.5)]


@tells("li-pruning")
def pruning(d):
    """Our markers are those of every order."""
    d = d.sel(domain="out of domain")
    every = [average(d.error)[:, d["R"] <= 0.6], average(d.error_shortest)[d.P <= 0.6]]
    hinge, (*_, one_label) = average(d.hinge, R=1, order="random"), average(d.error, order="one label")
    most = max(ends(each)[-1] for each in every)
    return hinge, 0, 1, 0.6, most, *slides(), average(d.error_shortest, P=max(d.P)), one_label


@tells("li-pruning-reasons")
def pruning_reasons(d):
    sizes = {int(name.split()[2].strip(",")) for name in d.setting.values if name.startswith("m = ")}
    return 0, 1, *sorted(sizes)[:2], *slides()


# --- 4 ----------------------------------------------------------------------------------------------------------------


@tells("li-attention")
def attention(d):
    """On unseen tasks by the odds law; the 1 of one shift."""
    half = dict(setting="half of the patterns", step=max(d.step))
    crosses = zip(published.ATTENTION_COURSE[1:], published.ATTENTION_STEPS[1:], strict=True)
    new = average(d["mass"], split="out of domain", **half)
    return 1, average(d.mass_theory, **half), new, published.ATTENTION_STEPS[0], *np.ravel([*crosses])


@tells("li-training-map")
def training_map(d):
    """Of the steps that are drawn, the first at which a query gives its own context more than half."""
    shown = [0, 30, 40, 50, max(d.step)]
    maps = softmax(d.scores.sel(setting="A", step=shown).transpose("step", "query", "key").values, -1)
    return [shown[int((np.trace(maps, axis1=1, axis2=2) <= d.sizes["key"] / 2).sum())]] * 2


@tells("li-hinge-margin")
def hinge_margin(d):
    """At the end, on the plateau, all c from this one on leave less than 0.01."""
    above = (1 - average(d["mass"], resumed=max(d.resumed)) >= 0.01).values
    share = average(d.active_before)[[0, -1]]
    return 1, *share, 1, min(d.c), 0.01, d.c[np.flatnonzero(above)[-1] + 1]


# --- 5 ----------------------------------------------------------------------------------------------------------------


@tells("li-decoder")
def decoder(d):
    longest = max(d.l)
    return longest, *(each for domain in ("in", "out") for each in ends(average(d.error, l=longest, domain=domain)))


@tells("li-decoder-positions")
def decoder_positions(d):
    """The text holds no number."""
    return ()


@tells("li-decoder-attention")
def decoder_attention(d):
    """Errors of the slides are those of the longest prompts, at the least and the greatest sum that was read off."""
    before, after = (ends(average(d["mass"], domain="out", stage=stage)) for stage in ("before", "after"))
    scaled, fixed = (average(d.shifted, convention=name) for name in ("rescaling", "fixed norm"))
    falls = ends(scaled)[-1], d["sum"][np.argsort(scaled.values)[-1]], scaled[-1], d["sum"].max()
    read = [each for S_1 in (min(published.SUMS), max(published.SUMS)) for each in (published.SUMS[S_1][-1], S_1)]
    return *ends(d.layer), *before, *after, *falls, *read, *ends(fixed)


@tells("li-published-floor")
def published_floor(d):
    """The law as the chance that the pattern is missing times that of a wrong majority."""
    point = published.LEARNERS[0.8, "ICL"][published.LENGTHS.index(18)]
    return 0.6, 0.8, point / (missing(18, 0.8) * majority_wrong(18, 0.8))
