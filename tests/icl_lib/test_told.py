"""A claim says a sentence, a margin and a near miss; what is missing is named in a sentence."""

import re

import numpy as np
import pytest

from icl_lib.companion import Discrepancy, claims_of, put
from icl_lib.companion.told import told_by


@pytest.mark.parametrize(
    ("told", "given", "why"),
    [
        ("A sentence.\n\nMargin: a reason.", {"control": put(x="y")}, "control= is given, and Control: is missing"),
        ("A sentence.\n\nMargin: a reason.\nControl: y", {}, "Control: is told, and control= is missing"),
        ("A sentence.\n\nMargin: a reason.\nControl: y", {"of": "x", "near": ("more",)}, "Control: is told"),
        ("A sentence.\n\nMargin: a reason.", {}, "it has no near miss: give control="),
        ("A sentence.\n\nMargin: a reason.", {"near": ("more",)}, "of= names a quantity, and near= its near misses"),
        ("A sentence.\n\nMargin: a reason.\nPositive: z", {"of": "x", "near": ("more",)}, "positive= is missing"),
        (
            "A sentence.\n\nMargin: a reason.\nControl: y\nMissng: z",
            {"control": put(x="y")},
            "Missng: in the place of Missing:",
        ),
        ("A sentence.\n\nMargin: why.\nControl: y\nFails Because: z", {"control": put(x="y")}, "place of Fails because:"),
        ("Only a sentence.", {"control": put(x="y")}, "its sentence, then Margin: and a reason; one of both is missing"),
        ("A sentence.\n\nControl: y\nMargin: a reason.", {"control": put(x="y")}, "Margin:, Control: once, in this order"),
        ("A sentence.\n\nMargin: one.\nMargin: two.\nControl: y", {"control": put(x="y")}, "Margin:, Control: once, in this"),
        ("A sentence.\n\nMargin: \nControl: y", {"control": put(x="y")}, "Margin: and a reason; one of both is missing"),
        ("A sentence.\n\nMargin: a reason.\nControl: y", {"control": put(x="y"), "recorded": "hold"}, "did you mean holds?"),
        ("A sentence.\n\nMargin: a reason.", {"of": "x", "near": ("",)}, "take the label of each near miss"),
        ("A sentence.\n\nMargin: why.\nFails because: scale", {"of": "x", "near": ("more",)}, "then a colon and why"),
        ("A sentence.\n\nMargin: a reason.\nControl: y", {"control": put(x="y"), "margin": np.nan}, "its margin is nan"),
    ],
)
def test_a_claim_without_its_parts_is_refused(told, given, why):
    def Z1(dataset):
        return Discrepancy(dataset.x)

    Z1.__doc__ = told
    with pytest.raises(ValueError, match=f"Z1: .*{re.escape(why)}"):
        claims_of("toy", section="1")("D", "bound", **{"margin": 0.1} | given)(Z1)


def test_what_a_part_says_may_begin_anywhere_behind_its_name():
    def Z1(dataset):
        """A sentence.

        Margin:
            a reason.
        Number:5.
        """

    assert told_by(Z1) == ("A sentence.", {"Margin": "a reason.", "Number": "5."})


def test_a_claim_is_about_a_slug():
    with pytest.raises(ValueError, match="not Discrepancy: write claims_of"):
        claims_of.__wrapped__(Discrepancy(0.0))
