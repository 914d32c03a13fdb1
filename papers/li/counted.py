"""Formulas about errors that are counted on independent prompts."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from icl_lib.companion import near_misses, variable


def counted(
    name: str, errors: xr.DataArray, law: xr.DataArray, near: Mapping[str, xr.DataArray], *, prompts: int, least: float
) -> dict[str, xr.Variable | xr.DataArray]:
    """Return the variables that a claim about ``name`` is judged by: error, law, standard error and near misses, by cell.

    Under an exact law every prompt errs by itself with probability p, whichever model answers it: over ``seeds`` models with
    ``prompts`` prompts each the standard error is sqrt(p (1 - p)/(seeds prompts)). Cells where p is below ``least`` are left
    out: too few errors to count.
    """
    number = errors.sizes["seed"] * prompts
    law, error, *misses = xr.broadcast(law, errors.mean("seed"), *near.values())
    kept = law.values >= least
    p = law.values[kept]
    standard_error = variable("judged", np.sqrt(p * (1 - p) / number), "its standard error under the law")
    standard_error.attrs["blocks"] = number
    return {
        name: variable("judged", error.values[kept], "0-1 error, all models together, where the law is resolved"),
        f"{name}_theory": variable("judged", p, "the law there"),
        f"{name}_se": standard_error,
        f"{name}_near": near_misses("judged", {label: miss.values[kept] for label, miss in zip(near, misses, strict=True)}),
    }
