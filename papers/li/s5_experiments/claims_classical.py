"""Claims L20: section 5, in-context learning against classical learners."""

from icl_lib.companion.claim import claims_of
from icl_lib.companion.controls import everywhere, exchanged
from icl_lib.companion.verdict import FAILS, NOT_REPRODUCED, Discrepancy, over_seeds

OTHERS = ["logistic", "linear SVM", "Gaussian SVM", "1-NN", "3-NN"]


claim = claims_of("li-classical")


@claim(
    "S", "bound", margin=0.0, recorded=NOT_REPRODUCED, control=exchanged("learner", "ICL", "untrained"),
    positive=lambda dataset: dataset.assign(error=0 * dataset.error + dataset.slides),
)  # fmt: skip
def L20(dataset):
    """At $α′ = 0.6$ in-context learning is clearly the best: at $l = 6$ every classical learner errs 1.3 times as often.

    Margin: 1.3 times the model's error less the learner's. The least ratio on the slides is 1.4 at $l = 6$ and 2.3 at $l =
    20$.
    Control: the model before training
    Positive: the points of the slides
    Missing: the noise of the authors' inputs and the settings of their learners
    """
    errors = dataset.error.sel(alpha=0.6, l=6)
    return over_seeds(1.3 * errors.sel(learner="ICL") - errors.sel(learner=OTHERS))


@claim("S", "bound", margin=0.02, control=exchanged("learner", "ICL", "untrained"))
def L20b(dataset):
    """At $α′ = 0.8$ in-context learning and logistic regression tie at every length.

    Margin: Absolute difference of the errors, on the same prompts. On the slides the next learner is 0.015 away at $l =
    6$.
    Control: the model before training
    """
    errors = dataset.error.sel(alpha=0.8)
    gap = over_seeds(errors.sel(learner="ICL") - errors.sel(learner="logistic"))
    return Discrepancy(abs(gap.value).round(9), gap.two_se)


@claim("S", "bound", margin=-0.03, control=exchanged("learner", "3-NN", "1-NN"))
def L20c(dataset):
    """At $l = 6$ and $α′ = 0.8$ three nearest neighbours err most.

    Margin: Every other error less that of 3-NN; the laws for neighbours and for the vote put them 0.13 apart. At $α′ = 0.6$
    they err most here as well; on the slides, where they have 0.18, the Gaussian machine has as much.
    Control: one neighbour in place of three
    """
    errors = dataset.error.sel(alpha=0.8, l=6)
    return over_seeds(errors.sel(learner=["ICL", *OTHERS[:-1]]) - errors.sel(learner="3-NN"))


@claim("N", "bound", margin=0.02, control=exchanged("learner", "ICL", "untrained"))
def L20d(dataset):
    """From $l = 10$ on in-context learning is at least as good as logistic regression, at both shares.

    Margin: Its error less that of logistic regression, on the same prompts; the margin of L20b.
    Control: the model before training
    """
    errors = dataset.error.sel(l=dataset.l[dataset.l >= 10])
    return over_seeds(errors.sel(learner="ICL") - errors.sel(learner="logistic"))


@claim("D", "formula", of="error_neighbours", margin=0.2, quick_margin=0.95, near=("one neighbour for three",))
def L20e(dataset):
    """1-NN and 3-NN err by a binomial law: own pattern nearest, any other label wrong with probability $1/(2 − α′)$.

    Margin: Relative, where the law is 0.05 or more, all draws together: 6,000 prompts a cell in full, 240 in quick.
    Moved: from an absolute 0.08 in both profiles.
    """


@claim("D", "bound", margin=0.01, control=exchanged("learner", "ICL", "3-NN"))
def L20f(dataset):
    """The model errs only where no example carries the query's pattern.

    Margin: Share of prompts that contain the pattern and are wrong. 3-NN has 0.13 and 0.16 at $l = 6$ (full).
    Control: 3-NN in place of the model
    """
    return over_seeds(dataset.missed_present.sel(learner="ICL"))


# --- reasons ------------------------------------------------------------------------------------------------------


claim = claims_of("li-classical-reasons")


@claim("D", "bound", margin=0.0, control=exchanged("variant", "K = 3", "defaults"))
def L20g(dataset):
    """With more noise the ranking of L20 appears: for $κ$ up to 2 and up to 3 the others err 1.3 times as often at $l = 6$.

    Margin: 1.3 times the model's error less the learner's, as for L20; $α′ = 0.6$. The quick profile has $K = 3$ only.
    Moved: $K = 2$ is judged beside 3.
    Control: $κ$ up to 0.5
    """
    noisy = [name for name in dataset.variant.values if name in ("K = 2", "K = 3")]
    errors = dataset.error.sel(variant=noisy, l=6)
    return over_seeds(1.3 * errors.sel(learner="ICL") - errors.sel(learner=OTHERS))


@claim(
    "D", "bound", margin=0.0, recorded=FAILS, control=everywhere("error", variant="defaults"),
    positive=lambda d: d.isel(variant=[int(d.least_ratio.argmax("variant"))]),
)  # fmt: skip
def L20i(dataset):
    """The setting whose errors are nearest to the slides' has their ranking: the others err 1.3 times as often at $l = 6$.

    Margin: 1.3 times the model's error less the learner's, as for L20, where mean |ln(error/slides)| is least.
    Control: scikit-learn's defaults and $κ$ up to 0.5 in its place
    Positive: the setting with the clearest ranking in its place
    Fails because: our finding: noise moves the other learners towards the slides, but no setting tried has both their
    errors and their ranking.
    """
    errors = dataset.error.isel(variant=int(dataset.distance.argmin("variant"))).sel(l=6)
    return over_seeds(1.3 * errors.sel(learner="ICL") - errors.sel(learner=OTHERS))
