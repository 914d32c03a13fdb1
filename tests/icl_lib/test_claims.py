"""Claims: what they say and how they are judged and shown, and every claim of the registry."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from nbval.plugin import get_sanitize_patterns

from icl_lib.companion import (
    FAILS,
    HOLDS,
    NOT_REPRODUCED,
    UNDECIDED,
    Cards,
    Discrepancy,
    Measured,
    put,
    quick,
)
from icl_lib.companion.claim import Claim, claims_of
from icl_lib.companion.figure import Picture
from icl_lib.companion.told import CODES, KINDS
from papers import registry
from tests.elsewhere import move_book

ROOT = Path(__file__).resolve().parents[2]


def claim(**changes) -> Claim:
    fields = dict(
        id="Z0",
        paper="zhang",
        section="0",
        sentence="x < 1 & y",
        confidence="D",
        kind="bound",
        experiment="toy",
        margin=0.1,
        check=lambda ds: Discrepancy(ds.x, ds.e),
        controls={"x much larger": lambda ds: ds.assign(x=ds.x + 9)},
        told={"Margin": "because"},
    )
    return Claim(**fields | changes)


def toy(x, e=0.0) -> xr.Dataset:
    return xr.Dataset({"x": ("i", np.atleast_1d(x)), "e": ("i", np.atleast_1d(e) + 0 * np.atleast_1d(x))})


def test_the_number_shown_is_the_worst_case():
    judgement = claim().judge(toy([0.01, 0.04, 0.03], [0.0, 0.0, 0.02]))
    assert (judgement.value, judgement.two_se) == (0.03, 0.02)
    assert judgement.shown_value == "0.03 ± 0.02"
    assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS)


def test_rounding_is_shown_by_its_bound():
    identity = claim(margin=1e-12)
    assert identity.judge(toy(3e-15)).shown_value == "≤ 1e-12"
    assert identity.judge(toy(3e-9)).shown_value == "3e-09"
    assert claim(margin=0.0).judge(toy(3.0)).shown_value == "3"


def test_a_claim_refuses_another_experiments_data():
    with pytest.raises(ValueError, match="is judged on toy"):
        claim().judge(toy(0.0).assign_attrs(slug="other"))


def test_the_control_leaves_the_data_alone():
    dataset = toy(0.0)
    claim(controls={"in place": lambda ds: ds.x.__iadd__(9).to_dataset(name="x").assign(e=ds.e)}).judge(dataset)
    assert float(dataset.x[0]) == 0.0


def test_a_card_is_escaped_and_says_everything():
    page = Cards(claim().judge(toy(0.0)))._repr_html_()
    assert "x &lt; 1 &amp; y" in page and "verdict-holds" in page and "near miss rejected" in page
    assert re.search(r'class="icl-strip strip-holds"[^>]*aria-label="number ', page)
    assert "verdict-fails" not in page  # a rejected control is good news
    quick = toy(0.0).assign_attrs(profile="quick")
    coarse = Cards(claim(controls={"none": lambda ds: ds}).judge(quick))._repr_html_()
    assert "near miss rejected" not in coarse and "too coarse for it" in coarse


@pytest.mark.parametrize(
    "margin, x, control, place, miss",
    [(0.1, 0.05, 9.05, -0.5, 89.5), (0.1, 0.0, 9.0, -1.0, 89.0), (0.0, -3.0, 6.0, -0.5, 1.0), (-2.0, -3.0, 6.0, -0.5, 4.0)],
)
def test_the_strip_has_its_edge_at_what_is_allowed(margin, x, control, place, miss):
    found = claim(margin=margin).judge(toy(x)).strip
    assert (found.place, found.misses, found.allowed) == (pytest.approx(place), (pytest.approx(miss),), margin)


def compared(text: str) -> str:
    """Return what is left of an output for the comparison: nbval's own reading of the one rule."""
    ((rule, replacement),) = get_sanitize_patterns((Path(__file__).parents[1] / "nbval_sanitize.cfg").read_text())
    return re.sub(rule, replacement, text)


def test_of_cards_all_but_the_numbers_is_compared():
    one, other, worse = (Cards(claim().judge(toy(x))) for x in (0.051, 0.052, 0.2))
    assert repr(one).splitlines()[0] == "Z0: holds (value ⟨0.051⟩, margin 0.1; control fails)"
    for shown in (repr, Cards._repr_html_):
        assert shown(one) != shown(other)
        assert compared(shown(one)) == compared(shown(other)) != compared(shown(worse))
    assert "margin 0.1; control fails" in compared(repr(one)) and "x &lt; 1 &amp; y" in compared(one._repr_html_())


def test_of_pictures_all_but_the_drawing_is_compared():
    one, other = (Picture("risk", "toy", "quick", svg, "a line", "A line.") for svg in ("<svg>\n1</svg>", "<svg>2</svg>"))
    assert one._repr_html_() != other._repr_html_()
    left = compared(one._repr_html_())
    assert left == compared(other._repr_html_()) and "base64" not in left
    assert "<figcaption>A line.</figcaption>" in left and 'id="fig-risk"' in left
    assert repr(one) == "Picture('risk', 'toy'): ⟨a line⟩"


def test_measured_tables_stand_between_marks_in_text_and_in_html():
    one, other = (Measured(pd.DataFrame({"risk": [x, 1.0]})) for x in (0.5, 12.25))
    assert str(one).splitlines()[1:3] == ["   risk", "0   0.5"]
    assert "<td>0.5</td>" in one._repr_html_() and "<td>" not in compared(one._repr_html_())
    assert compared(f"risk: {one}, exact 2") == compared(f"risk: {other}, exact 2") == "risk: ..., exact 2"
    assert str(Measured(0.5)) == "⟨0.5⟩" and Measured(0.5)._repr_html_() is None


def test_a_near_claim_of_a_committed_quick_result_is_shown_with_its_verdict_in_full(tmp_path, monkeypatch):
    origin = {"slug": "toy", "profile": "quick", "seed": "0", "declaration": "Toy()"}
    judge = claim(module="papers").judge  # of a book: a script has nothing committed
    near = toy(0.1005).assign_attrs(origin)
    assert judge(near).near and not judge(toy(0.0)).near
    move_book(monkeypatch, store=tmp_path)
    own = "Z0: fails (value ⟨0.1⟩, margin 0.1; control fails)\n    x < 1 & y"
    assert repr(Cards(judge(near))) == own  # no file yet
    (tmp_path / quick.FILE).write_text(json.dumps({"toy": {"declaration": "Toy()", "claims": {"Z0": {"near": True}}}}))
    assert repr(Cards(judge(near))) == own.replace("fails", "holds (judged in full)", 1)
    assert 'verdict-holds">holds</span><small> (judged in full)</small>' in Cards(judge(near))._repr_html_()
    for changed in ({"seed": "1"}, {"profile": "full"}, {"declaration": "Toy(N=3)"}):
        assert repr(Cards(judge(near.assign_attrs(changed)))) == own


@pytest.mark.parametrize("claim_id", registry.CLAIMS)
def test_every_claim_is_complete(claim_id):
    claim = registry.CLAIMS[claim_id]
    experiment = registry.EXPERIMENTS[claim.experiment]
    assert claim.paper == experiment.paper
    assert claim.confidence in CODES
    assert claim.recorded in {HOLDS, UNDECIDED, NOT_REPRODUCED if "Missing" in claim.told else FAILS}
    for text in (claim.id, claim.section, claim.sentence, claim.kind, *claim.told.values(), *claim.controls):
        assert text and not re.search("[⟨⟩]", text), "marks are for numbers"


@pytest.mark.parametrize(
    ("paper", "numbers"),
    [
        ("Z", range(1, 29)),
        ("L", range(1, 23)),
        ("D", sorted({*range(1, 57), *range(60, 72)} - {49})),
        ("G", range(1, 5)),
    ],
)
def test_every_numbered_claim_of_a_paper_is_here(paper, numbers):
    """As a claim, or as a test of what the code computes."""
    tests = Path(__file__).parents[1].glob("papers/*/test_*_consistency*.py")
    tested = [name for path in tests for name in re.findall(r"^def test_([A-Z]\d+[a-z]?)\(", path.read_text(), re.MULTILINE)]
    every = [*registry.CLAIMS, *tested]
    found = {int("".join(ch for ch in claim_id[1:] if ch.isdigit())) for claim_id in every if claim_id[0] == paper}
    assert found >= set(numbers) and found <= {0, *numbers}


def in_a_room(function):
    function.__module__ = "papers.zhang.s7_toy.claims"
    return function


def test_a_decorated_function_is_a_claim_with_all_that_it_says():
    @claims_of("toy")("V", "bound", margin=0.1, control=put(x="y"))
    @in_a_room
    def Z0(dataset):
        """x is small:
        at every place.

        Margin: a tenth is
        enough.
        Control: another variable
        """
        return Discrepancy(dataset.x)

    assert (Z0.id, Z0.experiment, Z0.paper, Z0.section, Z0.recorded) == ("Z0", "toy", "zhang", "7", HOLDS)
    assert (Z0.sentence, Z0.reason) == ("x is small: at every place.", "a tenth is enough.")
    assert list(Z0.controls) == ["another variable"] and not Z0.ours
    data = xr.Dataset({"x": 0.0, "y": 1.0})
    assert (Z0.judge(data).verdict, Z0.judge(data).control_verdict) == (HOLDS, FAILS)


RISK = {"risk": 1.05, "risk_theory": 1.0, "risk_se": 0.01}
"""One cell: q is 4.51 for 30 blocks."""


def formula(kind: str = "formula", **changes) -> Claim:
    @claims_of("toy")("D", kind, of="risk", near=("N for M", "a 2 forgotten"), **{"margin": 0.05} | changes)
    @in_a_room
    def Z0(dataset):
        """The risk is as in theory.

        Margin: relative.
        """

    return Z0


def test_a_formula_names_its_quantity_and_its_near_misses():
    near = xr.DataArray([1.12, 0.95], dims="mistake", coords={"mistake": ["N for M", "a 2 forgotten"]})
    judged = formula().judge(xr.Dataset(RISK | {"risk": 1.03, "risk_near": near}))
    assert (judged.value, judged.two_se) == (pytest.approx(0.03), pytest.approx(0.02))
    assert (judged.verdict, judged.control_verdict) == (HOLDS, FAILS)
    assert judged.resolution == pytest.approx(0.0451, abs=1e-4)
    blind = xr.Dataset(RISK | {"risk": 1.03, "risk_near": near.copy(data=[1.12, 1.01])})
    assert formula().judge(blind).control_verdict == HOLDS  # one of two mistakes is not seen
    misspelt = blind.rename(risk_se="risk_err")
    with pytest.raises(ValueError, match="risk has no risk_se and no dimension seed"):
        formula().judge(misspelt)
    assert formula(margin=1e-4).judge(misspelt.assign(risk=1.0)).verdict == HOLDS  # computed, and nothing drawn


def test_the_kinds_are_those_of_the_ledger_and_another_is_told():
    schema = json.loads((ROOT / "book" / "ledger.schema.json").read_text(encoding="utf-8"))
    (listed,) = re.findall(r"'kind': \{'enum': (\[.*?\])\}", str(schema))
    assert listed == str([*KINDS])
    with pytest.raises(ValueError, match="Z0: unknown kind 'formulae': did you mean formula"):
        formula("formulae")


def test_an_empirical_sentence_is_not_reproduced_and_shows_an_input_on_which_it_is():
    told = {"Margin": "because", "Positive": "x halved", "Missing": "the paper's scale"}
    one = claim(told=told, positive=lambda ds: ds.assign(x=ds.x / 2))
    judged = one.judge(toy(0.15))
    assert (judged.verdict, judged.control_verdict, judged.positive_verdict) == (NOT_REPRODUCED, FAILS, HOLDS)
    card = Cards(judged)._repr_html_()
    assert "the paper's scale" in card.replace("&#39;", "'") and "x halved" in card and "verdict-not-reproduced-here" in card


def test_a_check_that_gives_no_discrepancy_is_refused():
    with pytest.raises(ValueError, match="the check of Z0 gives a bool: return Discrepancy"):
        claim(check=lambda dataset: True).judge(toy(0.1))


def test_a_control_that_gives_no_number_rejects_nothing():
    assert claim(controls={"no number": lambda dataset: dataset * float("nan")}).judge(toy(0.05)).control_verdict == UNDECIDED
