"""The numbers of the boxes on what the papers say of one another, by a second route."""

import numpy as np
from boxes import PERCENT, Number, by_second_routes


def static_step(d):
    other = d.other.sel(layer="limit of training").values
    return {
        "other": Number(
            float(np.median(other)),
            {"no change": float(np.median(d.bare.values)), "the mean": float(other.mean()), "untrained": _untrained(d)},
            PERCENT,
        )
    }


def _untrained(d) -> float:
    return float(np.median(d.other.sel(layer="untrained").values))


def own_optimum(d):
    here = d.sel(mean=float(d["mean"].max()))
    ratio = here.attention / here.block_theory
    slips = {"of the bound": here.upper / here.block_theory, "of the floor": here.attention / here.floor}
    return {
        "least": Number(float(ratio.min()), {name: float(each.min()) for name, each in slips.items()}),
        "most": Number(float(ratio.max()), {name: float(each.max()) for name, each in slips.items()}),
    }


def token_distribution(d):
    last = d.isel(d=0, x=-1, N=-1)
    left = {kind: float(last.left.sel(tokens=kind)) for kind in ("Gaussian", "patterns")}
    share = {kind: left[kind] / float(last.whole.sel(tokens=kind)) for kind in left}
    before = d.isel(d=0, x=-1, N=-2)
    shorter = float(before.left.sel(tokens="Gaussian") / before.whole.sel(tokens="Gaussian"))
    return {
        "N": Number(int(d.N.max()), {"the one before": int(d.N[-2])}),
        "d": Number(int(d.d.min()), {"the one after": int(d.d[1])}),
        "x": Number(float(d.x.max()), {"the other": float(d.x.min())}),
        "gaussian": Number(share["Gaussian"], {"the other": share["patterns"], "a shorter context": shorter}, PERCENT),
        "patterns": Number(share["patterns"], {"the other": share["Gaussian"], "not a share": left["patterns"]}, PERCENT),
    }


def lu_tasks(d):
    published = {place: d.published.values[place, 0] for place in range(3)}
    many, alone = float(d.many[0]), d.alone.values[:, 0]
    optimum, gap = d.optimum.values[0, 0], published[0]
    return {
        "times": Number(gap / many, {"d = 32": published[1] / many, "of the optimum": gap / optimum}),
        "alone": Number(
            gap / alone[0] - 1, {"d = 32": published[1] / alone[1] - 1, "of the optimum": gap / optimum - 1}, PERCENT
        ),
    }


ROUTES = {
    "lenses-static-step": static_step,
    "lenses-own-optimum": own_optimum,
    "lenses-token-distribution": token_distribution,
    "lenses-lu-tasks": lu_tasks,
}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
