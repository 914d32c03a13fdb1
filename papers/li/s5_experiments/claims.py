"""Claims L16 to L19 and L21: section 5, the transformer of three layers and the points of the slides."""

import numpy as np
import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, UNDECIDED, Discrepancy, all_known, claims_of, over_seeds
from papers.li.published import SHARES


def _before_training(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the untrained models' error in every cell, and their attention after training."""
    untrained = dataset.untrained
    return dataset.assign(
        error=xr.zeros_like(dataset.error) + untrained,
        shifted=xr.zeros_like(dataset.shifted) + untrained.sel(domain="out"),
        mass=dataset.mass.where(dataset.stage == "before", dataset.mass.sel(stage="before")),
        mass_head=dataset.mass_head.where(dataset.stage == "before", dataset.mass_head.sel(stage="before")),
    )


claim = claims_of("li-decoder")


@claim("S", "bound", margin=SHARES["in", 0.8], quick_margin=0.2, control=_before_training)
def L16(dataset):
    """A causal transformer of three layers learns to classify on unseen tasks: its error at $α′ = 0.8$ is at most the slides'.

    Margin: The point of the slides at $α′ = 0.8$ and $l = 20$, 0.075. The quick profile stops after 250 steps, before all of
    its models have converged, and has to be below 0.2; chance is 0.5.
    Number: 0-1 error.
    Moved: from 0.2 in both profiles, which no model of the full profile comes near.
    Slack: the bound is the slides' point, and the mean of ten models lies far below it.
    Control: the models before training
    """
    return over_seeds(dataset.error.sel(domain="in", alpha=0.8).isel(l=-1))


@claim("D", "bound", margin=0.0, control=_before_training)
def L17(dataset):
    """While prompts are short, $l$ up to 6, a larger share $α′$ gives a smaller error: 1.0 against 0.8, in both domains.

    Margin: Error at 1.0 less 0.9 times that at 0.8. For a vote the ratio is 0.52 at $l = 4$; equal errors fail.
    Moved: judged at every length up to 6 and in each domain; it was $l = 4$ and the mean of both domains, and longer prompts,
    where no order is left, went without a word.
    Control: the models before training
    """
    short = dataset.error.sel(l=dataset.l[dataset.l <= 6])
    return over_seeds(short.sel(alpha=1.0) - 0.9 * short.sel(alpha=0.8))


@claim("S", "order", margin=0.0, recorded=UNDECIDED, control=_before_training)
def L17c(dataset):
    """At $l = 20$ too a larger share gives a smaller error: at $α′ = 1$ at most half of that at 0.8, in both domains.

    Margin: Error at 1.0 less half of that at 0.8. The slides have ratios of 0.27 in domain and 0.14 out of it (0.075, 0.054 and
    0.020; 0.072, 0.042 and 0.010); a half lies in the middle between the former and none, on a logarithmic scale.
    Control: the models before training
    """
    longest = dataset.error.isel(l=-1)
    return over_seeds(longest.sel(alpha=1.0) - 0.5 * longest.sel(alpha=0.8))


@claim("S", "bound", margin=0.0, control=_before_training)
def L17b(dataset):
    """The error falls with the length: longest prompts against $l = 4$, $α′ = 0.8$, mean of both domains.

    Margin: Error at the longest length less 0.9 times that at 4. On the slides the ratio is 0.6 and less; equal errors
    fail.
    Slack: the slides have 0.6, and equal errors have to fail with ten models.
    Control: the models before training
    """
    errors = dataset.error.sel(alpha=0.8).mean("domain", skipna=False)
    return over_seeds(errors.isel(l=-1) - 0.9 * errors.sel(l=4))


@claim("S", "bound", margin=-0.1, control=_before_training)
def L18(dataset):
    """Training turns attention to the query's pattern: in the most selective head its share rises, in both domains.

    Margin: Share of the contexts' attention, before less after. On the slides whole layers rise by 0.33 and more.
    Control: the models before training
    """
    mass = dataset.mass_head.max("layer", skipna=False)
    return over_seeds(mass.sel(stage="before") - mass.sel(stage="after"))


@claim(
    "S",
    "bound",
    part_of="L18",
    margin=0.0,
    recorded=NOT_REPRODUCED,
    control=_before_training,
    positive=lambda dataset: dataset.assign(mass=0 * dataset.mass + dataset.slides_mass),
)
def L18b(dataset):
    """After training every layer gives 0.7 or more of its attention to the contexts with the query's ODR pattern.

    Margin: The slides end at 0.85, 0.77 and 0.88; 0.7 leaves room for reading them by eye.
    Number: 0.7 minus the share of the attention.
    Control: the models before training
    Positive: the points of the slides
    Missing: the authors' GPT-2: its width, initialisation, optimiser and prompts are not told, and another depth of training
    may end elsewhere.
    """
    return over_seeds(0.7 - dataset.mass.sel(stage="after", domain="out"))


@claim("D", "bound", margin=-0.01, control=_before_training)
def L19(dataset):
    """Patterns rescaled by $S₁$: the error at $S₁ = 0.3$ is above that at $S₁ = 1.1$.

    Margin: Error at 1.1 less that at 0.3. The slides do not name their construction and have no $S₁ = 0.3$; there 0.5 already
    differs from 1.1 by 0.04.
    Slack: errors at $S₁ = 0.3$ are 0.19; the slides, which have no such point, differ by 0.04 between 0.5 and 1.1.
    Control: the models before training
    """
    errors = dataset.shifted.sel(convention="rescaling")
    return over_seeds(errors.sel(sum=1.1) - errors.sel(sum=0.3))


FACTOR = 3.6
"""Root of 13, by which the error falls on the slides from S_1 = 0.5 to 1.1: in the middle between that and no effect."""


@claim("S", "order", margin=0.0, recorded=UNDECIDED, control=_before_training)
def L19b(dataset):
    """The slides' main plot, read at fixed norm: at $S₁ = 0.5$ the error is at least 3.6 times that at 1.1.

    Margin: Error at 1.1 less that at 0.5 over 3.6. The slides have 0.047 and 0.0035, a factor 13; 3.6 is its root. They do not
    say whether their patterns keep their length.
    Control: the models before training
    """
    errors = dataset.shifted.sel(convention="fixed norm")
    return over_seeds(errors.sel(sum=1.1) - errors.sel(sum=0.5) / FACTOR)


@claim("D", "order", margin=0.0, control=_before_training)
def L19c(dataset):
    """The slides' main plot, read as a rescaling: at $S₁ = 0.5$ the error is at least 3.6 times that at 1.1.

    Margin: As for L19b.
    Number: Error at 1.1 less that at 0.5 over 3.6.
    Slack: 3.6 stands for half of the slides' effect on a logarithmic scale; in full ours is larger than theirs.
    Control: the models before training
    """
    errors = dataset.shifted.sel(convention="rescaling")
    return over_seeds(errors.sel(sum=1.1) - errors.sel(sum=0.5) / FACTOR)


def _chance(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with errors of a coin where positions are learned."""
    return dataset.assign(error=dataset.error.where(dataset.positions == "none", 0.5))


claim = claims_of("li-decoder-positions")


@claim("S", "bound", part_of="L16", margin=SHARES["in", 0.8], quick_margin=0.2, control=_chance)
def L16b(dataset):
    """With learned positions, as GPT-2 has them, it learns, too: its error on unseen tasks is at most the slides'.

    Margin: Those of L16.
    Number: 0-1 error.
    Moved: from 0.2 in both profiles, as L16.
    Slack: as for L16: the bound is the slides' point.
    Control: a coin in the place of the models with positions
    """
    return over_seeds(dataset.error.sel(positions="learned", domain="in").isel(l=-1))


claim = claims_of("li-decoder-neurons")


def _before(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(separation=dataset.separation.where(False, dataset.separation.sel(stage="before", drop=True)))


@claim(
    "S",
    "bound",
    margin=-0.5,
    recorded=NOT_REPRODUCED,
    control=_before,
    positive=lambda dataset: dataset.assign(separation=0 * dataset.separation + 1.8),
)
def L18c(dataset):
    """In the first layer training separates the label parts of the neurons along $q$ by the sign of $a$.

    Margin: Mean cosine to $q$ of those with $a < 0$ less that of those with $a > 0$. In the one-layer model it is −1.8,
    among the large rows −2 (L15b), and 0 before training; a quarter is asked for.
    Control: the models before training
    Positive: the separation of the one-layer model
    Missing: how the authors measure an angle in a GPT-2
    """
    return over_seeds(-dataset.separation.sel(stage="after", layer=1))


# --- the paper's own points ---------------------------------------------------------------------------------------


def _from_law(dataset: xr.Dataset, longest: int) -> Discrepancy:
    cells = dataset.sel(l=dataset.l[dataset.l <= longest])
    ratio = abs(np.log(cells.slides / cells.vote_theory)).stack(cell=("alpha", "l")).dropna("cell")
    return Discrepancy(ratio + all_known(cells.vote_theory), np.log1p(float(cells.slides_error)))


def _other_share(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the law of the other share in the place of each."""
    law = dataset.vote_theory
    return dataset.assign(vote_theory=law.copy(data=law.sel(alpha=law.alpha.values[::-1]).values))


claim = claims_of("li-published-floor")


@claim("D", "approximation", margin=float(np.log(2)), control=_other_share)
def L21(dataset):
    """Up to $l = 10$ the paper's one-layer errors are missing pattern times wrong majority, to a factor 2.

    Margin: |ln(point/law)|, at most ln 2; the law falls by a factor 4 to 8 over these lengths. Points are read by eye,
    10%.
    Neglects: the errors of the authors' model where the pattern is there, and the number of their prompts, which is not told.
    Control: the law of the other share, $α′ = 0.6$ and 0.8 exchanged
    """
    return _from_law(dataset, 10)


def _share_of_06(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with points and law of the share 0.6 at both shares."""
    return dataset.assign({name: dataset[name].sel(alpha=0.6) + 0 * dataset[name] for name in ("slides", "vote_theory")})


@claim("D", "bound", margin=-float(np.log(3)), control=_share_of_06)
def L21b(dataset):
    """Beyond $l = 10$ the missing pattern does not explain the points at $α′ = 0.8$: they lie above the law by a factor
    3 or more.

    Margin: ln(law/point), at most −ln 3, to $l = 18$, where the factor is 15. At $α′ = 0.6$ they are above it by a factor
    1.6 at most.
    Moved: it was the guess that the law of L21 explains them up to $l = 20$, which failed.
    Control: the points and the law of $α′ = 0.6$
    """
    far = dataset.sel(alpha=0.8, l=(dataset.l > 10) & (dataset.l <= 18))
    return Discrepancy(np.log(far.vote_theory / far.slides), np.log1p(float(far.slides_error)))
