"""A card, a strip and a box as a whole: made by hand so that every number and word differs, and compared with all they say."""

import dataclasses

import numpy as np
import pytest
import xarray as xr
from bs4 import BeautifulSoup

from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED, Agreement, Cards, Claim, Discrepancy, Judgement
from icl_lib.companion.minute import Box
from icl_lib.companion.strip import Strip, placed

CLAIM = Claim(
    id="Z1",
    paper="zhang",
    section="4.1",
    sentence="The error is small.",
    confidence="V2",
    kind="bound",
    experiment="toy",
    margin=0.5,
    quick_margin=0.75,
    check=lambda dataset: Discrepancy(dataset.x),
    controls={"twice the error": lambda dataset: dataset, "no prompt": lambda dataset: dataset},
    positive=lambda dataset: dataset,
    told={
        "Margin": "chance alone makes a tenth",
        "Number": "the largest error",
        "Moved": "from 0.3",
        "Slack": "it is coarse",
        "Neglects": "a term of order 1/N",
        "Positive": "one prompt",
        "Missing": "its scale",
        "Fails because": "scale: too small",
    },
)
JUDGED = Judgement(
    CLAIM,
    NOT_REPRODUCED,
    FAILS,
    0.625,
    0.125,
    margin=0.5,
    positive_verdict=HOLDS,
    origin={"profile": "full"},
    strip=Strip(-0.5, 0.25, (3.0, -0.2), allowed=0.55),
    dataset=xr.Dataset({"x": ("i", [0.25])}),
)
TOLD = (
    "how it is judged | kind bound | wording read in the text of the arXiv version; the symbols agree with an independent "
    "reading note [V2] | margin 0.5: chance alone makes a tenth | {slack}does not hold because of scale: too small | "
    "the number the largest error | moved after a look from 0.3 | neglects a term of order 1/N | missing here its scale | "
    "control twice the error; no prompt. It has to be rejected, and is. | "
    "input on which the check holds one prompt: holds"
)


def test_a_strip_draws_the_control_that_is_nearest_to_the_edge():
    """Of controls at -2 and 0.5 that at 0.5, a third of the way from the edge to the end: 120 + 112/3."""
    drawing = BeautifulSoup(Strip(-0.5, 0.1, (-2.0, 0.5), 1.0).svg(HOLDS, "words"), "html.parser")
    assert drawing.select_one("path.miss")["d"].startswith("M157.3 ") and not drawing.select("text.within")
    drawing = BeautifulSoup(Strip(-0.5, 0.1, (2.0, -0.5), 1.0).svg(HOLDS, "words"), "html.parser")
    assert drawing.select_one("path.miss")["d"].startswith("M82.7 ") and drawing.select("text.within")


def test_of_a_single_run_the_interval_reaches_both_ends_and_a_control_without_a_number_moves_nothing():
    lone = BeautifulSoup(Strip(-0.5, np.inf, (), 1.0).svg(UNDECIDED, "words"), "html.parser")
    assert lone.select_one(".spread")["d"] == "M8.0 13.0H232.0" and lone.circle["cx"] == "82.7"
    for controls in ([np.nan, 2.0], [2.0, np.nan]):
        strip = placed(Discrepancy(-0.1), [Discrepancy(value) for value in controls], 0.0)
        assert strip.place == -0.05 and not strip.svg(HOLDS, "words").count("nan")


def card(judged: Judgement) -> tuple[str, str]:
    """What is said on a card, and what is folded: titles and texts of the list parted by strokes."""
    page = BeautifulSoup(Cards(judged)._repr_html_(), "html.parser")
    folded = page.details.extract()
    for term in folded.select("dt"):
        term.insert_before("| ")
    for drawing in page.select("svg"):
        drawing.extract()
    return tuple(" ".join(part.get_text(" ").split()).replace(" .", ".") for part in (page, folded))


def test_a_card_says_all_that_was_found_and_nothing_else():
    said, folded = card(JUDGED)
    assert said == "Z1 the paper’s not reproduced here The error is small. 0.62 ± 0.1 allowed 0.55 ◇ near miss rejected"
    assert folded == TOLD.format(
        slack="slack 2 is the factor by which what is measured could be worse before the verdict turns. it is coarse | "
    )


def test_a_card_of_a_finding_that_quick_data_leave_open():
    ours = dataclasses.replace(
        CLAIM, confidence="D", controls={"one": CLAIM.positive}, positive=None, told={"Margin": "a half"}
    )
    judged = dataclasses.replace(
        JUDGED, claim=ours, verdict=UNDECIDED, control_verdict=HOLDS, margin=0.75, resolution=0.034, origin={"profile": "quick"}
    )
    said, folded = card(judged)
    assert said == (
        "Z1 found here undecided The error is small. 0.62 ± 0.1 allowed 0.55 resolution 3% ◇ rejected on the full data only"
    )
    assert folded == (
        "how it is judged | kind bound | wording found for this book, by proof or by measurement, and not stated in the paper "
        "[D] | margin 0.75: a half | control one. It has to be rejected; these data are too coarse for it."
    )


def test_a_strip_has_its_places():
    """A place p is at 120 + 112 p/(1 + |p|)."""
    drawn = BeautifulSoup(JUDGED.strip.svg(HOLDS, "words"), "html.parser")
    assert drawn.circle["cx"] == "82.7" and drawn.select_one(".spread")["d"] == "M72.0 13.0H97.6"
    assert drawn.select_one(".miss")["d"].startswith("M101.3 ") and "rejected by the full data" in drawn.get_text()
    assert "rejected" not in Strip(-0.5, 0.25, (0.2,), 1.0).svg(HOLDS, "words")
    assert drawn.svg["class"] == ["icl-strip", "strip-holds"] and drawn.svg["aria-label"] == "words"


def test_places_are_in_units_of_what_is_allowed_to_each():
    strip = placed(Discrepancy(0.05, 0.02), [Discrepancy(0.3)], 0.1)
    assert (strip.place, strip.spread, *strip.misses, strip.allowed) == pytest.approx((-0.5, 0.2, 2.0, 0.1))
    one = xr.DataArray([1.0])
    found, miss = (Agreement(xr.DataArray([x]), one, 1.0, xr.DataArray([e])) for x, e in ((1.01, 0.01), (1.2, 0.02)))
    q = found.quantile
    assert placed(found, [miss], 0.5).misses == pytest.approx([0.2 / (0.02 * q) - 1], rel=1e-6)


def test_q_is_that_of_the_table():
    """Student's t with 29 and with 4 degrees of freedom, one chance in 20,000 above; for two cells one in 40,000."""

    def of(cells: int, blocks: int) -> float:
        return Agreement(xr.DataArray(np.ones(cells)), xr.DataArray(np.ones(cells)), 1.0, 0.1, blocks).quantile

    assert (of(1, 30), of(1, 5), of(2, 5)) == pytest.approx((4.5055, 15.544, 18.522), rel=1e-4)


def test_one_coarse_cell_leaves_a_formula_open():
    error = xr.DataArray([0.001, 0.1])
    assert Agreement(xr.DataArray([1.0, 1.0]), xr.DataArray([1.0, 1.0]), 1.0, error).verdict(0.05) == UNDECIDED


def test_a_box_says_which_hold_and_links_the_others():
    told = {"Says": "It is {n}.", "So": "Yes, {Z1}.", "New": "{Z2} and {Z3}."}
    verdicts = {"Z1": HOLDS, "Z2": UNDECIDED, "Z3": NOT_REPRODUCED, "Z4": HOLDS}
    page = BeautifulSoup(Box(told, {"n": "7%"}, verdicts, {"Z2": "two.html"})._repr_html_(), "html.parser")
    assert " ".join(page.get_text(" ").split()).replace(" .", ".").replace(" ,", ",") == (
        "In one minute It says It is 7%. Is it so? Yes, Z1 holds. New here Z2 undecided and Z3 not reproduced here. "
        "2 of 4 claims in this part hold. The others: Z2 undecided, Z3 not reproduced here."
    )
    links = [(link.get_text(), link["href"], link["class"][1]) for link in page.select("a")]
    assert links[0] == ("Z1 holds", "#claim-Z1", "chip-holds") and len(links) == 5
    assert links[1] == ("Z2 undecided", "two.html#claim-Z2", "chip-undecided") == links[3]
    assert "claims on this page hold" in Box(told, {"n": "7%"}, verdicts)._repr_html_()
