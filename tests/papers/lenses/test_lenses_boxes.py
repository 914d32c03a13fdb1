"""The numbers of the boxes of the wing on what the papers say of one another, by a second route."""

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


ROUTES = {"lenses-static-step": static_step}

test_numbers_of_a_box_by_a_second_route = by_second_routes(ROUTES)
