"""The short sentences of the book say what the claims that carry them say, as a person noted it in `book/sentences.yml`."""

import dataclasses
import re

import pytest

from book import sentences
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED
from papers import registry

TABLE = sentences.read()
LISTS = {
    "index.md": {"Does not hold.": FAILS, "Not reproduced here.": NOT_REPRODUCED},
    "index.zh.md": {"不成立。": FAILS, "此处未能重现。": NOT_REPRODUCED},
}


def test_every_short_sentence_stands_in_the_table_and_says_what_its_claims_say():
    assert not (found := list(sentences.problems(sentences.spoken(), TABLE))), "\n".join(found)


def entry(**fields) -> dict:
    return sentences.looked({"says": "Training reaches the optimum (Z8).", **fields})


def changed(monkeypatch, id: str, **fields) -> None:
    monkeypatch.setitem(registry.CLAIMS, id, dataclasses.replace(registry.CLAIMS[id], **fields))


def test_a_sound_entry_has_nothing_wrong():
    assert not list(sentences.wrong(entry()))


@pytest.mark.parametrize("fields", [{"sentence": "Another."}, {"recorded": FAILS}])
def test_a_claim_that_changed_is_told(monkeypatch, fields):
    seen = entry()
    changed(monkeypatch, "Z8", **fields)
    assert "Z8 has changed since a person looked" in list(sentences.wrong(seen))


def test_another_condition_than_was_noted_is_told():
    assert "Z8 has changed since a person looked" in list(sentences.wrong({**entry(), "if": "small initialisation"}))


@pytest.mark.parametrize(
    ("said", "recorded"), [(HOLDS, FAILS), (HOLDS, NOT_REPRODUCED), (FAILS, HOLDS), (FAILS, NOT_REPRODUCED)]
)
def test_a_verdict_that_is_not_the_claim_s_is_told(monkeypatch, said, recorded):
    changed(monkeypatch, "Z8", recorded=recorded)
    one = entry(claims={"Z8": f"{said} 0"})
    assert f"says of Z8 that it {said}; recorded is: {recorded}" in list(sentences.wrong(one))
    assert not list(sentences.wrong(entry(claims={"Z8": f"{sentences.TOLD} 0"})))


def test_a_limit_of_the_claim_that_the_sentence_leaves_out_is_told(monkeypatch):
    changed(monkeypatch, "Z8", sentence="In the mean over seeds the flow reaches the optimum.")
    assert list(sentences.wrong(entry())) == ["leaves out a limit of Z8 (mean)"]
    assert not list(sentences.wrong(entry(**{"if": "the mean over seeds"})))
    assert not list(sentences.wrong(entry(says="In the mean training reaches the optimum (Z8).")))


def test_what_an_entry_leaves_to_the_page_hides_nothing_else(monkeypatch):
    changed(monkeypatch, "Z8", sentence="In the mean over seeds the flow reaches the optimum.")
    assert list(sentences.wrong(entry(**{"if": "small initialisation"}))) == ["leaves out a limit of Z8 (mean)"]


@pytest.mark.parametrize(
    ("says", "claimed", "told"),
    [
        ("Training always reaches it (Z8).", "The flow reaches the optimum.", "says “always”, which none of its claims does"),
        ("It is within 10% (Z8).", "The flow comes within 30% of it.", "says 10%, which none of its claims does"),
        ("It is 0 (Z8).", "It is 0 when $Λ ∝ I$.", "leaves out a limit of Z8 (isotropic)"),
        ("It comes near (Z8).", "At $d = 2$ and 3 it comes near.", "leaves out a limit of Z8 (dimension)"),
        ("It is predicted (Z8).", "At $ξ = 0.01$ it is predicted.", "leaves out a limit of Z8 (size)"),
        ("It is a step (Z8).", "It is the step projected on the query.", "leaves out a limit of Z8 (projected)"),
        ("A sum of 1 is needed (Z8).", "A sum of 1 is needed, norm held fixed.", "leaves out a limit of Z8 (norm)"),
    ],
)
def test_an_all_a_number_or_a_condition_that_differs_from_the_claim_s_is_told(monkeypatch, says, claimed, told):
    changed(monkeypatch, "Z8", sentence=claimed)
    assert list(sentences.wrong(entry(says=says))) == [told]
    assert not list(sentences.wrong(entry(says=claimed.replace("$Λ ∝ I$", "the inputs are isotropic") + " (Z8)")))


@pytest.mark.parametrize("verdict", [FAILS, NOT_REPRODUCED])
def test_a_claim_that_does_not_hold_is_told_as_one(monkeypatch, verdict):
    changed(monkeypatch, "Z8", recorded=verdict)
    assert list(sentences.wrong(entry())) == ["does not say that Z8 does not hold"]
    assert not list(sentences.wrong(entry(says="Training does not reach the optimum (Z8).")))
    assert not list(sentences.wrong(entry(claims={"Z8": f"{sentences.TOLD} 0"})))


def test_a_sentence_names_its_claims_or_what_it_is():
    assert list(sentences.wrong({"says": "It works."})) == ["no claim carries it, and it is not said what else it is"]
    assert "Z10 is named and not recorded" in list(sentences.wrong({**entry(), "says": "It works (Z8, Z10)."}))


def test_a_sentence_that_is_new_or_gone_is_told():
    table = {"index.md": [entry()]}
    assert [*sentences.problems({"index.md": ["Another."]}, table)] == [
        "index.md: not in the table: Another.",
        "index.md: is said no more: Training reaches the optimum (Z8).",
    ]


def test_only_what_was_looked_at_is_renewed(monkeypatch):
    other = sentences.looked({"says": "The error is a sum (Z8)."})
    table, places = {"index.md": [entry(), other]}, {"index.md": [entry()["says"], other["says"]]}
    changed(monkeypatch, "Z8", sentence="Another.")
    renewed = sentences.renewed(places, table, ["is a sum"])["index.md"]
    assert renewed[0] == table["index.md"][0] and not list(sentences.wrong(renewed[1]))


@pytest.mark.parametrize("page", LISTS)
def test_the_front_page_lists_what_fails_apart_from_what_is_not_reproduced(page):
    text = (sentences.BOOK / page).read_text(encoding="utf-8")
    for title, verdict in LISTS[page].items():
        for told in re.findall(rf"\*\*{title}\*\*(.*?)\n\n", text, re.DOTALL):
            named = {registry.CLAIMS[id].recorded for id in sentences.ID.findall(told)}
            assert verdict in named and named <= {verdict, HOLDS}, told
