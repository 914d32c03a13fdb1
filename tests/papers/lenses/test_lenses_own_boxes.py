"""The numbers of the box on the MLP's own weights, by a second route."""

from boxes import Number, by_second_routes


def own_optimum(d):
    here = d.sel(mean=float(d["mean"].max()))
    ratio = here.attention / here.block_theory
    slips = {"of the bound": here.upper / here.block_theory, "of the floor": here.attention / here.floor}
    return {
        "least": Number(float(ratio.min()), {name: float(each.min()) for name, each in slips.items()}),
        "most": Number(float(ratio.max()), {name: float(each.max()) for name, each in slips.items()}),
    }


ROUTES = {
    "lenses-own-optimum": own_optimum,
}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
