"""Claims D33 and D34: section 4.4, the alignment of the patch with finetuning."""

import numpy as np
import xarray as xr

from icl_lib.companion.claim import FAILS, Claim, Discrepancy, over


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


def _towards(dataset: xr.Dataset) -> Discrepancy:
    cell = dataset.sel(i=(dataset.i >= 5) & (dataset.i <= 100))
    return _pooled(abs(cell.towards_mean - cell.towards_mean_theory), cell.towards_mean_se)


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


D33 = Claim(
    id="D33",
    paper="dherin",
    section="4.4",
    sentence="The alignment of the patch with finetuning is positive in the mean, at every context length read from 2 on.",
    confidence="S",
    kind="bound",
    experiment="dherin-alignment",
    margin=0,
    reason="Minus the mean alignment, worst length, 2 s.e. over tasks. After one example it is within noise of 0 at quick.",
    check=lambda dataset: _negative(_alignment(dataset.sel(i=dataset.i >= 2), "true")),
    control=lambda dataset: _as_labels(dataset, "true", "query's label reversed"),
    control_sentence="finetuning on labels of a task that is wrong at the query",
)

D33b = Claim(
    id="D33b",
    paper="dherin",
    section="4.4",
    sentence="The alignment is high: at least 0.5 after all examples.",
    confidence="S",
    kind="bound",
    experiment="dherin-alignment",
    margin=0,
    reason="0.5 minus the mean alignment. High is a summary's word, without a number; 0.5 is an angle of 60 degrees.",
    check=lambda dataset: _high(dataset, 0.5),
    control=lambda dataset: _as_labels(dataset, "true", "another task"),
    control_sentence="finetuning on labels of another task",
    recorded=FAILS,
)

D33c = Claim(
    id="D33c",
    paper="dherin",
    section="4.4",
    sentence="The alignment is κρ: the share κ of finetuning that the query sees, times the alignment ρ at the query.",
    confidence="D",
    kind="identity",
    experiment="dherin-alignment",
    margin=1e-12,
    reason="Absolute, against full matrices W finetuned by the definition; float64, a chain of N steps.",
    check=lambda dataset: Discrepancy(dataset.factor_error),
    control=lambda dataset: dataset.assign(factor_error=dataset.factor_error_full),
    control_sentence="A(C, x) in place of A(x) in κ",
)

D33d = Claim(
    id="D33d",
    paper="dherin",
    section="4.4",
    sentence="The ceiling is dimension: the mean of κ² is that over queries unknown to finetuning, 1/d or so.",
    confidence="D",
    kind="formula",
    experiment="dherin-alignment",
    margin=0.15,
    reason="Absolute, worst length, 2 s.e. over tasks; 0.06 of it is sampling at quick. A known query would have κ = 1.",
    check=lambda dataset: _pooled(abs(_ceiling_gap(dataset)), dataset.share_squared_se),
    control=lambda dataset: dataset.assign(share_squared=dataset.share_squared_first),
    control_sentence="the first example in place of the query",
)

D33e = Claim(
    id="D33e",
    paper="dherin",
    section="4.4",
    sentence="Finetuning goes towards u(Gw)ᵀ, at cosine √(i/(i + 3 + 2|w|² tr K/(wᵀKw))), for i = 5 to 100.",
    confidence="D",
    kind="formula",
    experiment="dherin-alignment",
    margin=0.15,
    reason="Absolute. The formula is to first order in the rate, without biases, and a ratio of means; we expect 0.1.",
    check=lambda dataset: _towards(dataset),
    control=lambda dataset: dataset.assign(towards_mean=dataset.towards_mean_shuffled),
    control_sentence="finetuning on shuffled labels",
)

D33f = Claim(
    id="D33f",
    paper="dherin",
    section="4.4",
    sentence="The alignment with finetuning is the alignment with the one matrix u(Gw)ᵀ, without any finetuning.",
    confidence="D",
    kind="formula",
    experiment="dherin-alignment",
    margin=0.05,
    reason="Absolute difference of the means, every length; 2 s.e. over tasks are 0.02.",
    check=lambda dataset: _same(dataset, dataset.alignment_mean),
    control=lambda dataset: dataset.assign(alignment_mean=dataset.answer),
    control_sentence="the answer written in, in place of u(Gw)ᵀ",
)

D33g = Claim(
    id="D33g",
    paper="dherin",
    section="4.4",
    sentence="The alignment is small because of what labels do not touch: it is √(label share of the patch)·(label parts').",
    confidence="D",
    kind="formula",
    experiment="dherin-alignment",
    margin=0.05,
    reason="Absolute difference of the means, every length. The root of a mean and products of means leave about 0.01.",
    check=lambda dataset: _same(dataset, dataset.label_part**0.5 * dataset.alignment_label),
    control=lambda dataset: dataset.assign(label_part=xr.ones_like(dataset.label_part)),
    control_sentence="the label part as the whole patch",
)

D34 = Claim(
    id="D34",
    paper="dherin",
    section="4.4",
    sentence="The alignment is no tautology: finetuning on labels of another task has alignment 0 with the patch.",
    confidence="D",
    kind="bound",
    experiment="dherin-alignment",
    margin=0.07,
    reason="Absolute mean, every length. A third of what true labels give; 2 s.e. over tasks are 0.02.",
    check=lambda dataset: _size(_alignment(dataset, "another task")),
    control=lambda dataset: _as_labels(dataset, "another task"),
    control_sentence="the true labels",
)

D34b = Claim(
    id="D34b",
    paper="dherin",
    section="4.4",
    sentence="Finetuning on the same labels, shuffled among the examples, has alignment 0 with the patch.",
    confidence="D",
    kind="bound",
    experiment="dherin-alignment",
    margin=0.07,
    reason="As for D34.",
    check=lambda dataset: _size(_alignment(dataset, "shuffled")),
    control=lambda dataset: _as_labels(dataset, "shuffled"),
    control_sentence="the labels in their places",
)

D34c = Claim(
    id="D34c",
    paper="dherin",
    section="4.4",
    sentence="Untrained networks have less than half of the trained ones' alignment, after all examples.",
    confidence="D",
    kind="bound",
    experiment="dherin-alignment",
    margin=0.5,
    reason="Mean over untrained networks over the mean over trained ones. Not 0: the parts without labels align a little.",
    check=lambda dataset: _untrained(dataset),
    control=lambda dataset: dataset.drop_dims("start").assign(alignment_untrained=_trained_in_place(dataset)),
    control_sentence="trained networks in their place",
)

D34d = Claim(
    id="D34d",
    paper="dherin",
    section="4.4",
    sentence="In untrained networks the label parts of patch and finetuning have alignment 0 in the mean.",
    confidence="D",
    kind="bound",
    experiment="dherin-alignment",
    margin=0.05,
    reason="Absolute mean over networks, every length; a sign change of u turns it. 2 s.e. over 8 networks are 0.02.",
    check=lambda dataset: _size(over(dataset.alignment_label_untrained, "start")),
    control=lambda dataset: dataset.drop_dims("start").assign(
        alignment_label_untrained=dataset.alignment_label.rename(seed="start")
    ),
    control_sentence="trained networks in their place",
)

D34e = Claim(
    id="D34e",
    paper="dherin",
    section="4.4",
    sentence="At the end of the context the mirrored task, which shares the label at the query only, aligns as well.",
    confidence="D",
    kind="bound",
    experiment="dherin-alignment",
    margin=0.05,
    reason="Absolute difference of the means after all examples, a quarter of the alignment; before, noise knows more.",
    check=lambda dataset: _mirror(dataset),
    control=lambda dataset: dataset.assign(mirror_gap=_gap(dataset, "query's label reversed")),
    control_sentence="the task with the query's label reversed and the rest kept",
)

D34f = Claim(
    id="D34f",
    paper="dherin",
    section="4.4",
    sentence="Writing the query's true label into W by one gradient step aligns with finetuning better than the patch, by 0.1.",
    confidence="D",
    kind="bound",
    experiment="dherin-alignment",
    margin=-0.1,
    reason="Alignment of the patch minus that of the step, every length. So alignment shows that an update is right.",
    check=lambda dataset: _behind(dataset),
    control=lambda dataset: dataset.assign(answer=dataset.answer_wrong),
    control_sentence="another query's label written in",
)
