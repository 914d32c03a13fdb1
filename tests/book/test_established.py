"""What is established, what is a reading, what is open: every claim of the wing in one class, the page as the ledger."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from book.builder import established
from book.builder.verdicts import NOT_RUN, Finding, Row
from icl_lib.companion import FAILS
from papers import registry

ID = re.compile(r"\b[A-Z]{1,2}\d+[a-z]?\b")
ROOT = Path(__file__).resolve().parents[2]
KEPT = yaml.safe_load((ROOT / "book" / established.FILE).read_text(encoding="utf-8"))
LABELS = established.statements(ROOT / "notebooks")
ROWS = [
    Row(claim, registry.EXPERIMENTS[claim.experiment].notebook, Finding(NOT_RUN), Finding(claim.recorded, FAILS, "1"))
    for claim in registry.CLAIMS.values()
]
OURS = [row for row in ROWS if row.claim.paper == established.WING]


def soup(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def test_every_claim_of_the_wing_is_in_exactly_one_class():
    placed, ours = Counter(established.sorted_claims(KEPT)), {row.claim.id for row in OURS}
    missing, unknown = sorted(ours - placed.keys()), sorted(placed.keys() - ours)
    assert not missing, f"in no class of book/{established.FILE}: {', '.join(missing)}"
    assert not unknown, f"no claims of the wing, in book/{established.FILE}: {', '.join(unknown)}"
    assert not [each for each, count in placed.items() if count > 1]


def test_what_is_established_is_proved_somewhere():
    for entry in KEPT["established"]:
        assert entry["by"] in LABELS, entry["by"]
        assert bool(LABELS[entry["by"]].title) != bool(entry.get("title")), f"{entry['by']}: one title"
    named = {entry["by"] for entry in KEPT["established"]}
    unchecked = [label for label, each in LABELS.items() if each.title and label not in named]
    # by S2d, a bound alone, by tests, Lu et al.'s
    assert unchecked == ["prop-lenses-2-step", "prop-lenses-3-vote", "prop-lenses-5-many"]


def test_no_claim_that_is_only_checked_is_established():
    kinds = {row.claim.id: row.claim.confidence for row in OURS}
    assert {kinds[each] for entry in KEPT["established"] for each in entry["claims"]} == {"D"}


@pytest.mark.parametrize("entry", KEPT["open"], ids=lambda entry: entry["question"])
def test_an_open_question_has_an_experiment_and_knows_its_claims(entry):
    assert entry["question"].endswith("?") and entry["experiment"] and entry["known"]
    named = ID.findall(entry["known"] + entry["experiment"])
    assert set(named) <= registry.CLAIMS.keys()


def test_the_page_shows_the_verdicts_of_the_ledger():
    page = soup(established.page(ROWS, KEPT, LABELS))
    shown = [row for row in page.select("tbody tr") if row.select_one('[data-title="found"]')]
    found = {row.select_one('[data-title="claim"]').text: row.select_one(".verdict").text for row in shown}
    assert found == {row.claim.id: row.claim.recorded for row in OURS}
    assert len(page.select("dt")) == len(KEPT["open"]) and "In no class" not in page.text
    turned = [Row(row.claim, row.notebook, row.quick, Finding("fails")) if row.claim.id == "S2" else row for row in ROWS]
    other = established.page(turned, KEPT, LABELS)
    assert 'verdict-fails">fails' in other and other.count("holds</span>") == len(OURS) - 1


def test_a_claim_in_no_class_is_shown_as_such():
    fewer = KEPT | {"readings": KEPT["readings"][1:]}
    page = established.page(ROWS, fewer, LABELS)
    assert "## In no class yet" in page and "- [S1c](../notebooks/lenses_1_one_block.html#claim-S1c)" in page


def test_statements_lead_to_their_places():
    assert LABELS["thm-lenses-2-floor"] == (
        "../notebooks/lenses_2_own_weights.html#thm-lenses-2-floor",
        "A floor of linear attention",
    )
    assert LABELS["eq-lenses-3-odds"].address == "../notebooks/lenses_3_one_function.html#equation-eq-lenses-3-odds"
