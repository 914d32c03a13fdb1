"""What the figures of ``papers/li`` show beside the variables of their results, computed here a second time."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from scipy.special import softmax

Made = dict[str, Callable[[xr.Dataset], xr.DataArray]]


def sorted_over_longest(d: xr.Dataset) -> xr.DataArray:
    share = (np.arange(d.sizes["row"]) + 0.5) / d.sizes["row"]
    return (d.length / d.length.isel(row=-1)).assign_coords(row=share)


def at_least(names: str, floor: float) -> Made:
    """Return errors of which those below the floor are drawn on it."""
    return {f"{name}, at least {floor:g}": lambda d, name=name: d[name].clip(floor) for name in names.split()}


def by_sign(names: str, sign: str, change: Callable = lambda values: values) -> Made:
    """Return what belongs to the neurons of either sign of a."""
    return {
        f"{name}, a {word} 0": lambda d, name=name, side=side: change(d[name].isel(neuron=np.flatnonzero(d[sign] * side > 0)))
        for name in names.split()
        for word, side in ((">", 1), ("<", -1))
    }


def by_kind(names: str, kinds: tuple[str, ...]) -> Made:
    """Return the entries of a kind, of the sets of tasks in which every pattern has both labels, and of the others."""

    def entries(d: xr.Dataset, name: str, kind: int, both: bool) -> xr.DataArray:
        chosen = [each.startswith(("one-sided", "single")) != both for each in d.set.values]
        part = d.isel(set=np.flatnonzero(chosen))
        return xr.DataArray(part[name].values[part.kind.values == kind], dims="entry")

    return {
        f"{name}, {word}, {labels}": lambda d, at=(name, kind, labels == "both labels"): entries(d, *at)
        for name in names.split()
        for kind, word in enumerate(kinds)
        for labels in ("both labels", "one label")
    }


def steps_of(letter: str, d: xr.Dataset) -> xr.DataArray:
    """Return the steps until the hinge is 1/2, by the escape time, where one letter is varied."""
    mine, first = d.cell_letter.values == letter, d.isel(start=0).sel(level=0.5)
    return first.time.reset_coords(drop=True)[mine].assign_coords(cell=first.escape_theory.values[mine])


LI: dict[str, Made] = {
    "li-floor": {"error / vote": lambda d: (d.error / d.error_theory).sel(alpha=0.6)},
    "li-magnitudes": {
        "length over the longest, sorted": sorted_over_longest,
        "long_size over its last": lambda d: d.long_size / d.long_size.mean("seed")[-1],
        "start_size over the longest": lambda d: d.start_size[0] / d.length[0].mean("seed")[-1],
    },
    "li-first-push": by_kind("form form_theory", ("own pattern", "trained together", "not trained together", "label")),
    "li-coefficient-sum": at_least("error error_rescaled", 1e-5),
    "li-sum-reasons": at_least("error", 1e-5),
    "li-task-fraction": at_least("error_in error_out error_worst", 1e-5),
    "li-iterations": {
        f"time, {letter} varied": lambda d, letter=letter: steps_of(letter, d)
        for letter in ("alpha", "beta", "eta", "delta", "q", "K", "M1")
    },
    "li-growth": {
        f"{name} by eigenvalue": lambda d, name=name: d[name].assign_coords(mode=d.eigenvalue.values)
        for name in ("mode_growth", "mode_line")
    },
    "li-neurons": by_sign("point_feature point_label", "point_sign"),
    "li-training-map": by_sign("feature_response label_response", "sign", lambda v: np.sign(v) * abs(v) ** 0.5)
    | {"attention": lambda d: d.scores.copy(data=softmax(d.scores.values, d.scores.dims.index("key")))},
    "li-hinge-margin": {"1 - mass": lambda d: 1 - d.mass},
}
