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


def over_trainings(value: xr.DataArray, two_se: xr.DataArray, *dims: str) -> Discrepancy:
    """Return the mean over trainings; its interval is that of Student over them, and that of the prompts, which they share.

    ``dims`` are those along which trainings differ, as ``run``; without any it is about one network.
    """
    if not dims:
        return Discrepancy(value, two_se)
    found = over(value.stack(training=dims), "training")
    return Discrepancy(found.value, np.hypot(found.two_se, two_se.mean(dims)))


def over_jump(dataset: xr.Dataset, factor: float, *dims: str) -> Discrepancy:
    """Return factor over the jump above N, in the mean over trainings, with its interval."""
    value = factor / dataset.jump
    return over_trainings(value, 2 * value * dataset.jump_se / dataset.jump, *dims)


def ratio(top: xr.Dataset, bottom: xr.Dataset, factor: float, *dims: str) -> Discrepancy:
    """Return the mean of factor * top / bottom over trainings with its interval, without credit for the prompts' pairing."""
    value = factor * top.risk / bottom.risk
    return over_trainings(value, 2 * value * np.hypot(top.risk_se / top.risk, bottom.risk_se / bottom.risk), *dims)


def after(length: int):
    """Return the control that puts the errors after ``length`` examples in the place of all."""

    def control(dataset: xr.Dataset) -> xr.Dataset:
        same = {name: dataset[name].sel(M=length, drop=True).broadcast_like(dataset[name]) for name in ERRORS}
        return dataset.assign({name: values.transpose(*dataset[name].dims) for name, values in same.items()})

    return control
