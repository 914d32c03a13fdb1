"""What figures and tables of the prompts of Garg et al. show: errors, also at the longest context, and what is printed."""

from functools import partial

import numpy as np
import xarray as xr

from icl_lib.companion import rounded


def at_longest(values: xr.Dataset) -> xr.Dataset:
    """Return every row's value at the longest context, at the shortest where no longer one exists."""
    return values.isel(k=-1).fillna(values.isel(k=0))


def measured_rows(dataset: xr.Dataset, model: str) -> xr.Dataset:
    """Return a result with one row for each prompt and number k of examples at which the error of a model was measured."""
    rows = dataset.stack(row=("prompt", "k"))
    return rows.isel(row=np.isfinite(rows.risk.sel(model=model).values))


def with_error(rows: xr.Dataset, model: str, digits: int = 2) -> xr.DataArray:
    """Return the error of a model with two standard errors, as text."""
    cell = rows.sel(model=model, drop=True)
    return _texts(lambda risk, se: f"{rounded(risk, digits)} ± {rounded(2 * se, 1)}", cell.risk, cell.risk_se)


def least_squares(rows: xr.Dataset, digits: int = 2) -> xr.DataArray:
    """Return the error of least squares, as text, where it has a mean."""
    cell = rows.sel(model="OLS", drop=True)
    return _texts(lambda risk, mean: "no finite mean" if np.isinf(mean) else rounded(risk, digits), cell.risk, cell.risk_theory)


def of_garg(rows: xr.Dataset) -> xr.DataArray:
    """Return the numbers that Garg et al. print of their GPT-2; their words, of all k, stand in the first row of a prompt."""
    first = np.unique(rows.prompt.values, return_index=True)[1]
    words = rows.gpt2_words.where(np.isin(np.arange(rows.sizes["row"]), first), "")
    told = _texts(lambda number, said: f"{number:g}" if np.isfinite(number) else said, rows.gpt2_of_garg, words)
    return told.where(told != "", "–")


_texts = partial(xr.apply_ufunc, vectorize=True, output_dtypes=[object])
