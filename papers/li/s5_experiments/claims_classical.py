"""Claims L20: section 5, in-context learning against classical learners."""

import functools

import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy, distance_over_seeds, over_seeds

_claim = functools.partial(Claim, paper="li", section="5")
_classical = functools.partial(_claim, experiment="li-classical")

OTHERS = ["logistic", "linear SVM", "Gaussian SVM", "1-NN", "3-NN"]


def _swapped(dataset: xr.Dataset, learner: str, by: str) -> xr.Dataset:
    """Return the dataset with one learner's measurements replaced by another's."""
    broken = dataset.copy(deep=True)
    for name in ("error", "missed_present", "missed_absent"):
        broken[name].loc[{"learner": learner}] = dataset[name].sel(learner=by)
    return broken


def _clearly_best(dataset: xr.Dataset) -> Discrepancy:
    errors = dataset.error.sel(alpha=0.6, l=6)
    return over_seeds(1.3 * errors.sel(learner="ICL") - errors.sel(learner=OTHERS))


def _tie(dataset: xr.Dataset) -> Discrepancy:
    errors = dataset.error.sel(alpha=0.8)
    gap = over_seeds(errors.sel(learner="ICL") - errors.sel(learner="logistic"))
    return Discrepancy(abs(gap.value).round(9), gap.two_se)


def _worst(dataset: xr.Dataset) -> Discrepancy:
    errors = dataset.error.sel(l=6)
    return over_seeds(errors.sel(learner=["ICL", *OTHERS[:-1]]) - errors.sel(learner="3-NN"))


def _as_good(dataset: xr.Dataset) -> Discrepancy:
    errors = dataset.error.sel(l=dataset.l[dataset.l >= 10])
    return over_seeds(errors.sel(learner="ICL") - errors.sel(learner="logistic"))


def _neighbours(dataset: xr.Dataset) -> Discrepancy:
    return distance_over_seeds(dataset.error.sel(learner=["1-NN", "3-NN"]) - dataset.neighbours_theory)


def _present(dataset: xr.Dataset) -> Discrepancy:
    return over_seeds(dataset.missed_present.sel(learner="ICL"))


L20 = _classical(
    id="L20",
    sentence="At α′ = 0.6 in-context learning is clearly the best: at l = 6 every classical learner errs 1.3 times as often.",
    confidence="S",
    kind="bound",
    margin=0.0,
    reason="1.3 times the model's error less the learner's. The least ratio on the slides is 1.4 at l = 6 and 2.3 at l = 20.",
    check=_clearly_best,
    control=lambda dataset: _swapped(dataset, "ICL", "untrained"),
    control_sentence="the model before training",
    recorded=FAILS,
)

L20b = _classical(
    id="L20b",
    sentence="At α′ = 0.8 in-context learning and logistic regression tie at every length.",
    confidence="S",
    kind="bound",
    margin=0.02,
    reason="Absolute difference of the errors, on the same prompts. On the slides the next learner is 0.015 away at l = 6.",
    check=_tie,
    control=lambda dataset: _swapped(dataset, "ICL", "untrained"),
    control_sentence="the model before training",
)

L20c = _classical(
    id="L20c",
    sentence="At l = 6 three nearest neighbours err most, at both shares.",
    confidence="S",
    kind="bound",
    margin=-0.03,
    reason="Every other error less that of 3-NN; the law for neighbours puts them 0.12 apart.",
    check=_worst,
    control=lambda dataset: _swapped(dataset, "3-NN", "1-NN"),
    control_sentence="one neighbour in place of three",
)

L20d = _classical(
    id="L20d",
    sentence="From l = 10 on in-context learning is at least as good as logistic regression, at both shares.",
    confidence="S",
    kind="bound",
    margin=0.02,
    reason="Its error less that of logistic regression, on the same prompts; the margin of L20b.",
    check=_as_good,
    control=lambda dataset: _swapped(dataset, "ICL", "untrained"),
    control_sentence="the model before training",
)

L20e = _classical(
    id="L20e",
    sentence="1-NN and 3-NN err by a binomial law: own pattern nearest, any other label wrong with probability 1/(2 − α′).",
    confidence="D",
    kind="formula",
    margin=0.08,
    reason="Absolute, all cells; one for three neighbours is off by 0.13 or more. The quick profile has 480 prompts a cell.",
    check=_neighbours,
    control=lambda dataset: _swapped(dataset, "3-NN", "1-NN"),
    control_sentence="one neighbour in place of three",
)

L20f = _classical(
    id="L20f",
    sentence="The model errs only where no example carries the query's pattern.",
    confidence="D",
    kind="bound",
    margin=0.01,
    reason="Share of prompts that contain the pattern and are wrong. 3-NN has 0.1 at l = 6.",
    check=_present,
    control=lambda dataset: _swapped(dataset, "ICL", "3-NN"),
    control_sentence="3-NN in place of the model",
)

# --- reasons ------------------------------------------------------------------------------------------------------


def _best_with_noise(dataset: xr.Dataset) -> Discrepancy:
    errors = dataset.error.sel(variant="K = 3", l=6)
    return over_seeds(1.3 * errors.sel(learner="ICL") - errors.sel(learner=OTHERS))


def _unmoved(dataset: xr.Dataset) -> Discrepancy:
    errors = dataset.error.sel(learner="ICL")
    gap = over_seeds(errors - errors.sel(variant="defaults"))
    return Discrepancy(abs(gap.value).round(9), gap.two_se)  # counts that cancel leave rounding


def _without_noise(dataset: xr.Dataset) -> xr.Dataset:
    broken = dataset.copy(deep=True)
    broken["error"].loc[{"variant": "K = 3"}] = dataset.error.sel(variant="defaults")
    return broken


L20g = _claim(
    id="L20g",
    sentence="With more noise the ranking of L20 appears: for κ up to 3 every other learner errs 1.3 times as often at l = 6.",
    confidence="D",
    kind="bound",
    experiment="li-classical-reasons",
    margin=0.0,
    reason="1.3 times the model's error less the learner's, as for L20; α′ = 0.6.",
    check=_best_with_noise,
    control=_without_noise,
    control_sentence="κ up to 0.5",
)

L20h = _claim(
    id="L20h",
    sentence="The trained model does not feel the noise: its error stays as it is up to κ = 3.",
    confidence="D",
    kind="bound",
    experiment="li-classical-reasons",
    margin=0.02,
    reason="Largest change of its error; the learners' errors change by 0.1 and more.",
    check=_unmoved,
    control=lambda dataset: dataset.assign(
        error=dataset.error.where(dataset.learner != "ICL", dataset.error.sel(learner="3-NN"))
    ),
    control_sentence="3-NN in place of the model",
)
