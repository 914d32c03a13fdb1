"""The numbers of the box of one convex function, by a second route."""

from boxes import PERCENT, Number, by_second_routes


def token_distribution(d):
    last = d.isel(d=0, x=-1, N=-1)
    left = {kind: float(last.left.sel(tokens=kind)) for kind in ("Gaussian", "patterns")}
    share = {kind: left[kind] / float(last.whole.sel(tokens=kind)) for kind in left}
    before = d.isel(d=0, x=-1, N=-2)
    shorter = float(before.left.sel(tokens="Gaussian") / before.whole.sel(tokens="Gaussian"))
    return {
        "N": Number(int(d.N.max()), {"the one before": int(d.N[-2])}),
        "gaussian": Number(share["Gaussian"], {"the other": share["patterns"], "a shorter context": shorter}, PERCENT),
        "patterns": Number(share["patterns"], {"the other": share["Gaussian"], "not a share": left["patterns"]}, PERCENT),
    }


ROUTES = {"lenses-token-distribution": token_distribution}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
