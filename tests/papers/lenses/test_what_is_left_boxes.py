"""The numbers of the box on what is left, by a second route."""

import numpy as np
from boxes import PERCENT, Number, by_second_routes

NAMES = ("one block, N = 100", "one block, every length to 50", "decoder, N = 10", "decoder, N = 20")


def _vector(d, networks: tuple[int, ...], k: int) -> float:
    """Mean over networks of the share of the two parts that a vector carries."""
    at = list(d.k.values).index(k)
    rows = [list(d.network.values).index(NAMES[each]) for each in networks]
    missed, curved = (d[name].values[rows][..., at] for name in ("missed", "curved"))
    return float(np.mean(missed / (missed + curved)))


def what_is_left(d):
    vector = {
        "block": _vector(d, (0,), 100),
        "every": _vector(d, (1,), 50),
        "first": _vector(d, (2, 3), 1),
        "most": _vector(d, (2, 3), 5),
    }
    elsewhere = {"block": 1, "every": 20, "first": 2, "most": 10}
    networks = {"block": (0,), "every": (1,), "first": (2, 3), "most": (2, 3)}
    return {
        name: Number(
            1 - value,
            {"the vector's": value, "another length": 1 - _vector(d, networks[name], elsewhere[name])},
            PERCENT,
        )
        for name, value in vector.items()
    }


ROUTES = {"lenses-what-is-left": what_is_left}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
