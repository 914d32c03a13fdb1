"""How the numbers of boxes are read."""

import doctest

import bounds
import pytest
from boxes import PERCENT, Number, reads, require_right, shown


def test_a_number_is_read_to_half_a_unit_of_its_last_digit():
    assert shown("2e-14") == (2e-14, 1e-14) and shown("0.052%") == (0.052, 0.001)
    assert reads("3.6", Number(3.62, {}), 3.62) and not reads("3.6", Number(3.62, {}), 3.68)
    assert not reads("63", Number(0.63, {}, PERCENT), 0.63) and not reads("63%", Number(63, {}), 63)
    assert not reads("3.6", Number(3.62, {}), 3.62, side=1) and reads("3.7", Number(3.62, {}), 3.62, side=1)
    assert reads("0.01%", Number(0.0, {}, PERCENT, least=1e-4), 2e-6) and reads("−1.7", Number(0, {}), -1.72)


@pytest.mark.parametrize(
    ("texts", "number", "says"),
    [
        ({"a": "3"}, Number(4, {"inverted": 0.25}), "the second route 4"),
        ({"a": "3"}, Number(3, {"the next": 3.2}), "the next would read 3 as well"),
        ({"a": "3"}, Number(3, {}), "no slip is told"),
        ({"b": "3"}, Number(3, {"inverted": 1 / 3}), "are told of"),
    ],
)
def test_a_wrong_number_and_a_slip_that_reads_the_same_are_refused(texts, number, says):
    with pytest.raises(AssertionError, match=says):
        require_right(texts, {"a": number})
    require_right({"a": "3"}, {"a": Number(3, {"inverted": 1 / 3})})


def test_what_words_call_a_bound_is_one():
    tried = doctest.testmod(bounds)
    assert tried.attempted and not tried.failed
    slip = {"inverted": 1 / 3}
    require_right({"a": "4"}, {"a": Number(3.2, slip)}, ["It is at most {a}."])
    with pytest.raises(AssertionError, match="the box says 3"):
        require_right({"a": "3"}, {"a": Number(3.2, slip)}, ["It is at most {a}."])
