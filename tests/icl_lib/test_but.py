"""An experiment with settings of a reader's: what is changed, what is refused, and what is shown of it."""

import re
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from icl_lib.companion import Cards, Count, Declaration, Experiment, claims_of, drawing, put, results, show_claims, showing
from icl_lib.companion.figure import Picture
from papers import registry

TWENTY = [
    ("zhang-risk", {"d": 3, "prompts": 200}),
    ("zhang-risk", {"kappa": 50.0, "prompts": 200, "N": [10], "M": (5, 20)}),
    ("zhang-risk", {"noise_sd": 0.0, "prompts": 200}),
    ("zhang-flow", {"settings": [(2, 5, 3.0)], "starts": 1}),
    ("zhang-quadratic-form", {"d": 2}),
    ("zhang-quadratic-form", {"N": range(1, 4), "kappa": 3}),
    ("zhang-rank-one-trap", {"d": 2, "N": 20}),
    ("zhang-stationarity", {"d": 3, "blocks": 20}),
    ("zhang-stationarity", {"kappa": 2, "pairs": 300}),
    ("zhang-isotropic", {"d": np.int64(8), "prompts": 200}),
    ("zhang-isotropic", {"N": np.array([10, 30]), "prompts": 200}),
    ("zhang-isotropic", {"N": [np.int64(10), np.int64(30)], "prompts": 200}),
    ("zhang-time-course", {"d": 2, "N": 5, "kappa": 3.0}),
    ("li-first-push", {"seeds": 2, "base.T": 5}),
    ("dherin-rank-one", {"networks": 2, "width": 16, "N": 10}),
    ("dherin-identity", {"networks": 2, "N": 10}),
    ("dherin-identity", {"networks": 2, "N": 10, "shares": 0.5}),
    ("dherin-other-sites", {"networks": 2, "N": 10}),
    ("dherin-conditioning", {"networks": 2, "k": 3}),
    ("dherin-gradient-step", {"blocks": 5, "d": 2}),
    ("dherin-modern-blocks", {"sizes.width": 24}),
]


@pytest.mark.long
@pytest.mark.parametrize(("slug", "values"), TWENTY)
def test_with_other_settings_all_that_is_shown_says_so(slug, values, displayed):
    changed = registry.experiment(slug).but(**values)
    dataset = showing.show(changed, seed=7)
    words = f"changed from the book: {dataset.attrs['changed']}"
    assert set(changed.changed) == set(values) and dataset.attrs["seed"] == "7" and dataset.attrs["profile"] == "quick"
    for one in displayed:
        assert words in repr(one) and words in BeautifulSoup(one._repr_html_(), "html.parser").get_text()
    for cards in (one for one in displayed if isinstance(one, Cards)):
        html = cards._repr_html_()
        assert html.count("The margin was set for") == html.count("this is no record of the book") == len(cards.judgements)
    shown = {judged.claim.id for one in displayed if isinstance(one, Cards) for judged in one.judgements}
    unshown = {repr(one).split()[0] for one in displayed if isinstance(one, showing.Note)}
    assert shown | unshown - {"The"} == {claim.id for claim in registry.claims_of(slug)}


@pytest.mark.parametrize(
    ("slug", "values", "says"),
    [
        ("zhang-risk", {"D": 3}, "unknown field of Risk 'D': did you mean d?"),
        ("zhang-risk", {"promts": 3}, "unknown field of Risk 'promts': did you mean prompts?"),
        ("zhang-risk", {"d": 0}, "d is (0,): take a tuple, each a whole number of at least 1, 1 or more of them"),
        ("zhang-risk", {"d": ()}, "d is (): take a tuple, each a whole number of at least 1, 1 or more of them"),
        ("zhang-risk", {"d": True}, "d is (True,): take a tuple, each a whole number of at least 1, 1 or more of them"),
        ("zhang-risk", {"kappa": float("nan")}, "kappa is nan: take a finite number above 0"),
        ("zhang-risk", {"kappa": "large"}, "kappa is 'large': take a finite number above 0"),
        ("zhang-risk", {"kappa": 10**400}, "kappa is larger than any number that can be computed with"),
        ("zhang-risk", {"prompts": None}, "prompts is None: take a whole number of at least 1"),
        ("zhang-risk", {"prompts.x": 1}, "prompts is one value: write prompts=VALUE"),
        ("zhang-flow", {"settings": (3, 10, 5.0)}, "settings is (3, 10, 5.0): take a tuple, each a tuple of"),
        ("li-first-push", {"base.gamma": 1.0}, "unknown field of Setting 'gamma': "),
        ("li-first-push", {"base.beta": -1.0}, "beta is -1.0: take a finite number above 0"),
        ("li-first-push", {"base": 3}, "base is made of fields: name one, such as base.X=VALUE with X one of tasks"),
        ("garg-sparse", {"slow.dims.interval": 0.5}, "interval is 0.5: take a whole number"),
        ("dherin-alignment", {"tasks": 2}, "in the full profile, 10 of 2 tasks cannot be checked: "),
    ],
)
def test_what_is_refused_gets_one_sentence(slug, values, says):
    with pytest.raises(ValueError) as refused:
        registry.experiment(slug).but(**values)
    assert str(refused.value).startswith(says) and "\n" not in str(refused.value)


def test_what_was_changed_is_known_through_two_calls_and_a_change_back_is_none():
    book = registry.experiment("zhang-risk")
    twice = book.but(d=10).but(kappa=50)
    assert twice.changed == {"d": (10,), "kappa": 50.0} and twice.in_the_book is book
    back = twice.but(d=book.quick.d, kappa=10)
    assert back.changed == {} and back == book and book.changed == {}
    assert book.with_settings("quick", ["d=10"]).changed_in("quick") == {"d": (10,)}
    assert book.with_settings("quick", ["d=10"]).quick == book.but(d=10).quick


def test_a_value_that_is_the_books_at_one_scale_is_no_change_there():
    book = registry.experiment("zhang-quadratic-form")
    same = book.but(d=book.quick.d)
    assert same.changed == {"d": book.quick.d} and same.changed_in("quick") == {} and same.quick == book.quick
    assert "changed" not in same.expect(book.measure("quick", 0)).attrs


def test_all_scales_that_are_declared_are_changed():
    experiment = registry.experiment("zhang-gpt2")
    field = next(each.name for each in fields(experiment.quick) if type(getattr(experiment.quick, each.name)) is int)
    changed = experiment.but(**{field: 3})
    assert [getattr(each, field) for each in (changed.quick, changed.full, changed.published)] == [3, 3, 3]
    one = experiment.with_settings("published", [f"{field} = 7"])
    assert one.changed == {field: 7} and one.changed_in("full") == {}
    with pytest.raises(ValueError, match="take one of quick, full, published"):
        experiment.declaration("publshed")


@dataclass(frozen=True)
class Perhaps(Declaration):
    """A coin. ``tosses`` are as many as there are coins unless told."""

    coins: Count
    tosses: Count | None = None


def test_what_is_not_told_yet_can_be_told_on_the_command_line():
    coin = Experiment("toy-coin", "A coin", quick=Perhaps(1), full=Perhaps(2))
    assert coin.with_settings("quick", ["tosses=4"]).quick == coin.but(tosses=4).quick == Perhaps(1, 4)
    for wrong in ("tosses=0", "tosses=many"):
        with pytest.raises(ValueError, match="tosses is (0|'many'): take a whole number of at least 1 or nothing"):
            coin.with_settings("quick", [wrong])


def test_a_full_result_with_other_settings_is_neither_read_nor_computed(displayed):
    changed = registry.experiment("zhang-risk").but(d=10, N=(10, 20))
    with pytest.raises(results.StaleResult) as refused:
        showing.show(changed, "full", seed=7)
    command = "./run figure zhang-risk --profile full --seed 7 --set d=10 --set 'N=(10, 20)'"
    assert str(refused.value) == f"zhang-risk with d = 10; N = 10, 20 is not stored: {command} computes it, which may take long"
    again = registry.experiment("zhang-risk").with_settings("full", ["d=10", "N=(10, 20)"])
    assert again.full == changed.full and not displayed
    fitted = registry.experiment("li-rescaling")
    with pytest.raises(results.StaleResult, match=r"is not stored: its run\('full', 0\) computes it, which may take long"):
        results.stored(fitted.but(settings=replace(fitted.full.settings[0], B=64)))


def test_nothing_of_other_settings_is_left_where_the_book_collects_its_results(tmp_path, monkeypatch, displayed):
    monkeypatch.setenv("ICL_RESULTS", str(tmp_path))
    book = registry.experiment("zhang-quadratic-form")
    showing.show(book.but(d=2))
    assert not list(tmp_path.iterdir())
    showing.show(book)
    assert {path.suffix for path in tmp_path.iterdir()} == {".nc", ".csv"}
    ours, theirs = displayed[:2], displayed[2:]
    assert not any(re.search(r'\bid="|data-slug|data-claim', one._repr_html_()) for one in ours)
    assert all('data-slug="zhang-quadratic-form"' in one._repr_html_() for one in theirs)


@pytest.mark.long
def test_the_caption_of_the_book_gives_way_to_what_the_axes_say(displayed):
    showing.show(registry.experiment("zhang-flow").but(starts=3))
    picture = displayed[0]
    assert isinstance(picture, Picture)
    assert picture.alt == "Drawn: relative distance to the limit over time t; (L-L^*)/L^* over time t."
    assert picture.caption == f"{picture.alt} The caption in the book speaks of the settings there."
    html = picture._repr_html_()
    assert html.index("changed from the book: starts = 3") < html.index("<figcaption>")
    assert "Theorem 4.1" not in html and repr(picture).startswith("changed from the book: starts = 3\nPicture(")


def test_the_box_of_the_book_gives_way_to_figure_and_cards(displayed):
    showing.in_one_minute(registry.experiment("zhang-quadratic-form").but(d=2), "quick", 0)
    assert [type(one) for one in displayed] == [Picture, Cards]


def test_what_cannot_be_drawn_or_judged_with_other_settings_says_why_and_with_those_of_the_book_fails(displayed, monkeypatch):
    book = registry.experiment("zhang-quadratic-form")

    @claims_of(book.slug, "1")("D", "bound", margin=1.0, control=put(least="least"))
    def Z999(dataset):
        """It is so at N = 40.

        Margin: One.
        Control: nothing
        """
        raise ValueError("no such\nN")

    @drawing(book.slug, alt="a", caption="b")
    def figure(figure, dataset):
        raise IndexError("index 4 is out of bounds")

    monkeypatch.setattr(showing, "claims_about", lambda _: {"Z999": Z999})
    monkeypatch.setattr(showing, "drawing_of", lambda _: figure)
    dataset = showing.show(book.but(d=2), "quick", 0)
    says = "changed from the book: d = 2. It asks for what these settings do not give"
    assert [repr(one).partition(" (")[::2] for one in displayed] == [
        (f"The figure cannot be drawn, {says}", "IndexError: index 4 is out of bounds)."),
        (f"Z999 cannot be judged, {says}", "ValueError: no such N)."),
    ]
    assert [one._repr_html_() for one in displayed] == [f"<p><em>{one}</em></p>" for one in displayed]
    with pytest.raises(ValueError, match="no such"):
        show_claims(book, dataset.drop_attrs(deep=False))


@pytest.mark.parametrize(("slug", "values"), [TWENTY[0], TWENTY[3], TWENTY[14]])
def test_what_is_shown_is_a_table_of_the_same_numbers(slug, values, displayed, tmp_path):
    dataset = showing.show(registry.experiment(slug).but(**values))
    results.save_csv(dataset, tmp_path / "shown.csv")
    rows, frame = pd.read_csv(tmp_path / "shown.csv", dtype=str), dataset.to_dataframe()
    for name, values in dataset.data_vars.items():
        written = rows.value[rows.variable == name].astype(values.dtype).to_numpy()
        by_dims = values.to_dataframe().reset_index(drop=True)[name].to_numpy()
        assert np.array_equal(written, values.values.ravel(), equal_nan=written.dtype.kind == "f")
        assert np.array_equal(written, by_dims, equal_nan=written.dtype.kind == "f")
        assert set(frame[name].dropna()) == set(pd.Series(values.values.ravel()).dropna())
