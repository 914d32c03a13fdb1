"""One call a result: what is displayed, and what is returned."""

import re
from contextlib import nullcontext

import pytest
import xarray as xr
from sweep_toys import PLAIN

from icl_lib.companion import Cards, Measured, Minute, Table, legend, minute_of, showing
from icl_lib.companion.figure import NARROW, Drawing, NarrowFigure, Picture, drawing, in_dark
from papers import registry
from papers.dherin.what_it_shows.minute import minute as review


def test_a_result_is_drawn_and_all_its_claims_are_judged(displayed):
    experiment = registry.experiment("zhang-quadratic-form")
    dataset = showing.show(experiment, "quick", 3)
    picture, cards = displayed
    assert isinstance(picture, Picture) and picture.slug == experiment.slug == dataset.attrs["slug"]
    assert isinstance(cards, Cards) and dataset.attrs["seed"] == "3"
    assert {j.claim.id for j in cards.judgements} == {claim.id for claim in registry.claims_of(experiment.slug)}


def test_another_page_shows_the_claims_that_it_names(displayed):
    experiment = registry.experiment("zhang-quadratic-form")
    first = registry.claims_of(experiment.slug)[0].id
    showing.show(experiment, "quick", 0, claims=first)
    (cards,) = displayed
    assert [j.claim.id for j in cards.judgements] == [first]
    with pytest.raises(ValueError, match="Z10 is no claim about zhang-quadratic-form: take some of"):
        showing.show(experiment, "quick", 0, claims="Z10")
    with pytest.raises(ValueError, match=r"Z10 is no claim about toy-plain: claims_of\('toy-plain'\) makes one"):
        showing.show_claims(PLAIN, experiment.run("quick", 0), "Z10")
    with pytest.raises(ValueError, match=r"a room has one answer, of minute_of\('toy-plain'\); here it has: none"):
        showing.in_one_minute(PLAIN, "quick")


def test_the_answer_of_a_section_has_its_numbers_from_the_result_and_its_verdicts_from_the_data(displayed):
    experiment = registry.experiment("zhang-averaged-error")
    dataset = showing.in_one_minute(experiment, "full")
    box, picture = displayed
    assert isinstance(picture, Picture) and picture.slug == experiment.slug
    html = box._repr_html_()
    assert 'href="#claim-Z13b">Z13b holds</a>' in html and "{" not in re.sub(r"\\\(.*?\\\)", "", html)
    other = showing.declared(showing.seen_by(experiment), Minute)[0]
    halved = other.numbers(dataset.assign(error_theory=dataset.error_theory / dataset.N))
    assert halved != other.numbers(dataset)
    assert len(box.verdicts) == len([c for c in registry.CLAIMS.values() if (c.paper, c.section) == ("zhang", "4.1")])


def test_the_box_of_a_review_counts_its_whole_part_and_leads_to_the_pages(displayed):
    experiment = registry.experiment("dherin-placebo")
    showing.in_one_minute(experiment, "full", 0, review)
    box, picture = displayed
    assert picture.slug == experiment.slug
    assert set(box.verdicts) == {claim.id for claim in registry.CLAIMS.values() if claim.paper == "dherin"}
    html = box._repr_html_()
    assert 'href="dherin_3_implicit_dynamics.html#claim-D17d">D17d holds</a>' in html
    assert "claims in this part hold" in html


def test_a_box_says_its_parts_in_order():
    def unordered(dataset):
        """So: Yes.

        Says: What.
        """

    with pytest.raises(ValueError, match="says Says:, So:, New: in this order"):
        minute_of("zhang-risk")(unordered)


def test_every_result_with_claims_finds_them_in_its_room():
    for experiment in registry.EXPERIMENTS.values():
        found = {claim.id for claim in showing.declared(showing.seen_by(experiment), showing.Claim)}
        assert {claim.id for claim in registry.claims_of(experiment.slug)} <= found, experiment.slug


def _panels(rows, columns, **shared):
    def draw(figure, dataset):
        grid = figure.subplots(rows, columns, squeeze=False, **shared)
        for place, axes in enumerate(grid.ravel()):
            axes.plot([0, place + 1], label=str(place))
        figure.legend(loc="outside lower center", ncols=4)

    return draw


@pytest.mark.parametrize("rows, columns, stacked", [(1, 1, (1, 1)), (1, 3, (3, 1)), (2, 2, (4, 1)), (1, 5, (3, 2))])
def test_on_a_narrow_screen_panels_stand_below_each_other(rows, columns, stacked):
    figure = NarrowFigure(figsize=(8.0, 3.0 * rows))
    axes = figure.subplots(rows, columns, squeeze=False, sharey="row")
    assert axes.shape == (rows, columns) and figure.get_figwidth() == NARROW
    assert {each.get_gridspec().get_geometry() for each in axes.ravel()} == {stacked}
    assert all(each.get_shared_y_axes().joined(row[0], each) for row in axes for each in row[1:])


def test_panels_that_share_an_axis_have_numbers_each_where_they_stand_below_each_other():
    shared = NarrowFigure(figsize=(8.0, 3.0)).subplots(1, 3, sharex=True)
    assert all(each.xaxis.get_tick_params()["labelbottom"] for each in shared)


def test_two_rows_of_five_become_two_columns_in_their_order():
    axes = NarrowFigure(figsize=(8.0, 3.0)).subplots(2, 5)
    places = [[(each.get_subplotspec().rowspan.start, each.get_subplotspec().colspan.start) for each in row] for row in axes]
    assert places == [[(k, column) for k in range(5)] for column in range(2)]


def test_a_figure_is_drawn_twice_from_one_call_and_a_layout_of_its_own_once():
    picture = Drawing("toy", _panels(1, 3), "three lines", "Lines.", (8.0, 3.0))(xr.Dataset())
    widths = [float(re.search(r'<svg[^>]*width="([\d.]+)pt"', svg)[1]) for svg in (picture.light, picture.narrow)]
    assert widths == [pytest.approx(8.0 * 72), pytest.approx(NARROW * 72)]
    assert picture._repr_html_().count("<source") == 1
    own = Drawing("toy", lambda figure, _: figure.add_axes((0, 0, 1, 1)), "one", "One.", (8.0, 3.0))(xr.Dataset())
    assert own.narrow == "" and "<source" not in own._repr_html_()


def test_what_is_kept_of_an_axis_changes_no_drawing(monkeypatch):
    def draw(figure, dataset: xr.Dataset) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        left.semilogy([0.013, 0.987], [3e-4, 70], label="a rate")
        right.plot([0.1, 0.2], [1, 2], label="a name that is long")
        left.set(title="one", ylabel="error")
        legend(left, right, columns=2)

    toy = Drawing("toy", draw, "two lines", "Two lines.", (6.0, 3.0))
    picture = toy(xr.Dataset())
    monkeypatch.setattr("icl_lib.companion.figure.kept", nullcontext)
    assert toy(xr.Dataset()) == picture


def test_what_is_cut_out_has_names_that_no_rounding_changes():
    def draw(figure, dataset: xr.Dataset) -> None:
        axes = figure.add_axes((0.1, 0.1, float(dataset.width), 0.8))
        axes.plot([0, 1], [0, 1])

    one, other = (Drawing("toy", draw, "a line", "A line.", (4.0, 3.0))(xr.Dataset({"width": w})) for w in (0.7, 0.7 + 1e-13))
    assert one.light == other.light and 'id="clip0"' in one.light


def test_a_mosaic_stands_below_each_other_on_a_narrow_screen_each_as_high_as_its_row():
    figure = NarrowFigure(figsize=(8.0, 6.0))
    panels = figure.subplot_mosaic([["a", "a"], ["b", "c"]], height_ratios=(1, 2))
    assert [*panels] == ["a", "b", "c"] and figure.get_figwidth() == NARROW
    assert figure.get_figheight() == pytest.approx(0.9 * 6.0 * 5 / 3)
    heights = [each.get_figure(root=False).bbox.height / figure.bbox.height for each in panels.values()]
    assert heights == pytest.approx([0.2, 0.4, 0.4])


def test_a_declared_figure_is_what_was_declared():
    declared = drawing("toy", alt="three lines", caption="Lines.", size=(4.0, 3.0))(_panels(1, 3))
    picture = declared(xr.Dataset(attrs={"slug": "toy-result", "profile": "quick"}))
    assert (picture.name, picture.slug, picture.profile) == ("toy", "toy-result", "quick")
    assert (picture.alt, picture.caption, picture.narrow) == ("three lines", "Lines.", "")


def test_a_table_is_the_same_in_words_and_on_a_page():
    numbers, texts = (xr.DataArray(values, {"d": [3, 7]}) for values in ([0.123, 2.0], ["a", "b"]))
    table = Table.by({"d": "d"}, {"error": numbers, "of": texts}, ".1f")
    assert repr(table).split("\n") == ["d | error | of", "3 | 0.1   | a", "7 | 2.0   | b"]
    cells = re.findall(r"<t([hd])>(.*?)</t", table._repr_html_())
    head, rows = (
        [("h", "d"), ("h", "error"), ("h", "of")],
        [[("h", "3"), ("d", "0.1"), ("d", "a")], [("h", "7"), ("d", "2.0"), ("d", "b")]],
    )
    assert cells == [*head, *rows[0], *rows[1]]


def test_of_a_measured_table_a_machine_may_change_the_numbers_and_no_name():
    def left(title):
        table = Table.by({"d": "d"}, {title: xr.DataArray([0.5], {"d": [3]})})
        return re.sub("⟨[^⟩]*⟩", "", Measured(table)._repr_html_())

    assert left("error") != left("risk") and "0.5" not in left("error")


def test_a_table_refuses_numbers_that_vary_along_more_than_its_rows():
    with pytest.raises(ValueError, match="the rows are d, and the numbers vary along seed, too"):
        Table.by({"d": "d"}, {"error": xr.DataArray([[0.5, 1]], {"d": [3], "seed": [0, 1]})})


def test_the_dark_picture_has_the_dark_counterpart_of_every_colour():
    assert in_dark('<path style="stroke: #1b1f24; fill: #0b62a4"/>') == '<path style="stroke: #dfe4ea; fill: #6cb6ff"/>'
