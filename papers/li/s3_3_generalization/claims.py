"""Claims L7 and L8: section 3.3, generalization in domain and out of domain. ``claims_prompt_length`` has L9."""

import numpy as np
import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, Discrepancy, claims_of, distance_over_seeds, everywhere, over_seeds, put, replaced
from papers.li.published import sum_points

# --- L7: the coefficient sum at fixed norm --------------------------------------------------------------------------


claim = claims_of("li-coefficient-sum")


def _from_smaller_sums(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the largest sum below 0.8 of the grid in the place of 1."""
    short = float(dataset.S_1[dataset.S_1 < 0.8].max())
    return dataset.assign({name: _at_one(dataset[name], dataset[name].sel(S_1=short)) for name in ("hinge", "error_rescaled")})


def _at_one(values: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    return values.where(abs(values.S_1) != 1, other.drop_vars("S_1"))


@claim("S", "bound", margin=0.0005, control=_from_smaller_sums)
def L7(dataset):
    """Theorem 3.4: the out-of-domain hinge is small when every ODR pattern has coefficient sum $S₁ ≥ 1$.

    Margin: $ε = 0.0005$, in settings A and B and at every $S₁ ≥ 1$ of the grid.
    Number: Hinge loss.
    Moved: from 0.01, which $S₁ ≥ 0.7$ passed as well; in full the hinge of setting B is 0.0036 there.
    Control: patterns of sum 0.7 (quick: 0.5) in the place of 1
    """
    return over_seeds(dataset.hinge.sel(S_1=dataset.S_1 >= 1))


@claim("D", "bound", margin=0.0, control=lambda dataset: dataset.assign(hinge=dataset.hinge.roll(setting=1)))
def L7k(dataset):
    """Whether the hinge needs a sum near 1 depends on the setting: at $S₁ = 0$ it is at most 0.001 in setting A and at least
    0.05 in setting B.

    Margin: The larger of hinge − 0.001 in A and 0.05 − hinge in B. A has a small feature part beside the label part, B a large
    one.
    Moved: the two bounds were chosen when the numbers of this profile had been seen, 0.0007 and 0.11.
    Control: the two settings exchanged
    """
    label, feature = (over_seeds(dataset.hinge.isel(setting=place).sel(S_1=0.0)) for place in (0, -1))
    return Discrepancy(np.array([label.value - 0.001, 0.05 - feature.value]), np.array([label.two_se, feature.two_se]))


@claim("D", "bound", margin=0.0002, control=_from_smaller_sums)
def L7l(dataset):
    """Rescaled by $S₁ = −1$ the 0-1 error is, as at 1, at most 0.0002: at full length the sign of the sum does not matter.

    Margin: 0-1 error at $S₁ = −1$ and 1. Scores go as $S₁²$; the hinge, 0.19 and 0.53 at −1 (full), does see the sign.
    Moved: the claim and its margin were written when the errors of this profile had been seen.
    Slack: among 6,000 prompts a network has less than one wrong answer in the mean, so that twice as many are as rare.
    Control: patterns times 0.7 (quick: 0.5) in the place of 1
    """
    return over_seeds(dataset.error_rescaled.sel(S_1=[-1.0, 1.0]))


@claim("D", "approximation", margin=0.03, quick_margin=0.08, control=put(margin_theory="margin_half"))
def L7c(dataset):
    """The mean margin is $½∑_z ∑_r z a_r ReLU(S₁φ_r + zvλ_r)$ with $φ$, $λ$, $v$ read off the trained weights: affine in $S₁$
    between the kinks.

    Margin: In units of the margin that the loss asks for; 12 models in full, 3 in quick.
    Moved: from 0.08 in both profiles; it was called exact, and it is off by 0.01, 6 standard errors.
    Neglects: the spread of the attention over pairs of patterns and of the rows about $μ̄$: $v$ is read off the mean score gap.
    It is 0.005 to 0.012 at every $S₁$ in setting A, so that the slope in $S₁$ is exact to 0.1% (0.4973 and 0.4973).
    Control: the prediction with half of the feature responses
    """
    return over_seeds(abs(dataset.margin - dataset.margin_theory))


@claim("D", "bound", margin=0.005, control=put(error="error_rescaled"))
def L7d(dataset):
    """At fixed norm, in settings A and B, the 0-1 error from $S₁ = −0.5$ to 1.3 stays within 0.005 of its value at 1.

    Margin: 0-1 errors of a trial run were below 0.001; the rescaled patterns err by 0.05 and 0.02 at $S₁ = 0.5$ (full).
    Number: Distance of the 0-1 error from that at S₁ = 1.
    Slack: errors are rarer than one in 10,000 at every sum; the margin is what one would call a dependence, a tenth of the
    rescaled error.
    Control: $S₁$ as a rescaling of the patterns
    """
    inner = dataset.error.sel(S_1=dataset.S_1 >= -0.5)
    return distance_over_seeds(inner - dataset.error.sel(S_1=1.0))


@claim(
    "S",
    "bound",
    margin=0.0,
    recorded=NOT_REPRODUCED,
    positive=put(error="error_rescaled"),
    control=lambda dataset: dataset.assign(error=dataset.error.roll(S_1=-3)),
)
def L7n(dataset):
    """$S₁ ≥ 1$ is needed (a remark on the slides' experiment): at $S₁ = 0.5$ the 0-1 error exceeds 0.01, norm held fixed.

    Margin: 0.01 − error(0.5) ≤ 0; the slides' plot has 0.047 at $S₁ = 0.5$ and 0.0035 at $S₁ = 1.1$ (a deeper model).
    Control: patterns of a larger sum in the place of $S₁ = 0.5$
    Positive: the patterns rescaled
    Missing: the construction of the authors' patterns, and their three layers
    """
    return over_seeds(0.01 - dataset.error.sel(S_1=0.5))


claim = claims_of("li-sum-reasons")


@claim("D", "bound", margin=-0.002, control=replaced("setting", "β = 1", "β = 1, r = 1"))
def L7f(dataset):
    """With few training tasks ($r = 1$) and short patterns ($β = 1$) the 0-1 error at $S₁ ≥ 1$ is lower than at 0 to 0.5.

    Margin: Mean over $S₁ ≥ 1$ less mean over $0 ≤ S₁ ≤ 0.5$, lower by 0.002; a trial run of 4 seeds had −0.03.
    Control: the same with three times as many tasks ($r = 3$)
    """
    few = dataset.error.sel(setting="β = 1, r = 1")
    from_one, below = few.sel(S_1=few.S_1 >= 1), few.sel(S_1=(few.S_1 >= 0) & (few.S_1 <= 0.5))
    return over_seeds(from_one.mean("S_1", skipna=False) - below.mean("S_1", skipna=False))


# --- L7v: the coefficient sum as a rescaling ------------------------------------------------------------------------


def _points_of_the_slides(dataset: xr.Dataset) -> xr.Dataset:
    points = xr.DataArray([sum_points(0.5, l) for l in (8, 20)], {"length": [8, 20]}, "length")
    return dataset.assign(error_length=0 * dataset.error_length.sel(length=points.length) + points)


def _gone_from_one(error: xr.DataArray) -> Discrepancy:
    """Return by how much the error exceeds 0.01 at S_1 >= 1 and falls short of 0.1 at 0.3."""
    above, below = over_seeds(error.sel(S_1=error.S_1 >= 1) - 0.01), over_seeds(0.1 - error.sel(S_1=0.3))
    return Discrepancy(np.append(above.value, below.value), np.append(above.two_se, below.two_se))


claim = claims_of("li-rescaling")


@claim("D", "bound", margin=0.0, control=put(error="error_fixed"))
def L7v(dataset):
    """With $μ′ = S₁μ$ the 0-1 error is below 0.01 from $S₁ = 1$ upward and above 0.1 at $S₁ = 0.3$.

    Margin: The larger of error($S₁ ≥ 1$) − 0.01 and 0.1 − error(0.3); a margin of 0.01 on both would let 0.09 pass for
    0.1. A trial run had errors 0.0003 and 0.26. The slides do not name their construction and have no $S₁ = 0.3$.
    Slack: the two bounds stand for small and large; at 0.3 the error is 0.26 where 0.1 is asked for.
    Control: patterns of the same sums and fixed norm
    """
    return _gone_from_one(dataset.error)


@claim("D", "bound", margin=0.005, quick_margin=0.01, control=everywhere("error", S_1=0.5))
def L7m(dataset):
    """$S₁ ≥ 1$ is not needed as a rescaling either: with $μ′ = S₁μ$ the 0-1 error at $S₁ = 0.7$ is at most 0.005.

    Margin: 0-1 error at every $S₁$ from 0.7 on; on the slides it is 0.0035 at 1.1 and 0.024 at 0.7. Quick trains for 160
    steps.
    Moved: the claim and its margin were written when the errors of this profile had been seen.
    Slack: nothing is claimed between 0.5, where the error is 0.05, and 0.7.
    Control: $S₁ = 0.5$ in its place
    """
    return over_seeds(dataset.error.sel(S_1=dataset.S_1 >= 0.7))


@claim("D", "bound", margin=0.0, control=put(error_new="error_fixed"))
def L7g(dataset):
    """It is the length of the patterns that counts: three new patterns of sum 1, times $S₁$, err as L7v says.

    Margin: As for L7v. The patterns are drawn anew, as those of fixed norm and sum 1; so are the prompts.
    Number: The larger of error($S₁ ≥ 1$) − 0.01 and 0.1 − error(0.3).
    Slack: as for L7v.
    Control: patterns of the same sums and fixed norm
    """
    return _gone_from_one(dataset.error_new)


@claim("D", "approximation", margin=0.015, quick_margin=0.04, control=put(error_length_theory="error_long"))
def L7h(dataset):
    """At each of the slides' five sums, rescaled, the error over the prompt length is the vote law at score gap $S₁²γ$.

    Margin: Absolute, $γ$ from the trained weights; $S₁ = 0.5$ to 1.3. 3 models in quick.
    Moved: from 0.03 in both profiles; it was called exact, and in full it is off by 0.01, 10 standard errors.
    Neglects: the spread of the gap over pairs of patterns, of which $γ$ is the mean. Large gaps act alike (L7j).
    Control: the vote law at score gap $S₁γ$
    """
    return distance_over_seeds(dataset.error_length - dataset.error_length_theory)


@claim("D", "approximation", margin=0.005, quick_margin=0.03, control=everywhere("error_length_theory", sum=0.5))
def L7j(dataset):
    """The larger the gap the better the law: from $S₁ = 0.9$ on the error is that of the vote law to 0.005.

    Margin: Absolute, half of what the law is off by at $S₁ = 0.5$. 3 models in quick.
    Neglects: as L7h: 0.010 at $S₁ = 0.5$, 0.004 at 0.7, 0.002 and less from 0.9 on.
    Control: the vote law at $S₁ = 0.5$ in the place of that at each sum
    """
    large = dataset.sel(sum=dataset["sum"] >= 0.9)
    return distance_over_seeds(large.error_length - large.error_length_theory)


@claim(
    "S",
    "order",
    margin=0.0,
    recorded=NOT_REPRODUCED,
    positive=_points_of_the_slides,
    control=put(error_length="error_length_theory"),
)
def L7i(dataset):
    """At $S₁ = 0.5$ prompts of 20 contexts do no better than prompts of 8, as on the slides: their error is as large or larger.

    Margin: 0.9 times the error at 8 less that at 20. The slides' plot, of a deeper model, has 0.038 and 0.047.
    Control: the vote law at score gap $S₁²γ$
    Positive: the two points of the slides
    Missing: the three layers of the slides' model
    """
    error = dataset.error_length.sel(sum=0.5)
    return over_seeds(0.9 * error.sel(length=8) - error.sel(length=20))


# --- L8: the number of training tasks -------------------------------------------------------------------------------


claim = claims_of("li-task-fraction")


@claim("S", "bound", margin=0.002, control=everywhere("error_out", shifts=1))
def L8(dataset):
    """With $|T_tr| ≥ (M₁−1)^(−1/2)|T|$ training tasks the out-of-domain error is below 0.002.

    Margin: The number is ours, at $M₁ = 6$, $α′ = 0.8$, $l = 20$ and $S₁ = 1.1$; a trial run had 0.0001 with 18 of 30 tasks.
    Number: 0-1 error.
    Slack: the number is ours; with six tasks the error is four times as large.
    Control: 6 tasks that cover all patterns and labels, fewer than stated
    """
    return over_seeds(dataset.error_out.sel(shifts=dataset.tasks >= dataset.tasks_stated))


@claim("D", "bound", margin=0.0, control=lambda dataset: dataset.assign(error_out=dataset.error_out.roll({"shifts": 1})))
def L8b(dataset):
    """Covering all patterns and labels once leaves more out of domain: with the $M₁$ cyclic tasks the error exceeds 0.002.

    Margin: 0.002 − error ≤ 0 at $r = 1$; a trial run had 0.008 to 0.011.
    Slack: the bound is that of L8, and the error is four times as large.
    Control: the largest task set in its place
    """
    return over_seeds(0.002 - dataset.error_out.isel(shifts=0))
