"""What a declaration could measure and no claim could judge is refused in one sentence."""

from dataclasses import replace

import pytest

from papers import registry
from papers.dherin.trainings import FOUR_BLOCKS
from papers.regression.trainings import FIXED, SPARSE

SHIFTS = registry.experiment("garg-shifts").quick.shifts
PROMPTS = registry.experiment("zhang-garg-prompts").quick.shifts

WRONG = [
    ("zhang-two-notions", {"kappa": (10.0,)}, "take 1 as one of them"),
    ("zhang-two-notions", {"M": (100, 4)}, "the longest last"),
    ("zhang-two-notions", {"d": (4, 2), "M": (3, 100)}, "lengths of at least d"),
    ("zhang-population-loss", {"examples": 19}, "take 20 or more"),
    ("zhang-one-step", {"M_long": (100, 50)}, "take rising ones"),
    ("zhang-one-step", {"d": (4, 2), "M_long": (3, 100)}, "from d = 4 on"),
    ("zhang-attention", {"scale": 1.0}, "above 1"),
    ("zhang-training", {"batch": 255}, "an even number"),
    ("zhang-training", {"descent_rates": (0.2,)}, "one of 0.01 or less"),
    ("zhang-training", {"seeds": 1}, "at least 2"),
    ("zhang-averaged-error", {"M": (11,)}, "take each M from N"),
    ("zhang-averaged-error", {"long_N": 160}, "a long N above all"),
    ("zhang-averaged-error", {"searched_N": 40}, "beyond every M, 40 here"),
    ("zhang-averaged-error", {"rate_range": (10**5, 10**3)}, "the shorter one first"),
    ("zhang-task-shift", {"M": (40, 10)}, "rising lengths"),
    ("zhang-task-shift", {"scales": (2.0,)}, "take 1 as one of them"),
    ("zhang-query-shift", {"length": (100, 100)}, "rising lengths"),
    ("zhang-orthogonal-query", {"M": 10}, "take M < d"),
    ("zhang-orthogonal-query", {"kappa": (2.0, 20.0)}, "take 1 and 20"),
    ("zhang-covariate-shift", {"M": (4, 10)}, "at least d = 5"),
    ("zhang-covariate-shift", {"scale": (0.5, 1.0, 2.0)}, "not 1"),
    ("zhang-covariate-shift", {"length": (1000, 100)}, "rising ones"),
    ("zhang-garg-prompts", {"prompts": 1_500}, "multiple of 2000"),
    ("zhang-pl", {"kappa": (4.0, 2.0)}, "take rising values"),
    ("zhang-pl", {"d": (1, 2)}, "two or more above 1"),
    ("zhang-pl", {"share": 1.0}, "below 1"),
    ("zhang-time-course", {"sigma": (0.01, 3.0)}, "where the flow ends"),
    ("zhang-start-size", {"kappa": 1.0}, "above 1"),
    ("zhang-rank-one-trap", {"d": (1,)}, "at least 2"),
    ("zhang-long-prompts", {"settings": ((1, 2.0),)}, "at least 2"),
    ("zhang-six-terms", {"N": (5,)}, "as many of each"),
    ("zhang-random-covariance", {"M": (3, 9)}, "the length of training"),
    ("zhang-random-covariance-limit", {"edges": (0.5, 0.5)}, "rising order"),
    ("zhang-random-covariance-flow", {"fraction": 1.0}, "below 1"),
    ("garg-regression", {"trainings": (SPARSE, FIXED[0])}, "take trainings of equal d"),
    ("garg-regression", {"longest": 15}, "take 2 <= d <= N <= longest"),
    ("garg-sparse", {"fast": FIXED[0]}, "take trainings of one law"),
    ("garg-sparse", {"lengths": (0, 3, 8)}, r"\[3, 5\], among them"),
    ("garg-shifts", {"shifts": replace(SHIFTS, k=(4, 10))}, "take the training's N, 2 d and the scale 3"),
    ("garg-shifts", {"shifts": replace(SHIFTS, d=6)}, "prompts of d = 6 for a model of d = 5: take the same"),
    ("garg-shifts", {"prompts": 150}, "multiple of 100"),
    ("lenses-what-is-left", {"blocks": (FOUR_BLOCKS,)}, "networks each"),
    ("lenses-what-is-left", {"queries": 10}, "four times as many"),
    ("lenses-any-prior", {"k": (1, 30)}, "take no more examples"),
    ("lenses-any-prior", {"contexts": (40,)}, "one for the decoder"),
    ("lenses-which-vector", {"steps": (1, 6)}, "beyond which the moments lose digits"),
    ("lenses-selectivity-alignment", {"k": (5, 1)}, "each length once"),
    *((slug, {"N": (5,)}, "take as many of each") for slug in ("ahn-depth", "ahn-random-covariances", "ahn-trained")),
    *(
        (slug, {"N": (5,)}, "take as many of each")
        for slug in ("lenses-own-optimum", "lenses-head-floor", "lenses-trained-blocks")
    ),
    ("ahn-many-dimensions", {"rho": (0.3,)}, "whole d/rho"),
    ("lenses-static-step", {"d": (3,)}, "take as many of each"),
]


@pytest.mark.parametrize(("slug", "change", "words"), WRONG)
def test_what_a_claim_cannot_judge_is_refused(slug, change, words):
    with pytest.raises(ValueError, match=words):
        replace(registry.experiment(slug).quick, **change)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *(({"scales": (scale,)}, "write fractions above 0") for scale in ("half", "1/0", "-1")),
        *(({"k": k}, "take ascending ones that begin below d = 20") for k in ((20, 10), (20, 40), (10, 10))),
        ({"subspace": 21}, "take at most 20"),
    ],
)
def test_shifted_prompts_that_cannot_be_drawn_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        replace(PROMPTS, **change)
