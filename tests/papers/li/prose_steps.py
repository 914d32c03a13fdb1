"""What the page on the number of steps says of the published results."""

import numpy as np

from papers.li.trained import A
from tests.papers.prose import both, says

PAGE = "li_3_3_how_many_steps"
BEHIND = "from 0.9 to 0.1"


def slopes(d, phase, start=0):
    """Return the exponents of a phase, mean over networks, by letter."""
    mean = d.slope.sel(phase=phase).isel(start=start).mean("seed")
    return dict(zip(d.letter.values, mean.values, strict=True))


def behind(d):
    """Return the steps between hinge 0.9 and 0.1, mean over networks, by start and cell."""
    return (d.time.sel(level=0.1) - d.time.sel(level=0.9)).mean("seed")


def over_escape(d, start, law="escape_theory"):
    """Return the steps until the hinge is 1/2 over a law, mean over networks, by cell."""
    return d.time.sel(level=0.5).isel(start=start).mean("seed") / d[law].isel(start=start)


@says(PAGE, "Training looks idle for most of its time.", "li-iterations")
def idle(d):
    return bool((d.time.sel(level=0.9) / d.time.sel(level=0.1) > 0.5).all())


@says(PAGE, r"For one shift $\Psi_L$ is 12% smaller than $\Psi(M_1)$ at $M_1=4$ and 9% at 24.", "li-iterations")
def falling_scores(d):
    less = (1 - d.escape_falling / d.escape_theory).isel(start=0).values[d.cell_letter.values == "M1"]
    return less[0], 4, less[-1], 24


@says(
    PAGE,
    r"All four directions hold. The exponents of $\beta$ and $M_1$ do not. That of $\alpha$ is $-0.93$ in the full profile, "
    r"just outside the margin; the quick one cannot tell it from the stated $-0.67$. The reason is that nearly all steps are "
    "spent near the initialisation.",
    "li-iterations",
)
def directions_and_exponents(d):
    total, stated = slopes(d, "to 0.1"), dict(zip(d.letter.values, d.slope_stated.values, strict=True))
    right = max(total["alpha"], total["beta"], total["eta"], -total["M1"]) < 0
    off = {letter for letter in ("alpha", "beta", "eta", "M1") if abs(total[letter] - stated[letter]) > 0.25}
    near = (behind(d) / d.time.sel(level=0.1).mean("seed")).isel(start=0).mean() < 0.1
    just = off == {"alpha", "beta", "M1"} and abs(total["alpha"] - stated["alpha"]) < 0.27
    return total["alpha"], stated["alpha"], bool(right), bool(just), bool(near)


@says(PAGE, "The full profile repeats the sweep with a larger $W_O$", "li-iterations")
def larger_start(d):
    half = np.allclose(d.escape_theory.isel(start=1) / d.escape_theory.isel(start=0), 2)
    return [*d.start.values] == ["ξ = 0.01", "ξ = 0.1"], half


@says(
    PAGE,
    r"The escape still dominates the total, and the steps to hinge ½ keep its exponents to about 0.1, except that of $\delta$, "
    "which is $-1.46$ in place of $-2$.",
    "li-iterations",
)
def exponents_of_the_larger_start(d):
    found, law = slopes(d, "to 0.5", 1), dict(zip(d.letter.values, d.slope_escape.values, strict=True))
    off = max(abs(found[letter] - law[letter]) for letter in law if letter != "delta")
    share = 1 - (behind(d) / d.time.sel(level=0.1).mean("seed")).isel(start=1)
    return off, found["delta"], law["delta"], bool(share.min() > 0.75)


@says(PAGE, "the runs take 0.40 of it in the mean and 0.34 to 0.49 over the settings", "li-iterations")
def share_of_the_prediction(d):
    ratio = over_escape(d, 1)
    return ratio.mean(), ratio.min(), ratio.max()


@says(PAGE, "In the full profile of the sweep above it lasts 6 to 39 steps", "li-iterations")
def few_steps(d):
    return behind(d).min(), behind(d).max()


@says(
    PAGE,
    r"even that of $\eta$, which is $-1$ for small steps, reads $-0.64$ and $-0.85$",
    "li-iterations",
    "li-small-steps",
)
def exponent_of_the_step(d, small):
    return slopes(small, BEHIND)["eta"], *(slopes(d, BEHIND, start)["eta"] for start in (0, 1))


@says(PAGE, "which shortens the escape and leaves the part behind it as it is", "li-iterations")
def a_larger_delta(d):
    shorter = slopes(d, "to 0.5")["delta"] < -1
    return bool(shorter), all(abs(slopes(d, BEHIND, start)["delta"]) < 0.05 for start in (0, 1))


@says(
    PAGE,
    "In the full profile this part lasts 26 to 143 steps, and its exponents are known to 0.03 or better.",
    "li-small-steps",
)
def many_steps(d):
    slope = d.slope.sel(phase=BEHIND)
    return behind(d).min(), behind(d).max(), (2 * slope.std("seed", ddof=1) / d.sizes["seed"] ** 0.5).max()


@says(
    PAGE,
    r"Those of $\eta$ and $\alpha$, $-0.96$ and $-0.61$, are near the stated ones. Those of $\beta$ and $M_1$, $-0.95$ and "
    "$+0.69$, are not (L10o).",
    "li-small-steps",
)
def exponents_behind(d):
    found, stated = slopes(d, BEHIND), dict(zip(d.letter.values, d.slope_stated.values, strict=True))
    letters = "eta", "alpha", "beta", "M1"
    far = [abs(found[letter] - stated[letter]) for letter in letters]
    return *(found[letter] for letter in letters), bool(max(far[:2]) < 0.1), bool(min(far[2:]) > 0.25)


@says(PAGE, r"In the full profile every model with $l_{tr}\ge2$ learns, also at $\alpha=0.2$", "li-training-length")
def every_model_learns(d):
    return 2, d.alpha.min(), bool(d.error.sel(training_length=d.training_length >= 2).max() < 0.01)


@says(
    PAGE,
    "Two contexts take 1.9 to 2.3 times the steps of twenty. Twice the share takes between 0.46 and 0.58 of the steps, at "
    "every length",
    "li-training-length",
)
def steps_by_length_and_share(d):
    steps = d.steps.mean("seed").sel(training_length=d.training_length >= 2)
    long = steps.sel(training_length=2) / steps.sel(training_length=20)
    share = steps.values[:, 1:] / steps.values[:, :-1]
    return long.min(), long.max(), share.min(), share.max()


@says(PAGE, "in the full profile within 30% (L10c), with exponents within 0.25 (L10d).", "li-iterations")
def predicted_without_a_fit(d):
    found, law = slopes(d, "to 0.5"), dict(zip(d.letter.values, d.slope_escape.values, strict=True))
    near = max(abs(found[letter] - law[letter]) for letter in law) <= 0.25
    return 0.3, 0.25, bool(abs(over_escape(d, 0) - 1).max() <= 0.3), bool(near)


@says(PAGE, "The mean miss, 11%, is what the falling scores make (L10p).", "li-iterations")
def mean_miss(d):
    return abs(over_escape(d, 0) - 1).mean(), bool(abs(over_escape(d, 0, "escape_falling").mean() - 1) < 0.05)


@says(
    PAGE,
    "contexts are enough (L9p), and fewer are too (L9r). Larger shares take less training data (L9q).",
    "li-training-length",
)
def enough_contexts(d):
    fewer = d.error.sel(training_length=2, alpha=d.alpha < 0.5).max() < 0.01
    enough = d.error.sel(training_length=5).max() < 0.01
    less = d.steps.mean("seed").sel(training_length=d.training_length >= 2).diff("alpha") < 0
    return bool(enough), bool(fewer), bool(less.all())


@says(PAGE, "an eighth of the step (a quarter in the quick profile)")
def smaller_steps():
    quick, full = both("li-small-steps")
    return bool(A.eta / full.base.eta == 8), bool(A.eta / quick.base.eta == 4)
