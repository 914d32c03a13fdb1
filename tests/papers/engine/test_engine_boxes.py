"""The numbers of the boxes of the engine, by a second route."""

import pytest
from boxes import PERCENT, Number, require_right

from papers import registry


def roofline(d):
    apart, together = d.one_layer_seconds.values
    alone, batch = (float(value) for value in d.seconds.isel(size=-1).values)
    models = int(d.models.values.max())
    plain = (d.plain_seconds / d.seconds.sel(models=1)).values
    share = float(d.operations.isel(size=-1)[0]) / alone / float(d.peak)
    factor = models * alone / batch
    return {
        "together": Number(apart / together, {"inverted": together / apart}),
        "models": Number(models, {"one": 1}),
        "batch": Number(factor, {"inverted": 1 / factor, "not so many": alone / batch}),
        "plain": Number(plain.min(), {"the largest": plain.max(), "inverted": (1 / plain).min()}),
        "share": Number(share, {"of the batch": share * alone / batch, "inverted": 1 / share}, PERCENT),
    }


ROUTES = {
    "engine-roofline": roofline,
}


@pytest.mark.parametrize("slug", ROUTES)
def test_numbers_of_a_box_are_those_of_a_second_route_and_slips_would_read_otherwise(slug, stored):
    dataset = stored(slug)
    numbers = dict(registry.MINUTES[slug].numbers(dataset))
    assert numbers.pop("size") == str(dataset["size"].values[-1]), "the largest, the last"
    require_right(numbers, ROUTES[slug](dataset))
