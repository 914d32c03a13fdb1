"""Cells of the datasets of the decoders that several claims read: at N, just above N, on the training law; and controls."""

import numpy as np
import xarray as xr

from icl_lib.companion.verdict import Discrepancy, over

TRAINING_LAWS = {"fixed": "covariance I", "random": "c = 1"}
ERRORS = ("risk", "risk_se")


def own_law(values: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
    """Return each model's row of the law that it was trained on."""
    rows = [values.sel(trained=trained, test=test, drop=True) for trained, test in TRAINING_LAWS.items()]
    return xr.concat(rows, "trained")


def at_N(values: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
    """Return each model's entry at its own training length, M = N."""
    return values.sel(M=values.N, drop=True)


def mean_over(errors: xr.Dataset, inside: xr.DataArray) -> xr.Dataset:
    """Return error and standard error averaged over lengths; the latter as if all errors rose and fell together."""
    return errors.where(inside).mean("M")


def over_runs(value: xr.DataArray, two_se: xr.DataArray) -> Discrepancy:
    """Return the mean over trainings; its interval is that of Student over them, and that of the prompts, which they share.

    Without a dimension ``run`` it is about one network, and the interval is that of the prompts.
    """
    if "run" not in value.dims:
        return Discrepancy(value, two_se)
    found = over(value, "run")
    return Discrepancy(found.value, np.hypot(found.two_se, two_se.mean("run")))


def over_jump(dataset: xr.Dataset, factor: float) -> Discrepancy:
    """Return factor over the jump above N, with its interval."""
    value = factor / dataset.jump
    return over_runs(value, 2 * value * dataset.jump_se / dataset.jump)


def ratio(top: xr.Dataset, bottom: xr.Dataset, factor: float = 1.0) -> Discrepancy:
    """Return factor * top / bottom with its interval, as if the two were independent: no credit for pairing."""
    value = factor * top.risk / bottom.risk
    return over_runs(value, 2 * value * np.hypot(top.risk_se / top.risk, bottom.risk_se / bottom.risk))


def after(length: int):
    """Return the control that puts the errors after ``length`` examples in the place of all."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        same = {name: dataset[name].sel(M=length, drop=True).broadcast_like(dataset[name]) for name in ERRORS}
        return dataset.assign({name: values.transpose(*dataset[name].dims) for name, values in same.items()})

    return control
