"""What the figures of ``papers/dherin`` show beside the variables of their results, computed here a second time."""

from collections.abc import Callable

import numpy as np
import xarray as xr

Made = dict[str, Callable[[xr.Dataset], xr.DataArray]]


def spread(name: str) -> Made:
    """Return the geometric mean over networks, and the smallest and the largest."""
    return {
        f"{name} over networks": lambda d: 10 ** np.log10(d[name].astype(float)).mean("seed"),
        f"{name} over networks_low": lambda d: d[name].min("seed"),
        f"{name} over networks_high": lambda d: d[name].max("seed"),
    }


def median(name: str, over: tuple[str, ...]) -> Made:
    """Return the median of what is a number, the smallest and the largest."""
    return {
        f"{name}, median": lambda d: d[name].astype(float).median(over),
        f"{name}, median_low": lambda d: d[name].astype(float).min(over),
        f"{name}, median_high": lambda d: d[name].astype(float).max(over),
    }


def over_cases(name: str) -> Made:
    """Return the mean over contexts and networks, and its standard error as of independent ones."""

    def error(d: xr.Dataset) -> xr.DataArray:
        cases = d[name].astype(float).stack(case=("network", "context"))
        return cases.std("case", ddof=1) / cases.sizes["case"] ** 0.5

    return {f"{name} over cases": lambda d: d[name].astype(float).mean(("network", "context")), f"{name} over cases_se": error}


def left_out(values: xr.DataArray) -> xr.DataArray:
    """Return errors where part of the context is left out; those of 0 are drawn at 3e-17."""
    return values.isel(size=slice(1, None)).where(values.isel(size=slice(1, None)) != 0, 3e-17)


def first_sixty(names: str) -> Made:
    return {f"{name} of 60 blocks": lambda d, name=name: d[name][:60] for name in names.split()}


def in_rows(*names: str) -> Made:
    """Return errors, and where they stand: in the row of their network, side by side."""
    return {f"row of {name}": lambda d, k=k: row(d.net, 0.22 * (k - 1)) for k, name in enumerate(names)} | {
        f"{name}, at least 1e-17": lambda d, name=name: d[name].clip(1e-17) for name in names
    }


def row(net: xr.DataArray, shift: float) -> xr.DataArray:
    rows = {name: k for k, name in enumerate(dict.fromkeys(net.values))}
    beside = np.linspace(-0.06, 0.06, net.size) + shift
    return xr.DataArray([rows[name] + one for name, one in zip(net.values, beside, strict=True)], dims="case")


def sixteen(values: xr.DataArray) -> xr.DataArray:
    """Return the 16 lengths that are drawn, evenly on a logarithmic axis."""
    return values.isel(n=np.unique(np.round(np.geomspace(1, values.sizes["n"], 16)).astype(int)) - 1)


def drawn_lengths(names: str) -> Made:
    return {f"{name} at 16 n": lambda d, name=name: sixteen(d[name]) for name in names.split()} | {
        "marginal at 16 n_se": lambda d: sixteen(d.marginal_se)
    }


def one_over_n(values: xr.DataArray) -> xr.DataArray:
    """Return the law 1/n through the last value."""
    return values.isel(n=-1, drop=True) * values.sizes["n"] / values.n


def at_the_end(d: xr.Dataset) -> xr.DataArray:
    return d.loss.isel(i=-1).mean("seed")


def pooled_at_the_end(d: xr.Dataset) -> xr.DataArray:
    error = np.hypot.reduce(d.loss_se.isel(i=-1).transpose("seed", ...).values) / d.sizes["seed"]
    return d.loss.isel(i=-1, seed=0).copy(data=error).where(at_the_end(d) < 100)


def median_by_net(values: xr.DataArray) -> xr.DataArray:
    return values.groupby("net").map(lambda each: xr.DataArray(np.median(each, axis=0), dims="i"))


DHERIN: dict[str, Made] = {
    "dherin-identity": {
        "error, median": lambda d: left_out(d.error.isel(mlp=0)).median("network"),
        "error, median_low": lambda d: left_out(d.error.isel(mlp=0)).median("network"),
        "error, median_high": lambda d: left_out(d.error.isel(mlp=0)).max("network"),
        "error_bare, median": lambda d: left_out(d.error_bare).median("network"),
    },
    "dherin-query-dependence": {
        "pairs, share": lambda d: d.pairs.sum("replicate") / d.pairs.sum(("replicate", "cosine_bin")),
    },
    "dherin-gradient-step": first_sixty("step output output_self") | {"patched of 60 blocks": lambda d: d.patched[-1, :60]},
    "dherin-placebo": {"risk / variance": lambda d: d.risk / d.variance},
    "dherin-dynamics": in_rows("step", "literal", "left_rate"),
    "dherin-order": {"first": lambda d: d.position.isel(axis=0), "second": lambda d: d.position.isel(axis=1)}
    | {"distance, median by net": lambda d: median_by_net(d.distance)},
    "dherin-left-consuming": {"bound, at most i": lambda d: np.minimum(d.i, d.bound[-1].item())},
    "dherin-marginal-updates": drawn_lengths("marginal output scaled apart")
    | {
        f"1/n through {name}": lambda d, name=name: one_over_n(d[name].sel(case="trained", drop=True))
        for name in ("marginal", "output")
    },
    "dherin-layers-compared": {
        "1/n through marginal": lambda d: one_over_n(d.marginal[0].sel(state="trained", drop=True)).mean("seed"),
        "1/n": lambda d: 1 / d.n,
    },
    "dherin-finetuning": {
        "loss at the end, at most 100": lambda d: at_the_end(d).clip(max=100),
        "loss at the end, at most 100_se": pooled_at_the_end,
        "limit of stability": lambda d: 2 / (d.speed.mean() * (d.d + 2)),
    },
    "dherin-alignment": {"untrained": lambda d: d.alignment_untrained.rename(start="seed")},
    "dherin-alignment-direction": {"ceiling": lambda d: d.ceiling_of.mean("task")},
    "dherin-positions": {
        "1e-8 / (fine + 1e-8)": lambda d: xr.DataArray(1e-8 / (1e-8 + fine(d)), dims="fine", coords={"fine": fine(d)}),
    },
    "dherin-update-alignment": {
        "alignment_theory at block 1": lambda d: d.alignment_theory.mean("seed").expand_dims(place=[0.6, 1.4]),
    },
    "dherin-composition": {
        f"{name}, least architecture": lambda d, name=name: d[name].max("network").min("architecture")
        for name in ("error_left_out", "error_none")
    },
    "dherin-costs": {"seconds, patches / context": lambda d: d.seconds[1] / d.seconds[0]},
    "dherin-modern-blocks": spread("error"),
    "dherin-patch-sizes": {"size_in, at least 0.01": lambda d: d.size_in.clip(0.01)},
    "dherin-depth": spread("error"),
    "dherin-gemma": spread("median"),
    "dherin-model-classes": spread("error") | spread("own") | spread("stream"),
    "dherin-model-capacity": spread("stream") | spread("new") | median("gain_error", ("normed", "seed")),
    "dherin-recall": over_cases("accuracy") | over_cases("kept"),
    "dherin-static-one-block": {"task_icl / level": lambda d: d.task_icl / d.level},
    "dherin-static-deep": {"task_icl / level": lambda d: d.task_icl / d.level},
}
"""By figure; quantities that end in ``_se``, ``_low`` and ``_high`` are standard errors and ends of those without."""


def fine(d: xr.Dataset) -> np.ndarray:
    """Return 100 values of |n|^2 over the range of the data."""
    return 10 ** np.linspace(np.log10(d.square.values.min()), np.log10(d.square.values.max()), 100)
