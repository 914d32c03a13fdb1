"""Claims D33 and D34: section 4.4, the alignment of the patch with finetuning."""

import numpy as np
import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, Discrepancy, at, claims_of, over, put, replaced

OURS, OTHER = "1/columns", "1/(3 columns)"
"""Variance of the matrices at the two initialisations of dherin-two-starts."""


def _pooled(mean: xr.DataArray, error: xr.DataArray) -> Discrepancy:
    """Return the mean over networks, each with tasks of its own: twice the standard error over tasks."""
    error = np.sqrt((error**2).sum("seed", skipna=False)) / mean.sizes["seed"]
    return Discrepancy(mean.mean("seed", skipna=False), 2 * error)


def _aligned(dataset: xr.Dataset, labels: str, predicted: xr.DataArray | float = 0.0) -> Discrepancy:
    """Return the mean alignment with these labels, less what is predicted for it."""
    cell = dataset.sel(labels=labels)
    return _pooled(cell.alignment - predicted, cell.alignment_se)


def _size(found: Discrepancy) -> Discrepancy:
    return Discrepancy(abs(found.value), found.two_se)


def _a_length_before(dataset: xr.Dataset) -> xr.Dataset:
    before = np.maximum(np.arange(dataset.sizes["i"]) - 1, 0)
    return dataset.assign(alignment_mean=dataset.alignment_mean.isel(i=before).assign_coords(i=dataset.i))


def _share_for_its_root(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(label_part=dataset.label_part**2)


def _trained_in_place(dataset: xr.Dataset) -> xr.Dataset:
    trained = dataset.alignment.sel(labels="true", drop=True).rename(seed="start")
    return dataset.drop_dims("start").assign(alignment_untrained=trained)


def _of_ceiling(start: str):
    """Return the check of how far the mean alignment after all examples is below half of its ceiling, over the ceiling."""

    def check(dataset: xr.Dataset) -> Discrepancy:
        cell = dataset.sel(start=start, labels="true").isel(i=-1)
        ceiling = cell.share.mean("seed", skipna=False)
        found = _pooled(cell.alignment, cell.alignment_se)
        return Discrepancy(0.5 - found.value / ceiling, found.two_se / ceiling)

    return check


claim = claims_of("dherin-alignment")


@claim("S", "bound", part_of="D33b", margin=0, control=replaced("labels", "query's label reversed", "true"))
def D33(dataset):
    """The alignment of the patch with finetuning is positive in the mean, at every context length read from 2 on.

    Margin: Minus the mean alignment, worst length, 2 s.e. over tasks. After one example 2 s.e. at quick are half of it.
    Slack: The sentence names a sign and no size; 0 is the only threshold it has.
    Control: finetuning on labels of a task that is wrong at the query
    """
    found = _aligned(dataset.sel(i=dataset.i >= 2), "true")
    return Discrepancy(-found.value, found.two_se)


@claim("D", "formula", of="ceiling", margin=0.015, quick_margin=0.045, near=("the quotient of means for the mean quotient",))
def D33d(dataset):
    """The ceiling is dimension: over queries that finetuning does not know the mean of $κ²$ is $E tr(SMSᵀ)/|S|²$, $1/d$ or so.

    Margin: Relative; a little above q standard errors over tasks, worst network and length, many fresh queries a task.
    Moved: from 0.15 absolute, for one query a task.
    """


@claim("D", "approximation", margin=0.02, quick_margin=0.035, control=_a_length_before)
def D33f(dataset):
    """The alignment with finetuning is the alignment with the one matrix $u(Gw)ᵀ$, without any finetuning.

    Margin: Absolute difference of the means, every length, 2 s.e. over tasks; a tenth of the alignment after all examples, and
    more at quick, where tasks are few.
    Moved: from 0.05, a quarter of it.
    Neglects: what finetuning changes beside $u(Gw)ᵀ$, less and less of it (D33i)
    Control: the patch of the length before in the alignment with $u(Gw)ᵀ$
    """
    return _size(_pooled(dataset.alignment.sel(labels="true") - dataset.alignment_mean, dataset.apart_se))


@claim("D", "bound", margin=0, control=lambda dataset: dataset.isel(i=slice(None, None, -1)))
def D33i(dataset):
    """What finetuning changes beside $u(Gw)ᵀ$ shrinks: its part of the squared length falls by a half or more.

    Margin: $1 − cos²$ after all examples minus half of that after one, of the mean cosine over tasks; mean over networks.
    Control: the lengths in the opposite order
    """
    rest, error = 1 - dataset.towards_mean**2, 2 * dataset.towards_mean * dataset.towards_mean_se
    error = np.hypot(error.isel(i=-1), 0.5 * error.isel(i=0))
    return _pooled(rest.isel(i=-1) - 0.5 * rest.isel(i=0), error)


@claim("D", "bound", margin=0.03, quick_margin=0.05, control=_share_for_its_root)
def D33g(dataset):
    """The alignment is small because a part of the patch does not depend on the labels: it is the root of the patch's label
    share times the alignment of the two label parts, to 0.03.

    Margin: Absolute difference of the means, every length; 2 s.e. over tasks are 0.01, at quick 0.02. A bound: a product of
    means is no mean of products, and finetuning also does something whatever the sign of labels. The difference
    changes its sign along the examples, so what is left out is no one term that shrinks.
    Moved: from 0.05, a quarter of the alignment after all examples.
    Control: the label share in place of its root
    """
    return _size(_aligned(dataset, "true", dataset.label_part**0.5 * dataset.alignment_label))


@claim("D", "bound", margin=0.03, quick_margin=0.07, control=replaced("labels", "true", "another task"))
def D34(dataset):
    """The alignment is no tautology: finetuning on labels of another task has alignment 0 with the patch.

    Margin: Absolute mean, every length. A seventh of what true labels give after all examples; 2 s.e. over tasks are 0.01, at
    quick 0.02.
    Moved: from 0.07 in both profiles.
    Slack: The mean is 0 within its error, so that any factor on it is small.
    Control: the true labels
    """
    return _size(_aligned(dataset, "another task"))


@claim("D", "bound", margin=0.07, control=replaced("labels", "true", "shuffled"))
def D34b(dataset):
    """Finetuning on the same labels, shuffled among the examples, has alignment 0 with the patch.

    Margin: As for D34.
    Number: Absolute mean, every length.
    Slack: The mean is near 0, where factors say little; with two standard errors it fills nearly half of the margin at quick.
    Control: the labels in their places
    """
    return _size(_aligned(dataset, "shuffled"))


@claim("D", "bound", margin=0.4, control=_trained_in_place)
def D34c(dataset):
    """Untrained networks have less than four tenths of the trained ones' alignment, after all examples.

    Margin: Mean over untrained networks over the mean over trained ones. Not 0: the parts without labels align a little.
    Moved: from a half, after a look at the results.
    Control: trained networks in their place
    """
    found = over(dataset.alignment_untrained.isel(i=-1), "start")
    trained = float(dataset.alignment.sel(labels="true").isel(i=-1).mean(skipna=False))
    return Discrepancy(found.value / trained, found.two_se / trained)


@claim("D", "bound", margin=-0.1, control=put(answer="answer_wrong"))
def D34f(dataset):
    """Writing the query's true label into $W$ by one gradient step aligns with finetuning better than the query's patch, by
    0.1.

    Margin: Alignment of the patch minus that of the step, every length. So it shows that an update is right at the query.
    Control: another query's label written in
    """
    true = dataset[["alignment", "alignment_se"]].sel(labels="true")
    return _pooled(true.alignment - dataset.answer, np.hypot(true.alignment_se, dataset.answer_se))


claim = claims_of("dherin-two-starts")


@claim(
    "S",
    "bound",
    margin=0,
    recorded=NOT_REPRODUCED,
    check=_of_ceiling(OURS),
    control=replaced("labels", "another task", "true"),
    positive=replaced("start", OTHER, OURS),
)
def D33b(dataset):
    """The alignment is high: at least half of its ceiling after all examples, in the three networks from our initialisation.

    Margin: 0.5 minus the mean alignment over the mean of κ. High is a summary's word, without a number; the half is ours.
    Moved: from 0.5 of the alignment itself, which no patch for one query exceeds on average when d is 4 or more.
    Control: finetuning on labels of another task
    Positive: the networks from the other initialisation (D33h)
    Missing: the initialisation of the paper's networks, on which this depends
    Fails because: our threshold: high is a summary's word, without a number, and the half is ours. From another
    initialisation it is reached (D33h).
    """


@claim("S", "bound", part_of="D33b", margin=0, check=_of_ceiling(OTHER), control=replaced("start", OURS, OTHER))
def D33h(dataset):
    """The alignment is high, at least half of its ceiling, in three networks trained from an initialisation of a third of the
    variance.

    Margin: As D33b. The initialisation of the paper's networks is not known; this one is the default of PyTorch's linear
    layers.
    Number: 0.5 minus the mean alignment over the mean of κ.
    Control: our initialisation
    """


@claim("D", "bound", margin=0.05, control=at(i=slice(2)))
def D34e(dataset):
    """After all examples the mirrored task, which shares the label at the query only, aligns as well with a one-query patch:
    from both initialisations, and for the block of Example 2.5 whose patch is an exact gradient step.

    Margin: Absolute difference of the means after all examples; before, finetuning has not come to its end.
    Slack: The difference is 0 within its error, so that any factor on it is small.
    Control: after the first examples, two or three
    """
    end = dataset.isel(i=-1)
    found = _pooled(end.mirror_gap, end.mirror_gap_se)
    gap, error = np.append(found.value, end.exact_gap), np.append(found.two_se, 2 * end.exact_gap_se)
    return Discrepancy(abs(gap), error)


@claim("D", "bound", margin=-0.2, control=put(joint="alignment", joint_se="alignment_se"))
def D34g(dataset):
    """One patch for many queries knows the task: its alignment is less by 0.2 with labels of the mirrored task, of another
    one, or shuffled.

    Margin: Alignment after all examples with the worst of these labels, minus that with the true ones, both initialisations;
    0.2 is all that the patch for one query has from ours.
    Control: the patch for one query, which the mirrored task passes
    """
    end = dataset.isel(i=-1)
    true = end.sel(labels="true")
    others = end.sel(labels=["another task", "shuffled", "mirrored task"])
    return _pooled(others.joint - true.joint, np.hypot(others.joint_se, true.joint_se))
