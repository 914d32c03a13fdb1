"""Claims D31 and D32: section 4.4, the loss of finetuning and of the patch, from two initialisations."""

import numpy as np
import xarray as xr

from icl_lib.companion import NOT_REPRODUCED, Discrepancy, claims_of, over_seeds, put, replaced

OURS, OTHER = "1/columns", "1/(3 columns)"
"""Variance of the matrices at the two initialisations of dherin-two-starts."""
COMPARED = slice(5, 100)
"""The numbers of examples at which the curves are compared: 5 to 100, when more are run."""


def _in_limits(dataset: xr.Dataset, rate: xr.DataArray) -> xr.DataArray:
    """Return rate * factor in units of half the stability limit 2/(speed (d + 2))."""
    return dataset.factor * rate * dataset.speed * (dataset.d + 2)


def _another_patch(dataset: xr.Dataset) -> xr.Dataset:
    """Put the patch of another network in the place of finetuning."""
    other = dataset[["loss_patch", "loss_patch_se"]].roll(seed=1)
    return dataset.assign({f"loss_own{end}": other[f"loss_patch{end}"].broadcast_like(dataset.loss_own) for end in ("", "_se")})


def _on_average(dataset: xr.Dataset) -> xr.DataArray:
    """Return the mean over i of the size of log2 of one curve over the other, with loss factor 1."""
    size = abs(np.log2(dataset.loss_own.sel(factor=1.0) / dataset.loss_patch)).sel(i=COMPARED)
    return size.integrate("i") / (size.i[-1] - size.i[0])


claim = claims_of("dherin-finetuning")


@claim("Q", "bound", part_of="D32", margin=0.5, control=put(loss_own="loss_other", loss_patch="loss_patch_other"))
def D31(dataset):
    """Both test losses fall: that of finetuning at rate 0.01, with loss factor 1 or ½, and that of the patch.

    Margin: Loss after all examples over the loss before. Without learning it is 1; a half is a fall that no plot hides.
    Slack: The paper shows a fall and names no amount; a loss that has halved has fallen.
    Control: labels of another task for both
    """
    # Loss after all examples over the loss before: finetuning at the paper's rate with each factor, and the patch.
    patch = dataset.loss_patch.expand_dims(factor=[0.0])
    curves = xr.concat([dataset.loss_own, patch], "factor", coords="minimal", compat="override")
    return over_seeds(curves.isel(i=-1) / curves.isel(i=0))


@claim("Q", "bound", margin=1.0, recorded=NOT_REPRODUCED, control=put(loss_own="loss_other"), positive=_another_patch)
def D32(dataset):
    """At rate 0.01 the curves fall in similar ways: within a factor 2 from $i = 5$ to 100, with $(p − y)²$ or $½(p − y)²$.

    Margin: $log₂$ of the ratio, worst i and loss, mean over networks; 1 is a factor of 2. This factor is ours, and which loss
    is not known.
    Control: finetuning on labels of another task
    Positive: the patch of another network in the place of finetuning
    Missing: initialisation and training of the paper's network, on whose scale of weights the curve at one rate depends
    (D32c)
    Fails because: our threshold: similar has no number in the paper, and the factor 2 is ours. With (p − y)² they are
    within 3 on average (D32b).
    """
    # Size of log2 of one curve over the other, mean over networks, with 2 s.e. over tasks (as if independent).
    cell = dataset[["loss_own", "loss_own_se", "loss_patch", "loss_patch_se"]].sel(i=COMPARED)
    error = np.sqrt((cell.loss_own_se / cell.loss_own) ** 2 + (cell.loss_patch_se / cell.loss_patch) ** 2) / np.log(2)
    pooled = np.sqrt((error**2).sum("seed")) / cell.sizes["seed"]
    return Discrepancy(abs(np.log2(cell.loss_own / cell.loss_patch).mean("seed")), 2 * pooled)


@claim("D", "bound", margin=1.58, control=put(loss_own="loss_other"))
def D32b(dataset):
    """At rate 0.01 with the loss $(p − y)²$ the curves are within a factor 3 of each other on average, $i = 5$ to 100.

    Margin: Mean over i of the size of $log₂$ of the ratio, $3 = 2^{1.58}$. Both losses fall to less than a tenth over this
    range.
    Control: finetuning on labels of another task
    """
    return over_seeds(_on_average(dataset))


@claim("D", "identity", margin=1e-11, control=put(rescaling_error="rescaling_error_same_rate"))
def D32c(dataset):
    """Closeness at one rate is no property of the function: $(sW, sb, u/s)$ at rate $s²η$ finetunes as $(W, b, u)$ at $η$.

    Margin: Largest relative distance of the mean loss curves; float64, a chain of N steps, each of which multiplies rounding.
    Control: the rate left as it is
    """
    return Discrepancy(dataset.rescaling_error)


@claim("D", "approximation", margin=0.1, quick_margin=0.12, control=put(loss_own_theory="loss_doubled"))
def D32d(dataset):
    """At slow rates the loss of finetuning is $L₀$·mean over eigenvalues $λ$ of $K$ of $exp(−ηφ|u|²λi)$, without fit, in each
    network.

    Margin: Largest distance over i, over $L₀$, worst network, at rate 0.01 where $ηφ|u|²(d+2)$ $tr K/d ≤ 0.2$.
    Moved: from 0.15. Read in each network, no longer in their mean.
    Neglects: biases, that the gates open at a query hold half of $|u|²$, and terms of the square of the rate; without biases
    and for slower rates and wider layers the distance shrinks (a test)
    Control: the exponent twice as large, the gates of one of two points forgotten
    """
    # Distance from the predicted loss curve where the paper's rate is slow; no number for a network where it never is.
    slow = _in_limits(dataset, dataset.rate_of_paper) <= 0.2
    gap = abs(dataset.fallen - dataset.loss_own_theory / dataset.loss_before)
    return Discrepancy(gap.where(slow, 0.0).where(slow.any("factor")), 2 * dataset.fallen_se.where(slow, 0.0))


claim = claims_of("dherin-two-starts")


@claim("D", "bound", margin=0, control=replaced("start", OURS, OTHER))
def D31b(dataset):
    """From an initialisation of a third of the variance the loss $½(p − y)²$ falls by less than half at rate 0.01.

    Margin: 0.5 minus the loss after all examples over that before, mean over networks. From our initialisation it falls to
    less than a tenth (D31).
    Control: our initialisation
    """
    cell = dataset.loss_own.sel(start=OTHER, factor=0.5)
    return over_seeds(0.5 - cell.isel(n=-1) / cell.isel(n=0))


@claim("D", "bound", margin=0, control=replaced("start", OURS, OTHER))
def D32f(dataset):
    """From an initialisation of a third of the variance the curves with $(p − y)²$ are apart by more than a factor 3 on
    average.

    Margin: 1.58 minus the mean over $i = 5$ to 100 of the size of $log₂$ of the ratio. From our initialisation they are
    within it (D32b).
    Slack: A mean of logarithms, and 3 is the factor within which our initialisation stays (D32b).
    Control: our initialisation
    """
    curves = dataset[["loss_own", "loss_patch"]].sel(start=OTHER)
    return over_seeds(1.58 - _on_average(curves.rename(n="i")))
