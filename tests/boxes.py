"""The number of a box by a second route, and the wrong ones that a slip would put there: they have to read otherwise."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from bounds import near, way

from papers import registry

PERCENT = 0.01
PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Number:
    """What a box should say, and what slips would say, by their names.

    unit, least   what a printed 1 stands for; the least number that a box prints
    """

    right: float
    wrong: Mapping[str, float]
    unit: float = 1.0
    least: float = -np.inf


Route = Callable[[xr.Dataset], Mapping[str, Number]]


def shown(text: str) -> tuple[float, float]:
    """Return the number that a text begins with, and the size of one unit in its last digit."""
    digits = re.match(r"[-−]?\d+(?:\.(\d+))?(?:e([-+]\d+))?", text)
    return float(digits[0].replace("−", "-")), 10.0 ** (int(digits[2] or 0) - len(digits[1] or ""))


def reads(text: str, number: Number, value: float, side: int = 0) -> bool:
    """Say whether a text is this value, rounded, with the sign of its unit; one that bounds it is on this `side` of it."""
    said, last = shown(text)
    right = near(said, max(value, number.least) / number.unit, last, side)
    return text.endswith("%") == (number.unit == PERCENT) and right


def sides(words: Iterable[str]) -> dict[str, int]:
    """Return the side that words bound, for each number that has a place in them."""
    places = [(each[1], way(part[: each.start()], part[each.end() :])) for part in words for each in PLACE.finditer(part)]
    return dict(sorted(places, key=lambda place: abs(place[1])))


def require_right(texts: Mapping[str, str], expected: Mapping[str, Number], words: Iterable[str] = ()) -> None:
    """Raise AssertionError unless every number reads as its second route gives it, and as no slip does; `words` have places."""
    bounded = sides(words)
    assert {*expected} == {*texts}, f"{sorted(expected)} are told of {sorted(texts)}"
    for name, one in expected.items():
        assert one.wrong, f"{name}: no slip is told"
        assert reads(texts[name], one, one.right, bounded.get(name, 0)), (
            f"{name}: the box says {texts[name]}, the second route {one.right}"
        )
        for slip, value in one.wrong.items():
            assert not reads(texts[name], one, value, bounded.get(name, 0)), f"{name}: {slip} would read {texts[name]} as well"


def by_second_routes(routes: Mapping[str, Route]) -> Callable:
    """Return the test of the numbers of some boxes: each is that of its second route, and no slip would read the same."""

    @pytest.mark.parametrize("slug", routes)
    def test(slug, stored):
        dataset = stored(slug)
        minute = registry.MINUTES[slug]
        require_right(minute.numbers(dataset), routes[slug](dataset), minute.told.values())

    return test


def mean(values: xr.DataArray) -> float:
    """Return the mean over all dimensions."""
    return float(np.mean(values.values))
