"""The ledger: its rows, the landscape and the panel drawn from them, what names a claim, and the files for machines."""

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema
import pytest
from bs4 import BeautifulSoup

from book.builder import failures, front, landscape, ledger, ledger_files, references
from book.builder.layout import Layout
from book.builder.ledger import Ledger
from book.builder.numbers import meaning
from book.builder.references import Page, named
from book.builder.verdicts import NOT_RUN, Finding, Row, Sentence, counted, sentences
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from icl_lib.companion.mathematics import plain
from icl_lib.companion.told import WHOSE
from papers import registry

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "book" / "ledger.schema.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class FakeClaim:
    id: str
    sentence: str = "error < bound & more"
    paper: str = "zhang"
    section: str = "4.1"
    confidence: str = "V2"
    kind: str = "formula"
    experiment: str = "zhang-risk"
    margin: float = 0.05
    reason: str = 'five "percent"'
    told: Mapping[str, str] = field(default_factory=lambda: {"Moved": "from a tenth"})
    ours: bool = False
    recorded: str = "holds"
    part_of: str = ""
    slack_reason: str = ""


ROWS = [
    Row(
        FakeClaim("Z10"), "zhang_4_1", Finding("holds", "fails", "0.01 ± 0.002", 0.05, 0.02), Finding("holds", "fails", "-0.01")
    ),
    Row(FakeClaim("Z11b", confidence="D", ours=True), "zhang_4_1", Finding("fails", "fails", "0.7"), Finding(NOT_RUN)),
    Row(FakeClaim("Z25", "as Z10"), "zhang_5", Finding("undecided"), Finding("fails", "holds")),
]
SMALL = Ledger(ROWS, {}, Path("nowhere"))


@pytest.fixture(scope="module")
def whole():
    """The whole book's ledger, with the verdicts that the sources record and the pages as they are."""
    rows = [
        Row(claim, registry.EXPERIMENTS[claim.experiment].notebook, Finding(NOT_RUN), Finding(claim.recorded, FAILS, "1"))
        for claim in registry.CLAIMS.values()
    ]
    return Ledger.of(rows, Layout(ROOT))


def soup(html):
    return BeautifulSoup(html, "html.parser")


def test_summary_counts_every_claim_once():
    assert ledger.summary(ROWS, "quick") == "1 holds, 1 fails, 1 undecided"
    assert ledger.summary(ROWS, "full") == "1 holds, 1 fails, 1 not run"


def test_every_claim_has_an_anchored_row_the_papers_own_first():
    page = soup(SMALL.page())
    rows = page.select("tbody tr[id]")
    assert [row["id"] for row in rows] == ["claim-z10", "claim-z25", "claim-z11b"]
    assert [part["data-tier"] for part in page.select("tbody")] == ["paper", "ours"]
    first = dict(zip(("claim", "says", "found", "named by"), rows[0].select("td"), strict=True))
    assert first["says"].get_text().startswith("error < bound & more")
    assert first["claim"].a["href"] == "../notebooks/zhang_4_1.html#claim-Z10"
    assert first["found"].select_one(".verdict-holds").get_text() == "holds"
    assert "−0.01" in first["found"].get_text() and "moved after a look" in first["found"].get_text()
    assert [a["href"] for a in first["named by"].select("a")] == ["#claim-z25"]


def test_a_rejected_control_is_no_failure_and_a_verdict_of_its_own_in_quick_is_told():
    first, second, third = (soup(SMALL.page()).find(id=f"claim-{name}") for name in ("z10", "z25", "z11b"))
    assert "control" not in first.get_text() and "fails" not in first.get_text()
    assert "quick: undecided" in second.get_text() and "control not rejected" in second.get_text()
    assert third["data-verdict"] == "fails"  # where full was not run the quick verdict counts


def test_no_blank_line_ends_the_html_of_the_page():
    for block in re.findall(r"^<(?:form|div).*?^</(?:form|div)>$", SMALL.page(), flags=re.MULTILINE | re.DOTALL):
        assert "\n\n" not in block


def test_the_files_for_machines_say_the_same_as_the_rows():
    rows = json.loads(ledger_files.as_json(SMALL))
    assert [row["id"] for row in rows] == ["Z10", "Z11b", "Z25"]
    quick = {"verdict": "holds", "control_verdict": "fails", "positive_verdict": "", "value": "0.01 ± 0.002"}
    assert rows[0]["quick"] == quick | {"margin": 0.05, "resolution": 0.02, "slack": None}
    assert (rows[0]["tier"], rows[0]["moved"], rows[0]["missing"]) == ("paper", "from a tenth", None)
    assert (rows[1]["profile"], rows[1]["verdict"], rows[1]["full"]["verdict"]) == ("quick", "fails", NOT_RUN)
    assert rows[0]["links"]["named_by_claims"] == ["Z25"]
    lines = list(csv.DictReader(io.StringIO(ledger_files.as_csv(SMALL))))
    assert [(line["id"], line["verdict"], line["whose"]) for line in lines] == [
        ("Z10", "holds", ""),
        ("Z11b", "fails", "our finding"),
        ("Z25", "fails", "the paper"),
    ]


def test_the_whole_ledger_follows_its_schema_and_a_wrong_one_does_not(whole):
    rows = json.loads(ledger_files.as_json(whole))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(rows, SCHEMA)
    assert len(rows) == len(registry.CLAIMS)
    for wrong in ({"id": "z10"}, {"verdict": "true"}, {"tier": "theirs"}, {"extra": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([rows[0] | wrong], SCHEMA)


def test_the_landscape_has_one_mark_for_every_row_of_the_ledger(whole):
    drawn = soup(landscape.drawing(whole.rows, whole.book))
    marks = {mark["href"]: mark for mark in drawn.select(".icl-marks a")}
    assert len(drawn.select(".icl-marks a")) == len(marks) == len(whole.rows)
    for row in whole.rows:
        mark = marks[f"../{row.card}"]
        tier = "found here" if row.claim.ours else "the paper's own"
        assert mark.title.get_text() == f"{row.claim.id}, {row.claim.recorded}, {tier}: {plain(row.claim.sentence)}"
        assert drawn.find(id=mark.use["href"].removeprefix("#"))
    wings = [wing.authors for wing in registry.WINGS.values() if wing.letters]
    assert [part["aria-label"] for part in drawn.select("section")] == wings
    pages = [link["href"] for link in drawn.select(".icl-page") if "/zhang_" in link["href"]]
    assert pages == sorted(pages, key=lambda href: list(whole.book).index(href[13:-5]))


def test_within_a_page_the_paper_s_own_marks_come_first_and_shapes_tell_tier_and_verdict():
    drawn = soup(landscape.drawing(ROWS[::-1], {"zhang_4_1": Page("zhang_4_1", "notebooks/zhang_4_1.html", "4.1 Risk", "")}))
    assert [line["aria-label"] for line in drawn.select("[role=group]")] == ["4.1, 2 claims", "zhang_5, 1 claim"]
    assert [use["href"] for use in drawn.select(".icl-marks use")] == ["#m-holds-paper", "#m-fails-ours", "#m-fails-paper"]
    assert drawn.select_one(".icl-page").get_text() == "4.1 Risk"
    assert len({*landscape.SHAPES.values()}) == len(landscape.SHAPES)


def test_every_claim_that_does_not_hold_says_whose_it_is_and_why(whole):
    found = {row.claim.id: failures.because(row) for row in whole.rows}
    open_or_true = {row.claim.id for row in whole.rows if row.claim.recorded not in (FAILS, NOT_REPRODUCED)}
    assert {claim_id for claim_id, reason in found.items() if reason is None} == open_or_true
    for row in whole.rows:
        assert ("Fails because" in row.claim.told) <= (row.claim.id not in open_or_true)
        if reason := found[row.claim.id]:
            whose, why = reason
            assert whose in WHOSE and len(why) > 20, row.claim.id
            assert (whose == "our finding") == row.claim.ours
            assert whose != "the paper" or row.claim.confidence in ("V", "V2")
    panel = soup(failures.panel(whole.rows))
    worst = {f"../{row.card}" for each in sentences(whole.rows) if each.verdict != HOLDS for row in each.deciding}
    assert {link["href"] for link in panel.select("li > a")} == worst
    titles = [" ".join(part.get_text().split()[:-1]) for part in panel.select("h3")]
    assert titles == [
        words for verdict, words in failures.HEADINGS.items() if any(r.claim.recorded == verdict for r in whole.rows)
    ]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("see Z10 and (D32b).", {"Z10", "D32b"}),
        ("D41–D43", {"D41", "D42", "D43"}),
        ("Z28 to Z28c", {"Z28", "Z28a", "Z28b", "Z28c"}),
        ("R = D4x, Z9999, BD4, Theorem 4.1", set()),
    ],
)
def test_claims_are_found_by_name_and_in_ranges(words, ids):
    assert named(words, registry.CLAIMS) == ids


def test_what_names_a_claim_are_other_claims_and_other_pages(whole):
    used = whole.uses["D32"]
    assert "dherin_what_it_shows" in {page.name for page in used.pages}  # a cell shows its card there
    assert "dherin_4_4_finetuning" not in {page.name for page in used.pages}
    assert "L9" in whole.uses["L10n"].claims and "L10n" not in whole.uses["L10n"].claims
    assert references.heading("text\n# Ledger\n## more") == "Ledger"
    assert whole.book["zhang_4_1_convergence"].label == "Zhang 4.1"


def test_a_translation_names_no_claim_a_second_time(whole):
    assert "index.zh" in whole.book and "L7n" in named(whole.book["index.zh"].words, registry.CLAIMS)
    naming = {page.name for used in whole.uses.values() for page in used.pages}
    assert "index" in naming and not {name for name in naming if name.endswith(references.TRANSLATED)}


def test_what_a_number_is_comes_from_the_margin_s_reason(whole):
    shown = {row.claim.id: whole.number(row) for row in whole.rows}
    assert plain(shown["D32"]).startswith("log₂ of the ratio") and shown["L7n"].startswith("0.01 − error(0.5)")
    assert shown["Z10"] == "Relative" and shown["L7g"] == shown["L7v"] and shown["G3b"] == "Error over that of predicting 0"
    assert all(0 < len(words) <= 130 for words in shown.values())
    assert shown["Z12"].endswith("far above $tr Λ/λ_min$")
    assert all(words.count("(") == words.count(")") for words in shown.values())
    assert meaning(FakeClaim("Z2", reason="A count. Of cells.")) == "A count"
    referring = [claim_id for claim_id, words in shown.items() if re.match("As |Those |The (margin|bound) of ", words)]
    assert not referring, "another claim's number is not always this one's: write what it is after Number:"


def test_a_paper_s_summary_links_its_counts():
    block = soup(ledger.summarized(registry.WINGS["zhang"], ROWS))
    links = {link.get_text(): link["href"] for link in block.select("a")}
    assert links["1 holds"] == "ledger.html?paper=zhang&tier=paper&verdict=holds"
    assert list(links) == ["1 holds", "1 fails"] and len(block.select("a")) == 3
    for wing in registry.WINGS.values():
        assert not wing.letters or (wing.scope and wing.easy and wing.hard)


def test_the_front_page_has_a_place_for_landscape_and_panel():
    text = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    assert text.count("<!-- landscape -->") == text.count("<!-- failures -->") == 1


def test_holding_claims_are_no_failures():
    assert failures.because(ROWS[0]) is None and ROWS[0].shown.verdict == HOLDS


def judged(claim_id: str, verdict: str, part_of: str = "", ours: bool = False) -> Row:
    return Row(FakeClaim(claim_id, part_of=part_of, ours=ours), "zhang_4_1", Finding(NOT_RUN), Finding(verdict))


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ((HOLDS, HOLDS), HOLDS),
        ((HOLDS, NOT_RUN), NOT_RUN),
        ((NOT_RUN, UNDECIDED), UNDECIDED),
        ((HOLDS, UNDECIDED), UNDECIDED),
        ((UNDECIDED, NOT_REPRODUCED), NOT_REPRODUCED),
        ((NOT_REPRODUCED, FAILS), FAILS),
        ((FAILS, HOLDS), FAILS),
    ],
)
def test_a_sentence_has_the_worst_verdict_of_its_parts(verdicts, worst):
    parts = [judged(f"Z{place}", verdict) for place, verdict in enumerate(verdicts)]
    assert {Sentence(parts[::step]).verdict for step in (1, -1)} == {worst}


def test_a_sentence_of_a_paper_counts_once_whatever_it_is_split_into():
    rows = [judged("Z1", HOLDS), judged("Z2", FAILS, "Z1"), judged("Z3", UNDECIDED), judged("Z4", HOLDS, ours=True)]
    rows.append(judged("Z5", NOT_REPRODUCED))
    assert [[row.claim.id for row in each.parts] for each in sentences(rows)] == [["Z1", "Z2"], ["Z3"], ["Z4"], ["Z5"]]
    found = {("paper", FAILS): 1, ("paper", UNDECIDED): 1, ("ours", HOLDS): 1, ("paper", NOT_REPRODUCED): 1}
    assert counted(rows) == found
    told = front.tally(rows)
    assert (
        told.startswith("**0 of the 3 sentences of the papers hold**; 1 fail, 1 are not reproduced")
        and "1 are undecided" in told
    )
    assert "1 findings of this book 1 hold" in told and "论文的 3 句话中 0 句成立" in front.tally(rows, "zh")
    panel = soup(failures.panel(rows))
    assert [title.get_text().split() for title in panel.select("h3")] == [
        ["Fails", "1"],
        ["Not", "reproduced", "here", "1"],
        ["Undecided", "1"],
    ]
    assert [link.get_text() for link in panel.select("li > a")] == ["Z2", "Z5", "Z3"]
    block = soup(ledger.summarized(registry.WINGS["zhang"], rows))
    assert [link.get_text() for link in block.select("a")] == ["1 fails", "1 not reproduced here", "1 undecided", "1 holds"]


def test_parts_belong_to_sentences_of_the_same_paper():
    for claim in registry.CLAIMS.values():
        if claim.part_of:
            head = registry.CLAIMS[claim.part_of]
            assert not head.part_of and not head.ours and not claim.ours and head.paper == claim.paper, claim.id
