"""Rows of the ledger as a whole: made by hand so that the profiles differ in every number, and compared with all they say."""

import csv
import dataclasses
import io
import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from test_ledger import FakeClaim

from book.builder import front, landscape, ledger_files, recorded
from book.builder.ledger import Ledger
from book.builder.pages import SOURCES
from book.builder.verdicts import NOT_RUN, Finding, Row, Sentence, finding
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED

CLAIM = FakeClaim(
    "Z1",
    "x is small",
    told={"Margin": "a tenth", "Moved": "from 0.3", "Missing": "its scale"},
    reason="a tenth",
    part_of="Z0",
    slack_reason="it is coarse",
    recorded=HOLDS,
    experiment="zhang-risk",
)
ROW = Row(
    CLAIM,
    "zhang_4_1",
    Finding(UNDECIDED, HOLDS, "0.11 ± 0.07", 0.75, 0.25, HOLDS, {"value": 0.11, "two_se": 0.07}),
    Finding(NOT_REPRODUCED, FAILS, "-0.62 ± 0.05", 0.5, 0.034, FAILS, {"value": 0.62, "two_se": 0.05}, 1.7),
)
ALONE = Ledger([ROW], {}, Path("nowhere"))


def words(html: str, *chosen: str) -> str:
    """The text of what is chosen, with one space between its words."""
    page = BeautifulSoup(html, "html.parser")
    return " | ".join(" ".join(part.get_text(" ").split()) for part in (page.select(*chosen) if chosen else [page]))


def test_a_row_says_what_was_found_in_the_profile_that_counts():
    assert words(ALONE.page(), "tbody tr[id] td") == (
        "Z1 § 4.1 | x is small formula, "
        f"{words(SOURCES['V2'])} | "
        "not reproduced here −0.62 ± 0.05 quick: undecided a tenth margin 0.05, moved after a look, resolution 3%, slack 1.7"
        ", counted with Z0 | "
    )
    quick = dataclasses.replace(ROW, full=Finding(NOT_RUN))
    told = words(Ledger([quick], {}, Path("nowhere")).page(), "tbody tr[id] td:nth-of-type(3)")
    assert told == (
        "undecided 0.11 ± 0.07 a tenth margin 0.05, moved after a look, resolution 20%, counted with Z0, control not rejected"
    )


def test_a_page_counts_each_profile_by_itself():
    page = ALONE.page()
    assert "- Quick profile: 1 undecided.\n- Full profile: 1 not reproduced here.\n" in page
    assert "1 of 1 controls are rejected" in page


def test_the_files_for_machines_tell_the_profile_that_counts_and_both():
    (one,) = [row for row in json.loads(ledger_files.as_json(ALONE)) if row["id"] == "Z1"]
    told = {name: one[name] for name in ("verdict", "profile", "resolution", "slack", "margin", "recorded", "part_of", "tier")}
    assert told == {
        "verdict": NOT_REPRODUCED,
        "profile": "full",
        "resolution": 0.034,
        "slack": 1.7,
        "margin": 0.05,
        "recorded": HOLDS,
        "part_of": "Z0",
        "tier": "paper",
    }
    assert one["reason"] == "a tenth" and one["slack_reason"] == "it is coarse" and one["missing"] == "its scale"
    assert one["does_not_hold"] == {"whose": "scale", "why": "Missing: its scale."}
    for profile, found in (("quick", ROW.quick), ("full", ROW.full)):
        assert one[profile] == {
            "verdict": found.verdict,
            "control_verdict": found.control,
            "positive_verdict": found.positive,
            "value": found.value,
            "margin": found.margin,
            "resolution": found.resolution,
            "slack": found.slack,
            "found": found.found,
        }
    (line,) = csv.DictReader(io.StringIO(ledger_files.as_csv(ALONE)))
    assert (line["verdict"], line["value"], line["margin"]) == (NOT_REPRODUCED, "-0.62 ± 0.05", "0.05")
    assert (line["resolution"], line["slack"], line["control_verdict"], line["whose"]) == ("0.034", "1.7", FAILS, "scale")


def test_a_finding_is_what_was_judged_field_by_field():
    kept = {
        "verdict": UNDECIDED,
        "control": FAILS,
        "value": 0.625,
        "two_se": 0.125,
        "margin": 0.5,
        "positive": HOLDS,
        "resolution": 0.034,
        "near": False,
        "slack": 1.7,
    }
    found = finding(CLAIM, {"zhang-risk": {"claims": {"Z1": kept}}})
    numbers = {"value": 0.625, "two_se": 0.125}
    assert found == Finding(UNDECIDED, FAILS, "0.62 ± 0.1", 0.5, 0.034, HOLDS, numbers, 1.7)
    assert finding(CLAIM, {}) == Finding(NOT_RUN)


COUNTS = {
    "paper": {HOLDS: 5, FAILS: 4, NOT_REPRODUCED: 3, UNDECIDED: 2},
    "ours": {HOLDS: 7, FAILS: 1, NOT_REPRODUCED: 6, UNDECIDED: 8},
}
MANY = [
    Row(
        FakeClaim(f"Z{tier}{verdict}{k}", ours=tier == "ours", confidence="Q" if k else "S"),
        "zhang_4_1",
        Finding(HOLDS),
        Finding(verdict),
    )
    for tier, counts in COUNTS.items()
    for verdict, count in counts.items()
    for k in range(count)
]


def test_front_pages_and_landscape_count_both_tiers():
    assert front.tally(MANY) == (
        "**5 of the 14 sentences of the papers hold**; 4 fail, 3 are not reproduced here, and 2 are undecided. 4 of the "
        "14 are known from slides, notes, retellings or memory alone. Of the 22 findings of this book 7 hold."
    )
    assert front.tally(MANY, "zh") == (
        "**论文的 14 句话中 5 句成立**；4 句不成立，3 句在此未能重现，2 句未定。"
        "这 14 句话中有 4 句只见于幻灯片、笔记、转述或记忆。本书的 22 个发现中 7 个成立。"
    )
    drawn = landscape.drawing(MANY, {})
    assert words(drawn, ".icl-legend a") == "holds 5 7 | fails 4 1 | not reproduced here 3 6 | undecided 2 8"
    signs = [use["href"] for use in BeautifulSoup(drawn, "html.parser").select(".icl-marks use")]
    assert signs == [
        f"#m-{v.replace(' ', '-')}-{tier}" for tier, counts in COUNTS.items() for v, n in counts.items() for _ in range(n)
    ]
    for use in BeautifulSoup(drawn, "html.parser").select(".icl-legend a"):
        word = " ".join(use["class"]).replace(" ", "-")
        assert [each["href"] for each in use.select("use")] == [f"#m-{word}-paper", f"#m-{word}-ours"]


def test_a_mark_is_called_by_the_verdict_that_was_found():
    assert CLAIM.recorded == HOLDS and landscape.name(ROW).startswith("Z1, not reproduced here, ")


def test_only_the_parts_with_its_verdict_decide_a_sentence():
    parts = [
        Row(FakeClaim(f"Z{k}"), "zhang_4_1", Finding(FAILS), Finding(each)) for k, each in enumerate((HOLDS, FAILS, FAILS))
    ]
    assert [row.claim.id for row in Sentence(parts).deciding] == ["Z1", "Z2"]


@pytest.mark.parametrize("verdict", [FAILS, NOT_REPRODUCED, UNDECIDED, HOLDS])
def test_a_mark_has_the_shape_of_its_verdict(verdict):
    """A cross, an unequal sign, a square, a circle; the paper's is filled or drawn thick."""
    starts = {FAILS: '<path d="M{0} {0}L{1} {1}M{1} {0}L{0} {1}', HOLDS: "<circle"}
    for tier, (low, high) in {"paper": ("5.8", "18.2"), "ours": ("7.8", "16.2")}.items():
        shape = landscape.SHAPES[verdict, tier]
        if verdict in starts:
            assert shape.startswith(starts[verdict].format(low, high))
        assert shape.count("M") == {FAILS: 2, NOT_REPRODUCED: 3, UNDECIDED: 1, HOLDS: 0}[verdict]
        assert (landscape.HOLLOW in shape) == (tier == "ours") and shape.endswith("/>")
        assert ("Z" in shape) == (verdict == UNDECIDED)


def test_the_page_of_the_calibration_tells_its_counts(tmp_path):
    row = {
        "claim": "Z1",
        "experiment": "toy",
        "cells": 3,
        "rms": 1.02,
        "mean": -0.1,
        "largest": 3.3,
        "quantile": 4.5,
        "failed": 1,
        "identity": "",
    }
    found = {"commit": "abc", "seeds": 50, "histogram": [6, 2, 4, 0], "claims": [row, row | {"claim": "Z2", "failed": 2}]}
    stored = tmp_path / "calibration.json"
    stored.write_text(json.dumps(found), encoding="utf-8")
    page = " ".join(recorded.calibration_page(stored).split())
    assert "even would be 1 in each, and they lie between 0.00 and 2.00" in page and "deviation, 12 cells" in page
    assert "anew with 50 seeds" in page and "Here 3 of 100 verdicts fail." in page
    assert "| Z1 | toy | 3 | 1.02 | −0.100 | 3.3 | 4.5 | 1 |" in page and 'y="-30.0"' in page and 'height="160.0"' in page


def test_the_share_of_survivors_is_of_those_that_are_not_equivalent(tmp_path):
    row = {"file": "a.py", "function": "f", "right": "1", "wrong": "2", "rule": "constant"}
    groups = {"theory": ["claims"] * 90 + ["equivalent"] * 60, "boxes": ["nothing"] * 3 + ["tests"] * 7}
    found = {"commit": "abc", "total": 999, "groups": groups, "survivors": [row] * 3, "equivalent": [row | {"reason": "same"}]}
    (tmp_path / "mutants.json").write_text(json.dumps(found), encoding="utf-8")
    faults = {"commit": "abc", "faults": [{"file": "a.py", "right": "1", "wrong": "2", "kind": "sign", "caught": "claims: Z1"}]}
    (tmp_path / "faults.json").write_text(json.dumps(faults), encoding="utf-8")
    page = " ".join(recorded.faults_page(tmp_path / "faults.json").split())
    assert "make 999 mutants" in page and "Of 100, drawn evenly over the functions, 3 survived (3.0%)" in page
    assert "| | claims | tests | equivalent | nothing |" in page
    assert "| theory | 90 | 0 | 60 | 0 |" in page and "| boxes | 0 | 7 | 0 | 3 |" in page
    assert "1 small faults" in page and "Caught by claims: 1." in page
