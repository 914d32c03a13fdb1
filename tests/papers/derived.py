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


def lowest_trap(d: xr.Dataset) -> xr.DataArray:
    """Return the lower of the two ends that are local minima beyond the wall."""
    return xr.where((d.negative == 0) & (d.beyond > 1), d.loss, np.nan).min("place")


def rank_one_points(name: str, d: int, trapped: bool) -> Callable[[xr.Dataset], xr.DataArray]:
    """Return how to find a coordinate of the cells whose rank-one point is a local minimum, or is none."""

    def cells(data: xr.Dataset) -> xr.DataArray:
        negative = data.negative.sel(d=d).transpose("N", "kappa").values
        N, kappa = np.meshgrid(data.N, data.kappa, indexing="ij")
        return xr.DataArray({"N": N, "kappa": kappa}[name][(negative == 0) == trapped], dims="cell")

    return cells


def roof(d: xr.Dataset) -> xr.DataArray:
    """The lower of the two limits, in billions a second, from a third of the least place to three times the last."""
    knee = float(d.peak) / float(d.bandwidth)
    places = [*(d.operations / d.traffic).values.ravel(), knee]
    line = np.exp(np.linspace(np.log(min(places) / 3), np.log(max(places) * 3), 200))
    rates = np.where(line < knee, line * float(d.bandwidth), float(d.peak)) / 1e9
    return xr.DataArray(rates, dims="intensity", coords={"intensity": line})


DERIVED: dict[str, Made] = (
    DHERIN
    | LI
    | {
        "zhang-averaged-error": {"least_error": lambda d: d.error_over_N.sel(curve_N=d.best_N)},
        "zhang-risk": {"best_linear + bias + variance over length": risk_curve},
        "zhang-covariate-shift": over("risk risk_theory limit", "zero")
        | {"ols / zero of every test, at least 0.3": lambda d: (d.ols / d.zero).max("test").clip(0.3)},
        "zhang-random-covariance": over("risk risk_line risk_limit", "zero"),
        "zhang-random-covariance-flow": over("u u_printed", "u_theory"),
        "zhang-garg-prompts": at_longest_over_zero("risk")
        | {"gpt2_of_garg / zero": lambda d: d.gpt2_of_garg.isel(k=-1) / d.zero},
        "garg-shifts": at_longest_over_zero("risk risk_theory") | over("gpt2_of_garg", "zero"),
        "zhang-dynamics": {f"{name} - 1": lambda d, name=name: d[name] - 1 for name in ("loss", "loss_towards_plain")},
        "zhang-two-notions": {"M_examples": lambda d: d.M_examples + 0 * d.attention},
        "zhang-attention": {"dead_entries, at least 1e-17": lambda d: d.dead_entries.clip(1e-17)},
        "zhang-gpt2-scale": {"risk, mean": lambda d: d.risk.mean("run")}
        | {"risk, mean_low": lambda d: d.risk.min("run"), "risk, mean_high": lambda d: d.risk.max("run")},
        "zhang-quadratic-form": {  # all counts are those of the theory
            "negative_theory": lambda d: d.negative_theory,
            "negative_theory_low": lambda d: np.minimum(d.negative, d.positive).min("prompt"),
            "negative_theory_high": lambda d: np.maximum(d.negative, d.positive).max("prompt"),
        },
        "zhang-rank-one-trap": {
            f"{name} of {kind} at d = {d}": rank_one_points(name, d, kind == "local minima")
            for name in ("N", "kappa")
            for d in (2, 4, 10)
            for kind in ("local minima", "saddles")
        }
        | {f"edge at d = {d}": lambda data, d=d: data.edge.sel(d=d) for d in (2, 4, 10)},
        "zhang-long-prompts": {"lowest local minimum / minimum": lambda d: lowest_trap(d) / d.minimum}
        | {"lowest local minimum - minimum": lambda d: lowest_trap(d) - d.minimum}
        | {"least_on_wall - minimum": lambda d: d.least_on_wall - d.minimum},
        "garg-live-training": {"zero": lambda d: 1 + 0 * d.lsa},
        "engine-roofline": {
            "roof": roof,
            "operations a second": lambda d: d.operations / d.seconds / 1e9,
            "products a second": lambda d: (d.products_rate / 1e9 + 0 * d.operations).isel(models=0),
            "operations a byte": lambda d: d.operations / d.traffic,
        },
    }
)
"""By figure; quantities that end in ``_se`` are standard errors of those without."""
