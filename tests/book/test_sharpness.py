"""How far claims are from their edges, told and drawn: by hand-made rows."""

import re

import pytest
from bs4 import BeautifulSoup
from test_ledger import FakeClaim

from book.builder import sharpness
from book.builder.verdicts import NOT_RUN, Finding, Row
from icl_lib.companion import FAILS, HOLDS
from icl_lib.companion.claim import ROUNDING_SLACK


def row(id: str, verdict: str = HOLDS, reason: str = "", **full) -> Row:
    return Row(FakeClaim(id, slack_reason=reason), "zhang_4_1", Finding(NOT_RUN), Finding(verdict, **full))


ROWS = [
    row("Z1", resolution=1e-3),
    row("Z2", slack=1.5),
    row("Z3", slack=2.0),
    row("Z4", reason="The bound is loose.", slack=30.0),
    row("Z5", reason=ROUNDING_SLACK, slack=1000.0),
    row("Z6", FAILS, slack=40.0),
    row("Z7", reason="Any rise counts.", slack=5.0),
]


def places(svg) -> dict[str, tuple[float, float]]:
    dots = {link.title.string: link.use for link in svg.select("a")}
    return {name: (float(dot["x"]), float(dot["y"])) for name, dot in dots.items()}


def test_claims_are_told_by_resolution_or_slack_and_those_above_2_say_why():
    page = sharpness.section(ROWS)
    assert page.startswith("\n\n## "), "it is added to a page"
    told = " ".join(page.split())
    assert "1 claims have one" in told and "Of 6 claims 2 have a slack of at most 2." in told
    assert "Of the 4 with more, 3 hold. The margins of 1 of these leave room for rounding" in told
    table = BeautifulSoup(page, "html.parser").select("tbody tr")
    assert [each.get_text(" ").split()[0] for each in table] == ["Z4", "Z7"] and "The bound is loose." in table[0].get_text()
    assert table[0].a["href"] == "../notebooks/zhang_4_1.html#claim-Z4"


def test_a_dot_lies_at_its_number_and_equal_ones_above_each_other():
    resolutions, slacks = BeautifulSoup(sharpness.section([*ROWS, row("Z8", slack=1.5)]), "html.parser").select("svg")
    ticks = {text.string: float(text["x"]) for text in resolutions.select("text")}
    assert places(resolutions)["Z1, holds: 0.001"][0] == pytest.approx(ticks["0.1%"], abs=sharpness.STEP / 2)
    found, edge = places(slacks), float(re.search(r"M([\d.]+) 0V", str(slacks))[1])
    ordered = [
        found[name][0]
        for name in ("Z2, holds: 1.5", "Z3, holds: 2", "Z7, holds: 5", "Z4, holds: 30", "Z6, fails: 40", "Z5, holds: 1e+03")
    ]
    assert ordered == sorted(set(ordered)) and found["Z3, holds: 2"][0] == pytest.approx(edge, abs=sharpness.STEP / 2)
    assert (
        found["Z2, holds: 1.5"][0] == found["Z8, holds: 1.5"][0]
        and found["Z2, holds: 1.5"][1] - found["Z8, holds: 1.5"][1] == sharpness.STEP
    )
    assert slacks.find("title", string="Z6, fails: 40").parent.use["href"] == "#icl-dot-fails"
    assert {each["id"] for each in resolutions.select("defs g")} >= {each["href"][1:] for each in slacks.select("use")}


def test_nothing_is_told_where_nothing_was_judged():
    assert sharpness.section([row("Z1")]) == ""
