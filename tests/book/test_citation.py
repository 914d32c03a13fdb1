"""How the book is cited: its record, its entries, the addresses that stay, and what changed between editions."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from lxml import html

from book.builder.site import Page
from book.citation import addresses, bibtex, editions
from book.citation import record as citation
from book.citation.details import cite
from book.citation.record import Edition, Record

ROOT = Path(__file__).resolve().parents[2]
RECORD = Record.of(ROOT)


def test_the_record_is_as_its_format_asks():
    assert citation.complaints(RECORD.fields) == []
    (wrong,) = citation.complaints(RECORD.fields | {"date-released": "tomorrow"})
    assert wrong.startswith("date-released: 'tomorrow'")
    assert citation.complaints({}) and citation.complaints(RECORD.fields | {"verdict": "holds"})
    assert citation.parsed("date-released: 2026-11-21")["date-released"] == "2026-11-21"


def test_the_version_is_the_same_everywhere():
    for name in ("pyproject.toml", "icl_lib/pyproject.toml"):
        assert tomllib.loads((ROOT / name).read_text())["project"]["version"] == RECORD.version


def test_entries_name_version_commit_and_digest():
    edition = Record(RECORD.fields | {"doi": "10.1/x"}, Edition("abcdef" * 6, 0))
    whole = bibtex.of_book(edition, "d" * 64)
    assert whole.startswith("@software{icl_companion,") and "doi = {10.1/x}" in whole
    assert f"Commit {'abcdef' * 6}. SHA-256 of MANIFEST.json: {'d' * 64}" in whole and "{{The ICL companion" in whole
    part = bibtex.of_part(RECORD, "claim Z10", "a.html#claim-Z10", "data/a.nc", "e" * 64)
    assert f"version = {{{RECORD.version}}}" in part and f"data/a.nc, SHA-256 {'e' * 64}" in part
    assert "doi" not in part and "Commit" not in part  # nothing pretends


def test_every_paper_has_its_entry():
    page = (ROOT / "book" / "cite.md").read_text()
    for key in ("zhang2024trained", "li2024nonlinear", "dherin2025learning", "garg2022what"):
        assert f"<!-- bibtex {key} -->" in page
        assert bibtex.of_paper(ROOT / "book" / "references.bib", key).startswith("@")
    with pytest.raises(KeyError, match="no entry none"):
        bibtex.of_paper(ROOT / "book" / "references.bib", "none")


def test_no_promised_address_has_disappeared():
    """An address once published stays; `python -m book.citation.addresses` adds new ones."""
    now = {*addresses.of_book(ROOT)}
    assert sorted(addresses.promised() - now) == []
    assert sorted(now - addresses.promised()) == [], "python -m book.citation.addresses adds them"
    assert "notebooks/zhang_4_1_convergence.html#claim-Z10" in now


def page_of(path, body):
    shell = f"<html><body><main><article class='bd-article'>{body}</article></main></body></html>"
    return Page(path, html.document_fromstring(shell))


def test_a_figure_and_a_card_carry_the_digest_of_the_data_on_their_page(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("a.quick.nc", "a.full.nc", "b.full.nc"):
        (tmp_path / "data" / name).write_text(name)
    (tmp_path / "ledger.json").write_text(json.dumps([{"id": "Z1", "links": {"card": "notebooks/home.html#claim-Z1"}}]))
    page = page_of(
        "notebooks/page.html",
        "<figure class='icl-figure' id='fig-a' data-slug='a'><a href='../data/a.quick.nc'>NetCDF</a></figure>"
        "<div data-slug='b'><article class='icl-card' id='claim-Z1'></article></div>"
        "<figure class='icl-figure' id='fig-drawing' data-slug=''></figure>",
    )
    cite([page], tmp_path, RECORD)
    figure, card = (each.text_content() for each in page.tree.xpath("//details[@class='icl-cite']"))
    assert "data/a.quick.nc, SHA-256 " in figure and "notebooks/page.html#fig-a" in figure
    assert "data/b.full.nc, SHA-256 " in card and "notebooks/home.html#claim-Z1" in card


def row(claim, verdict="holds", value="1 ± 0.1", margin=0.5, sentence="One is one."):
    full = {"value": value}
    return {"id": claim, "verdict": verdict, "profile": "full", "margin": margin, "sentence": sentence, "full": full}


def test_an_edition_tells_what_changed():
    old = [row("Z1"), row("Z2"), row("Z3"), row("Z4"), row("Z5")]
    new = [row("Z1"), row("Z2", "fails"), row("Z3", value="2 ± 0.1"), row("Z4", margin=0.4), row("Z6"), row("Z9")]
    found = {(one.claim, one.kind, one.old, one.new) for one in editions.changes(old, new)}
    assert found == {
        ("Z2", "verdict", "holds", "fails"),
        ("Z3", "number", "1 ± 0.1", "2 ± 0.1"),
        ("Z4", "margin", "0.5", "0.4"),
        ("Z5", "gone", "holds", ""),
        ("Z6", "added", "", "holds"),
        ("Z9", "added", "", "holds"),
    }
    assert editions.changes(old, old) == []


def test_the_page_of_editions(tmp_path):
    assert "is the first" in editions.page(editions.earlier(tmp_path), [row("Z1")], "0.1.0")
    (tmp_path / editions.FOLDER).mkdir()
    for version, verdict in (("0.9.0", "fails"), ("0.10.0", "holds")):
        ledger = [row("Z1", verdict, sentence="a < b")]
        (tmp_path / editions.FOLDER / f"{version}.json").write_text(json.dumps(ledger))
    page = editions.page(editions.earlier(tmp_path), [row("Z1", "holds", sentence="a < b")], "1.0.0")
    assert page.index("## 1.0.0 after 0.10.0") < page.index("No claim changed.") < page.index("## 0.10.0 after 0.9.0")
    assert "fails</td>" in page


def test_every_page_of_the_contents_is_promised():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [chapter["file"] for part in contents["parts"] for chapter in part["chapters"]]
    assert {f"{file}.html" for file in files} <= addresses.promised()
