"""One call a result: what is displayed, and what is returned."""

import pytest

from icl_lib.companion import show as shown
from icl_lib.companion.cards import Cards
from icl_lib.companion.figure import Picture, in_dark
from papers import registry


@pytest.fixture
def displayed(monkeypatch):
    found = []
    monkeypatch.setattr(shown, "display", found.append)
    return found


def test_a_result_is_drawn_and_all_its_claims_are_judged(displayed):
    experiment = registry.experiment("zhang-quadratic-form")
    dataset = shown.show(experiment, "quick", 3)
    picture, cards = displayed
    assert isinstance(picture, Picture) and picture.slug == experiment.slug == dataset.attrs["slug"]
    assert isinstance(cards, Cards) and dataset.attrs["seed"] == "3"
    assert {j.claim.id for j in cards.judgements} == {claim.id for claim in registry.claims_of(experiment.slug)}


def test_another_page_shows_the_claims_that_it_names(displayed):
    experiment = registry.experiment("zhang-quadratic-form")
    first = registry.claims_of(experiment.slug)[0].id
    shown.show(experiment, "quick", 0, claims=first)
    (cards,) = displayed
    assert [j.claim.id for j in cards.judgements] == [first]
    with pytest.raises(ValueError, match="Z10 is no claim about zhang-quadratic-form: take some of"):
        shown.show(experiment, "quick", 0, claims="Z10")


def test_every_result_with_claims_finds_them_in_its_room():
    for experiment in registry.EXPERIMENTS.values():
        found = {claim.id for claim in shown.declared(shown.seen_by(experiment), shown.Claim)}
        assert {claim.id for claim in registry.claims_of(experiment.slug)} <= found, experiment.slug


def test_the_dark_picture_has_the_dark_counterpart_of_every_colour():
    assert in_dark('<path style="stroke: #1b1f24; fill: #0b62a4"/>') == '<path style="stroke: #dfe4ea; fill: #6cb6ff"/>'
