"""Cells of the decoders' datasets that several claims read: at N, just above N, on the training distribution; and controls."""

import numpy as np
import xarray as xr

from icl_lib.companion import Discrepancy, over

TRAINING_LAWS = {"fixed": "covariance I", "random": "c = 1"}
ERRORS = ("risk", "risk_se")


def own_law(values: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
    """Return each model's row of the distribution that it was trained on."""
    rows = [values.sel(trained=trained, test=test, drop=True) for trained, test in TRAINING_LAWS.items()]
    return xr.concat(rows, "trained")


def at_N(values: xr.DataArray | xr.Dataset) -> xr.DataArray | xr.Dataset:
    """Return each model's entry at its own training length, M = N."""
    return values.sel(M=values.N, drop=True)


def over_trainings(value: xr.DataArray, two_se: xr.DataArray, *dims: str) -> Discrepancy:
    """Return the mean over trainings; its interval is Student's over their seeds, beside that of the prompts, which they share.

    The first of ``dims`` counts the seeds, as ``run``; without any it is about one network. Those after it, as N, tell kinds of
    networks apart. Trainings of one seed begin with the same weights and meet the same tasks, whatever their kind: so the mean
    over kinds is taken first, and the seeds alone scatter.
    """
    if not dims:
        return Discrepancy(value, two_se)
    run, *kinds = dims
    found = over(value.mean(kinds, skipna=False), run)
    return Discrepancy(found.value, np.hypot(found.two_se, two_se.mean(dims, skipna=False)))


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


def over_ols(dataset: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return each model's error above that of least squares on its own distribution, M = N, with two standard errors."""
    found = own_law(at_N(dataset[[*ERRORS, "ols"]]))
    return found.risk - found.ols, 2 * found.risk_se


def over_lsa(dataset: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return each model's error over that of linear self-attention on its own distribution, M = N, with two standard errors."""
    found = own_law(at_N(dataset[[*ERRORS, "lsa"]]))
    return found.risk / found.lsa, 2 * found.risk_se / found.lsa


def fixed_over_zero(dataset: xr.Dataset, test: str | list[str]) -> xr.Dataset:
    """Return the errors of models trained on the fixed covariance over those of predicting 0, M = N."""
    place = {"test": test}
    return at_N(dataset[[*ERRORS]]).sel(trained="fixed", drop=True).sel(place, drop=True) / dataset.zero.sel(place, drop=True)


def lost_by_random(dataset: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return what random training loses against fixed training at c = 4 and 9 on the same prompts, with its interval."""
    found = dataset.sel(test=["c = 4", "c = 9"])
    return xr.broadcast(-found.gain, found.gain - found.gain_lower)


def excesses(dataset: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Return the excess of random training over least squares, over the error of predicting 0, at c = 1 and 9, M = N."""
    random = at_N(dataset[[*ERRORS, "ols"]]).sel(trained="random")
    excess = random.assign(risk=random.risk - random.ols)[[*ERRORS]] / dataset.zero
    return excess.sel(test="c = 1", drop=True), excess.sel(test="c = 9", drop=True)


def random_after_one(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the models trained on random covariances asked after one example."""
    early = dataset.risk.sel(trained="random", M=1, drop=True)
    gain = at_N(dataset.risk).sel(trained="fixed", drop=True) - early
    return dataset.assign(gain=gain + 0 * dataset.gain, gain_lower=gain + dataset.gain_lower - dataset.gain)


def half_the_examples(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with the models of the largest N asked after half the examples."""
    top, bottom = dataset.isel(N=-1), dataset.isel(N=0).sel(M=dataset.N[0])
    reach = top.risk.sel(M=dataset.N[0] // 2) / bottom.risk
    return dataset.assign(reach=reach, reach_se=dataset.reach_se / dataset.reach * reach)
