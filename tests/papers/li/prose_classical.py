"""What the page on the experiments of section 5 says of the published results of classical learners and of the slides."""

from json import loads

import numpy as np

from tests.papers.prose import says

PAGE = "li_5_experiments"
FITTED = ["logistic", "linear SVM", "Gaussian SVM", "1-NN", "3-NN"]
BEYOND = [12, 14, 16, 18]


@says(PAGE, "Most errors of all learners but 3-NN fall on the same prompts, those without", "li-classical")
def on_the_same_prompts(d):
    """Eight in nine, at either share, all lengths together."""
    there, every = (x.sum(["l", "seed"]).sel(learner=["ICL", *FITTED[:-1]]) for x in (d.missed_present, d.error))
    return 3, bool((there < every / 8).all())


def over_the_model(errors):
    return errors.sel(learner="logistic") / errors.sel(learner="ICL")


@says(
    PAGE,
    "In the full profile logistic regression errs more often than the model: over prompts of 8 and 10 contexts together 1.29 "
    r"times as often at $\alpha'=0.8$ and 1.20 times at 0.6, on the same prompts (L20d). At 6 contexts and $\alpha'=0.8$ they "
    "are level, at 1.01.",
    "li-classical",
)
def logistic_against_the_model(d):
    errors = d.error.mean("seed")
    both = over_the_model(errors.sel(l=[8, 10]).sum("l"))
    six = over_the_model(errors.sel(l=6, alpha=0.8))
    return 8, 10, both.sel(alpha=0.8), 0.8, both.sel(alpha=0.6), 0.6, 6, 0.8, six


@says(
    PAGE,
    r"The linear machine does slightly better than the model on short prompts: at $\alpha'=0.8$ and 6 contexts it errs on 3.9% "
    "in the full profile, the model on 4.3%.",
    "li-classical",
)
def linear_machine(d):
    """Better over ten networks, in pairs on the same prompts."""
    both = d.error.sel(alpha=0.8, l=6, learner=["linear SVM", "ICL"])
    gap = both.diff("learner").squeeze()
    machine, model = both.mean("seed")
    return 0.8, 6, machine, model, bool(gap.mean() > 2 * gap.std(ddof=1) / gap.size**0.5)


@says(PAGE, "Up to 12 contexts 1-NN errs less often than either.", "li-classical")
def one_neighbour(d):
    errors = d.error.mean("seed").sel(l=d.l[d.l <= 12])
    return 12, 1, bool((errors.sel(learner="1-NN") < errors.sel(learner=["ICL", "logistic"])).all())


@says(
    PAGE,
    "On the slides' scale of errors at 0.8 the difference, at most 0.003, does not show; it does relative to what is left, "
    "which is 0.015 at 8 contexts and 0.002 at 12.",
    "li-classical",
)
def difference(d):
    errors = d.error.mean("seed").sel(alpha=0.8)
    model = errors.sel(learner="ICL")
    return 0.8, abs(errors.sel(learner="logistic") - model).max(), model.sel(l=8), 8, model.sel(l=12), 12


@says(
    PAGE,
    "What the slides show for 3-NN is reproduced to a factor of two up to 16 contexts, the order of magnitude of the others "
    "up to 12.",
    "li-classical",
)
def slides_of_three_neighbours(d):
    """To a factor of about two for 3-NN, of ten for the others."""
    error = d.error.mean("seed")
    off = np.exp(abs(np.log(d.slides / error.where(error > 0))))
    three, others = off.sel(learner="3-NN", l=slice(16)), off.sel(learner=["ICL", *FITTED], l=slice(12))
    return 3, 16, 12, bool(three.max() < 2.2), bool(others.max() < 10)


@says(PAGE, "On the slides the classical learners do worse than here from 14 contexts on", "li-classical")
def slides_do_worse(d):
    slides = d.slides.sel(learner=FITTED, l=slice(14, None))
    return 14, bool(((slides > d.error.mean("seed")) | slides.isnull()).all())


def away(d):
    """|ln(error / slides)| of the classical learners; no error counts as half of one."""
    declared = loads(d.attrs["declaration"])
    least = 0.5 / (d.sizes["seed"] * declared["prompts"] * declared["odr"]["draws"])
    return abs(np.log(d.error.mean("seed").clip(least) / d.slides)).sel(learner=FITTED)


def factor(d):
    """By which the errors are from the slides', in the geometric mean over learners and lengths."""
    return np.exp(away(d).mean(["learner", "l"]))


def ratios(d):
    """By which each learner errs more often than the model, at 6 contexts."""
    error = d.error.mean("seed").sel(l=6)
    return error.sel(learner=FITTED) / error.sel(learner="ICL")


@says(
    PAGE,
    "In the mean over lengths, noise is the one change that moves all learners towards the slides while the model stays where "
    "it is.",
    "li-classical-reasons",
)
def direction_of_the_noise(d):
    """In the geometric mean over the slides' lengths every learner comes nearer at K = 1.5, and by no other change."""
    off = away(d).mean("l")
    nearer = (off < off.sel(variant="defaults")).all("learner")
    other = nearer.sel(variant=[name for name in d.variant.values if "K" not in name])
    model = d.error.mean("seed").sel(learner="ICL")
    stays = (abs(model / model.sel(variant="defaults") - 1) < 0.02).all()
    return bool(nearer.sel(variant="K = 1.5")), not bool(other.any()), bool(stays)


@says(
    PAGE,
    "In the full profile the errors at $K=1.5$ come nearest, a factor 1.5 from the slides in the geometric mean",
    "li-classical-reasons",
)
def nearest(d):
    off = factor(d)
    return float(off.idxmin("variant").item().split()[-1]), off.min()


@says(
    PAGE,
    "There 1-NN errs only 1.09 times as often as the model at $l=6$, where the slides' best learner has 1.4 (L20i).",
    "li-classical-reasons",
)
def ranking_there(d):
    slides = d.slides.sel(l=6)
    best = (slides.sel(learner=FITTED) / slides.sel(learner="ICL")).min()
    return 1, ratios(d).sel(variant="K = 1.5", learner="1-NN"), 6, best


@says(
    PAGE,
    "At $K=1.75$ every learner errs 1.47 times as often or more, and the errors are a factor 2.2 from the slides'. At "
    "$K=2$ and 3 the ranking is clear (L20g), and the factor is 2.9 and 5.0.",
    "li-classical-reasons",
)
def more_noise(d):
    """Every learner at least so often."""
    off, least = factor(d), ratios(d).min("learner")
    clear = bool((least.sel(variant=["K = 2", "K = 3"]) > 1.3).all())
    at = [least.sel(variant="K = 1.75"), off.sel(variant="K = 1.75")]
    return [1.75, *at, 2, 3, off.sel(variant="K = 2"), off.sel(variant="K = 3"), clear]


@says(PAGE, "the largest noise remembered of the paper, it is 4.6 and there is no ranking", "li-classical-reasons")
def remembered_noise(d):
    return factor(d).sel(variant="defaults"), bool(ratios(d).sel(variant="defaults").min() < 1)


@says(
    PAGE,
    "In the full profile $C=100$ gives the linear machine its plateau, 0.06 at $l=20$, and the other learners at most 0.006;",
    "li-classical-reasons",
)
def plateau_of_the_machine(d):
    cell = d.error.mean("seed").sel(l=20, variant="C = 100")
    others = cell.sel(learner=[name for name in d.learner.values if name != "linear SVM"])
    return 100, cell.sel(learner="linear SVM"), 20, others.max()


@says(PAGE, "$K$ of 1 and more gives the plateau as well", "li-classical-reasons")
def plateau_by_noise(d):
    """Of the linear machine: at 20 contexts it keeps more than half of what it has at 12."""
    noisy = d.error.mean("seed").sel(learner="linear SVM", variant=[name for name in d.variant.values if "K" in name])
    return 1, bool((noisy.sel(l=20) > 0.5 * noisy.sel(l=12)).all())


@says(
    PAGE,
    r"At $\alpha'=0.6$ the points follow the law over the whole range, to a factor 1.9 at $l=20$ and 1.7 before.",
    "li-published-floor",
)
def points_at_a_share_of_06(d):
    off = np.exp(abs(np.log(d.slides / d.vote_theory))).sel(alpha=0.6)
    return 0.6, off.sel(l=20), 20, off.sel(l=d.l[d.l < 20]).max()


@says(
    PAGE,
    r"At $\alpha'=0.8$ they do so up to $l=10$; beyond, they stay above it, by a factor 15 at $l=18$, and close to the points",
    "li-published-floor",
)
def points_at_a_share_of_08(d):
    over, slides = (d.slides / d.vote_theory).sel(alpha=0.8), d.slides.sel(l=BEYOND)
    follow = bool(abs(np.log(over.sel(l=[6, 8, 10]))).max() < np.log(2))
    close = bool(abs(np.log(slides.sel(alpha=0.8) / slides.sel(alpha=0.6))).max() < np.log(2.5))
    return 0.8, 10, over.sel(l=18), 18, follow, bool((over.sel(l=BEYOND) > 2).all()), close


@says(
    PAGE,
    "about once in 160 prompts at 12 contexts, once in 450 at 14 and 16, and once in 700 at 18. The model "
    "measured here has no such remainder.",
    "li-published-floor",
    "li-classical",
)
def remainder(d, classical):
    beyond = d.sel(alpha=0.8, l=BEYOND)
    often = (1 / (beyond.slides - beyond.vote_theory)).values.round(-1)
    return (
        often[0],
        12,
        often[1],
        14,
        16,
        often[3].round(-2),
        18,
        bool(often[1] == often[2]),
        bool(classical.missed_present.sel(learner="ICL").max() == 0),
    )


@says(PAGE, r"That more noise ($K\ge1.75$), and no tried setting of the learners, produces", "li-classical-reasons")
def what_gives_the_ranking(d):
    ranked = d.variant.values[(ratios(d).min("learner") > 1.3).values]
    return 1.75, set(ranked) == {"K = 1.75", "K = 2", "K = 3"}
