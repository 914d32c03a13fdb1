"""What figures show beside the variables of their results, computed here a second time."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from tests.papers.derived_dherin import DHERIN
from tests.papers.derived_li import LI

Made = dict[str, Callable[[xr.Dataset], xr.DataArray]]


def over(names: str, scale: str) -> Made:
    """Return the ratio of each quantity to another, with the standard error of a measured one."""
    return {f"{name} / {scale}": lambda d, name=name: d[name] / d[scale] for name in names.split() if name} | {
        f"{name} / {scale}_se": lambda d, name=name: d[f"{name}_se"] / d[scale] for name in ("risk",) if name in names.split()
    }


def at_longest(values: xr.DataArray) -> xr.DataArray:
    """Return the value at the longest context, at the shortest where no longer one was measured."""
    return xr.where(np.isnan(values.isel(k=-1)), values.isel(k=0), values.isel(k=-1))


def at_longest_over_zero(names: str) -> Made:
    """Return errors at the longest context over that of predicting 0."""
    return {f"{name} at the longest / zero": lambda d, name=name: at_longest(d[name] / d.zero) for name in names.split()} | {
        "risk at the longest / zero_se": lambda d: at_longest(d.risk_se / d.zero)
    }


def risk_curve(d: xr.Dataset) -> xr.DataArray:
    """Theorem 4.2 between the lengths: only the variance falls, as 1/M."""
    M = np.exp(np.linspace(np.log(d.M.values[0]), np.log(d.M.values[-1]), 60))
    first = d.isel(M=0, drop=True)
    fallen = first.variance * float(d.M[0]) / xr.DataArray(M, dims="length", coords={"length": M})
    return first.best_linear + first.bias + fallen


DERIVED: dict[str, Made] = (
    DHERIN
    | LI
    | {
        "zhang-averaged-error": {"least_error": lambda d: d.error_over_N.sel(curve_N=d.best_N)},
        "zhang-risk": {"best_linear + bias + variance over length": risk_curve},
        "zhang-covariate-shift": over("risk risk_theory limit ols", "zero"),
        "zhang-random-covariance": over("risk risk_line risk_limit", "zero"),
        "zhang-random-covariance-flow": over("u u_printed", "u_theory"),
        "zhang-garg-prompts": at_longest_over_zero("risk")
        | {"gpt2_of_garg / zero": lambda d: d.gpt2_of_garg.isel(k=-1) / d.zero},
        "garg-shifts": at_longest_over_zero("risk risk_theory") | over("gpt2_of_garg", "zero"),
        "zhang-dynamics": {f"{name} - 1": lambda d, name=name: d[name] - 1 for name in ("loss", "loss_towards_plain")},
        "zhang-two-notions": {"attention_se": lambda d: d.attention_se},
        "engine-roofline": {
            "operations a second": lambda d: d.operations / d.seconds / 1e9,
            "products a second": lambda d: (d.products_rate / 1e9 + 0 * d.operations).isel(models=0),
            "operations a byte": lambda d: d.operations / d.traffic,
        },
    }
)
"""By figure; quantities that end in ``_se`` are standard errors of those without."""
