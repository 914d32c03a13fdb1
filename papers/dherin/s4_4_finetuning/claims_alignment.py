"""Claims D33 and D34: section 4.4, the alignment of the patch with finetuning."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Discrepancy, claims_of, over
from icl_lib.companion.controls import put


def _pooled(mean: xr.DataArray, error: xr.DataArray) -> Discrepancy:
    """Return the mean over networks, each with tasks of its own: twice the standard error over tasks."""
    return Discrepancy(mean.mean("seed"), 2 * np.sqrt((error**2).sum("seed")) / mean.sizes["seed"])


def _alignment(dataset: xr.Dataset, labels: str) -> Discrepancy:
    cell = dataset.sel(labels=labels)
    return _pooled(cell.alignment, cell.alignment_se)


def _negative(found: Discrepancy) -> Discrepancy:
    return Discrepancy(-found.value, found.two_se)


def _size(found: Discrepancy) -> Discrepancy:
    return Discrepancy(abs(found.value), found.two_se)


def _high(dataset: xr.Dataset, least: float) -> Discrepancy:
    found = _alignment(dataset.isel(i=[-1]), "true")
    return Discrepancy(least - found.value, found.two_se)


def _ceiling_gap(dataset: xr.Dataset) -> xr.DataArray:
    """Return kappa^2 minus its mean over queries, averaged over networks."""
    gap = (dataset.share_squared - dataset.share_squared_theory).mean("seed")
    return gap.broadcast_like(dataset.share_squared)


def _same(dataset: xr.Dataset, predicted: xr.DataArray) -> Discrepancy:
    """Distance of the mean alignment with true labels from a prediction."""
    cell = dataset.sel(labels="true")
    return _size(_pooled(cell.alignment - predicted, cell.alignment_se))


def _gap(dataset: xr.Dataset, labels: str) -> xr.DataArray:
    return dataset.alignment.sel(labels="true") - dataset.alignment.sel(labels=labels)


def _mirror(dataset: xr.Dataset) -> Discrepancy:
    return _size(_pooled(dataset.mirror_gap.isel(i=-1), dataset.mirror_gap_se.isel(i=-1)))


def _behind(dataset: xr.Dataset) -> Discrepancy:
    return _pooled(dataset.alignment.sel(labels="true") - dataset.answer, dataset.answer_se)


def _untrained(dataset: xr.Dataset) -> Discrepancy:
    """Alignment of untrained networks after all examples, over that of the trained ones."""
    found = over(dataset.alignment_untrained.isel(i=-1), "start")
    trained = float(dataset.alignment.sel(labels="true").isel(i=-1).mean())
    return Discrepancy(found.value / trained, found.two_se / trained)


def _trained_in_place(dataset: xr.Dataset) -> xr.DataArray:
    return dataset.alignment.sel(labels="true", drop=True).rename(seed="start")


def _as_labels(dataset: xr.Dataset, labels: str, source: str = "true") -> xr.Dataset:
    """Put the alignment with labels ``source`` in the place of ``labels``."""
    alignment, error = (dataset[name].copy() for name in ("alignment", "alignment_se"))
    alignment.loc[{"labels": labels}] = alignment.sel(labels=source)
    error.loc[{"labels": labels}] = error.sel(labels=source)
    return dataset.assign(alignment=alignment, alignment_se=error)


claim = claims_of("dherin-alignment")


@claim("S", "bound", margin=0, control=lambda dataset: _as_labels(dataset, "true", "query's label reversed"))
def D33(dataset):
    """The alignment of the patch with finetuning is positive in the mean, at every context length read from 2 on.

    Margin: Minus the mean alignment, worst length, 2 s.e. over tasks. After one example it is within noise of 0 at
    quick.
    Control: finetuning on labels of a task that is wrong at the query
    """
    return _negative(_alignment(dataset.sel(i=dataset.i >= 2), "true"))


@claim("S", "bound", margin=0, recorded=FAILS, control=lambda dataset: _as_labels(dataset, "true", "another task"))
def D33b(dataset):
    """The alignment is high: at least 0.5 after all examples.

    Margin: 0.5 minus the mean alignment. High is a summary's word, without a number; 0.5 is an angle of 60 degrees.
    Control: finetuning on labels of another task
    """
    return _high(dataset, 0.5)


@claim("D", "formula", margin=0.15, control=put(share_squared="share_squared_first"))
def D33d(dataset):
    """The ceiling is dimension: the mean of κ² is that over queries unknown to finetuning, 1/d or so.

    Margin: Absolute, worst length, 2 s.e. over tasks; 0.06 of it is sampling at quick. A known query would have κ = 1.
    Control: the first example in place of the query
    """
    return _pooled(abs(_ceiling_gap(dataset)), dataset.share_squared_se)


@claim("D", "formula", margin=0.05, control=put(alignment_mean="answer"))
def D33f(dataset):
    """The alignment with finetuning is the alignment with the one matrix u(Gw)ᵀ, without any finetuning.

    Margin: Absolute difference of the means, every length; 2 s.e. over tasks are 0.02.
    Control: the answer written in, in place of u(Gw)ᵀ
    """
    return _same(dataset, dataset.alignment_mean)


@claim("D", "formula", margin=0.05, control=lambda dataset: dataset.assign(label_part=xr.ones_like(dataset.label_part)))
def D33g(dataset):
    """The alignment is small because of what labels do not touch: it is √(label share of the patch)·(label parts').

    Margin: Absolute difference of the means, every length. The root of a mean and products of means leave about 0.01.
    Control: the label part as the whole patch
    """
    return _same(dataset, dataset.label_part**0.5 * dataset.alignment_label)


@claim("D", "bound", margin=0.07, control=lambda dataset: _as_labels(dataset, "another task"))
def D34(dataset):
    """The alignment is no tautology: finetuning on labels of another task has alignment 0 with the patch.

    Margin: Absolute mean, every length. A third of what true labels give; 2 s.e. over tasks are 0.02.
    Control: the true labels
    """
    return _size(_alignment(dataset, "another task"))


@claim("D", "bound", margin=0.07, control=lambda dataset: _as_labels(dataset, "shuffled"))
def D34b(dataset):
    """Finetuning on the same labels, shuffled among the examples, has alignment 0 with the patch.

    Margin: As for D34.
    Control: the labels in their places
    """
    return _size(_alignment(dataset, "shuffled"))


@claim(
    "D",
    "bound",
    margin=0.5,
    control=lambda dataset: dataset.drop_dims("start").assign(alignment_untrained=_trained_in_place(dataset)),
)
def D34c(dataset):
    """Untrained networks have less than half of the trained ones' alignment, after all examples.

    Margin: Mean over untrained networks over the mean over trained ones. Not 0: the parts without labels align a
    little.
    Control: trained networks in their place
    """
    return _untrained(dataset)


@claim("D", "bound", margin=0.05, control=lambda dataset: dataset.assign(mirror_gap=_gap(dataset, "query's label reversed")))
def D34e(dataset):
    """At the end of the context the mirrored task, which shares the label at the query only, aligns as well.

    Margin: Absolute difference of the means after all examples, a quarter of the alignment; before, noise knows more.
    Control: the task with the query's label reversed and the rest kept
    """
    return _mirror(dataset)


@claim("D", "bound", margin=-0.1, control=put(answer="answer_wrong"))
def D34f(dataset):
    """Writing the query's true label into W by one gradient step aligns with finetuning better than the patch, by 0.1.

    Margin: Alignment of the patch minus that of the step, every length. So alignment shows that an update is right.
    Control: another query's label written in
    """
    return _behind(dataset)
