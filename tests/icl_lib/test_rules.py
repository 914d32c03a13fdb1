"""Rules of verdicts, one by one: hand-made judgements in which one rule alone decides the outcome."""

import numpy as np
import pytest
import xarray as xr
from bs4 import BeautifulSoup

from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED, Agreement, Cards, Claim, Discrepancy, Minute
from icl_lib.companion.minute import SMALL


def claim(claim_id="Z0", **changes) -> Claim:
    fields = dict(
        id=claim_id,
        paper="zhang",
        section="0",
        sentence="x is small",
        confidence="D",
        kind="bound",
        experiment="toy",
        margin=0.1,
        check=lambda ds: Discrepancy(ds.x, ds.e),
        controls={"more": plus(9.0)},
        told={"Margin": "because"},
    )
    return Claim(**fields | changes)


def plus(step: float):
    return lambda ds: ds.assign(x=ds.x + step)


def toy(x: float, e: float = 0.0, **attributes) -> xr.Dataset:
    return xr.Dataset({"x": ("i", [x]), "e": ("i", [e])}, attrs=attributes)


def cells(measured, error, expected=1.0) -> Agreement:
    arrays = (xr.DataArray(np.asarray(each, float), dims="i") for each in (measured, expected * np.ones(len(measured)), error))
    measured, expected, error = arrays
    return Agreement(measured, expected, expected, error)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_near_miss_has_to_fail(place):
    controls = {str(each): plus(0.0 if each == place else 9.0) for each in range(3)}
    assert claim(controls=controls).judge(toy(0.0)).control_verdict == HOLDS


def test_a_near_miss_that_is_only_undecided_is_not_rejected():
    assert claim(controls={"half": plus(0.1)}).judge(toy(0.0, 0.05)).control_verdict == UNDECIDED


def test_every_card_has_its_own_strip_number_and_margin():
    page = BeautifulSoup(
        Cards(claim("Z1").judge(toy(0.02)), claim("Z2", margin=0.3).judge(toy(0.2)))._repr_html_(), "html.parser"
    )
    cards = {card["data-claim"]: card for card in page.select("article")}
    words = {name: card.select_one("svg")["aria-label"] for name, card in cards.items()}
    assert words == {"Z1": "number 0.02, allowed 0.1", "Z2": "number 0.2, allowed 0.3"}
    assert cards["Z1"].circle["cx"] != cards["Z2"].circle["cx"]


def test_of_a_sampled_formula_q_standard_errors_are_allowed_and_of_another_the_margin():
    sampled, exact = cells([1.02], [0.01]), cells([1.02], [0.0])
    assert sampled.allowed(0.2) == pytest.approx(0.01 * sampled.quantile, rel=1e-6) and sampled.allowed(0.2) < 0.1
    assert exact.allowed(0.2) == 0.2
    judged = claim(check=lambda ds: sampled, margin=0.2).judge(toy(0.0))
    assert judged.shown_allowed == f"{0.01 * sampled.quantile:.2g}" and "allowed" in Cards(judged)._repr_html_()


def test_the_margin_that_is_told_is_that_of_the_profile():
    one = claim(margin=0.1, quick_margin=0.3)
    for profile, margin in (("quick", 0.3), ("full", 0.1)):
        judged = one.judge(toy(0.0, profile=profile))
        assert judged.margin == margin and f"margin {margin:g};" in repr(Cards(judged))
        assert f"<dd>{margin:g}: because" in Cards(judged)._repr_html_() and judged.shown_allowed == f"{margin:g}"


def test_what_is_trained_may_be_another_sample_elsewhere():
    """0.06 with a standard error of 0.005: five times the root of 2 of these reach the margin, rounding does not."""
    one = {trains: claim().judge(toy(0.06, 0.01, trains=trains)).near for trains in ("True", "False")}
    assert one == {"True": True, "False": False}


def test_a_claim_is_near_its_margin_where_one_of_all_that_it_says_is():
    """The claim itself, its near miss, or the input on which a claim that fails holds."""

    def other(x):
        return lambda ds: ds.assign(x=0 * ds.x + x)

    for near, control, positive in ((False, 9.0, 0.0), (True, 0.0999, 0.0), (True, 9.0, 0.0999)):
        assert claim(controls={"other": other(control)}, positive=other(positive)).judge(toy(1.0)).near is near


def test_one_sampled_cell_makes_a_formula_sampled():
    both = cells([1.0, 1.02], [0.0, 0.01])
    assert both.allowed(0.2) == pytest.approx(0.01 * both.quantile, rel=1e-6)


def test_the_resolution_is_that_of_the_best_cell():
    both = cells([1.0, 1.0], [0.01, 0.05])
    assert both.resolution == pytest.approx(both.quantile * 0.01)


def test_the_worst_cell_of_a_formula_is_the_farthest_in_standard_errors_and_without_them_in_size():
    measured = [1.1, 1.04]
    assert cells(measured, [0.1, 0.01]).worst() == (pytest.approx(0.04), pytest.approx(0.02))
    assert cells(measured, [0.0, 0.0]).worst() == (pytest.approx(0.1), 0.0)


def box(found: dict) -> str:
    claims = [claim("Z1", recorded=FAILS), claim("Z2"), claim("Z3")]
    minute = Minute("toy", {"Says": "{Z1}", "So": "{Z2}", "New": "{Z3}"}, lambda dataset: {})
    return repr(minute.box(toy(0.0), claims, found))


def test_a_box_takes_what_was_found_before_what_is_recorded_and_counts_only_what_holds():
    assert "2 of 3 claims hold; the others: Z1." in box({})
    assert "It says: Z1 (holds)" in box({"Z1": HOLDS}) and "3 of 3 claims hold." in box({"Z1": HOLDS})
    assert "2 of 3 claims hold; the others: Z2." in box({"Z1": HOLDS, "Z2": UNDECIDED})
    assert "2 of 3 claims hold; the others: Z2." in box({"Z1": HOLDS, "Z2": NOT_REPRODUCED})


def test_a_box_with_numbers_of_the_quick_profile_says_so():
    """The text beside it has those of the full one."""
    told, numbers = {"Says": "{much}", "So": "{Z1}", "New": ""}, {"much": "9%"}
    for profile, filled, said in (("quick", numbers, True), ("full", numbers, False), ("quick", None, False)):
        minute = Minute("toy", told if filled else {**told, "Says": ""}, lambda dataset, filled=filled: filled)
        box = minute.box(toy(0.0, profile=profile), [claim("Z1")], {})
        assert (SMALL in repr(box), SMALL in box._repr_html_()) == (said, said)


@pytest.mark.parametrize(("x", "verdict"), [(0.05, HOLDS), (0.12, UNDECIDED), (0.3, NOT_REPRODUCED)])
def test_what_is_missing_hides_a_failure_and_nothing_else(x, verdict):
    assert claim(told={"Margin": "because", "Missing": "scale"}).judge(toy(x, 0.04)).verdict == verdict
    assert claim().judge(toy(x, 0.04)).verdict == {NOT_REPRODUCED: FAILS}.get(verdict, verdict)


def test_the_slack_on_a_card_is_that_of_full_data_with_its_reason():
    told = {"Margin": "because", "Slack": "chance is far away"}
    judged = [claim(told=told).judge(toy(0.02, profile=profile)) for profile in ("full", "quick")]
    full, quick = (BeautifulSoup(Cards(each)._repr_html_(), "html.parser").get_text() for each in judged)
    assert "5 is the factor" in full and "chance is far away" in full and "is the factor" not in quick
