"""The numbers of the boxes of Garg et al., by a second route."""

from boxes import PERCENT, Number, by_second_routes


def regression(d):
    def risk(name: str, k: int, label: str = "clean") -> float:
        return float(d.risk.sel(predictor=name, label=label, k=k))

    ends = [risk(str(name), int(d.N.sel(model=name))) for name in d.model.values]
    noisy = [risk(str(name), int(d.N.sel(model=name)), str(d.label.values[-1])) for name in d.model.values]
    at = d.sel(k=int(d.d))
    square, ridge = at.distance.sel(label="clean"), at.ridge.min("penalty")
    ratio = square / ridge
    return {
        "left": Number(max(ends), {"the better one": min(ends), "noisy labels": max(noisy)}, PERCENT),
        "nearer": Number(float(ratio.min()), {"the most": float(ratio.max()), "inverted": float((1 / ratio).min())}),
    }


ROUTES = {
    "garg-regression": regression,
}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
