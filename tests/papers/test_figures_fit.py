"""The words of every figure can be read, on a wide and on a narrow screen: none is cut, none is printed over another."""

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from icl_lib.companion.figure import NARROW, NarrowFigure, style
from icl_lib.companion.fit import fit
from tests.papers import told
from tests.papers.words import drawn, faults

OWN_LAYOUT = {"dherin-rank-one"}
"""A matrix between its column and its row, on every screen."""


@pytest.mark.parametrize("name", told.DRAWINGS)
def test_no_word_is_cut_or_printed_over_another(name):
    drawing, data = told.DRAWINGS[name][1], told.dataset_of(name)
    width, wrong = drawn(drawing, data, Figure)
    assert not wrong
    if width > 1.1 * NARROW and name not in OWN_LAYOUT:
        assert drawn(drawing, data, NarrowFigure) == (NARROW, [])


@pytest.fixture
def sheet():
    """A figure of one panel, three inches wide."""
    with mpl.rc_context(style()):
        figure = Figure(figsize=(3, 2))
        FigureCanvasSVG(figure)
        yield figure, figure.subplots()


def seen(axis) -> list[tuple[float, str]]:
    return [(tick.get_loc(), tick.label1.get_text()) for tick in axis.get_major_ticks()]


def found(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    return [fault.partition(":")[0] for fault in faults(figure)]


def test_names_that_meet_are_turned_where_they_stand(sheet):
    figure, axes = sheet
    axes.set(xlim=(-1, 3))
    names = ["the first name", "the second\nname", "the third name"]
    axes.set_xticks(range(3), names)
    assert "over each other" in found(figure)
    fit(figure)
    assert not found(figure) and seen(axes.xaxis) == [(0, names[0]), (1, "the second name"), (2, names[2])]


def test_turned_names_that_are_too_near_are_found(sheet):
    figure, axes = sheet
    axes.set(xlim=(-1, 30))
    axes.set_xticks(range(30), [f"name {k}" for k in range(30)], rotation=30)
    assert "turned and over each other" in found(figure)


def test_numbers_that_meet_leave_one_out_and_names_that_fit_stay(sheet):
    figure, axes = sheet
    axes.set(xlim=(0, 100), ylim=(0, 2))
    axes.set_xticks([1, 24, 26, 90], ["1", "24", "26", "90"])
    axes.set_yticks([0, 1, 2], ["one", "two", "three"])
    assert "over each other" in found(figure)
    fit(figure)
    assert not found(figure) and seen(axes.xaxis) == [(1, "1"), (24, "24"), (26, ""), (90, "90")]
    assert [name for _, name in seen(axes.yaxis)] == ["one", "two", "three"]


def test_the_name_of_an_axis_that_is_cut_is_broken_outside_of_formulas(sheet):
    figure, axes = sheet
    axes.set_ylabel("a long name of an axis with $a + b + c + d$ in it")
    assert found(figure) == ["cut"]
    fit(figure)
    assert not found(figure) and axes.get_ylabel() == "a long name of an axis\nwith $a + b + c + d$ in it"


def test_a_line_through_a_legend_is_found(sheet):
    figure, axes = sheet
    axes.plot([0, 1], [0, 1], label="a diagonal")
    axes.legend(loc="center")
    assert found(figure) == ["through a legend"]


def test_a_legend_that_is_too_wide_for_a_narrow_screen_has_one_column():
    with mpl.rc_context(style()):
        figure = NarrowFigure(figsize=(8, 3))
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        lines = [axes.plot([0, 1], [k, k])[0] for k in range(2)]
        figure.legend(lines, ["a name that is half as wide as a phone", "another one"], loc="outside upper center", ncols=2)
        assert [legend._ncols for legend in figure.legends] == [1]
        fit(figure)
        assert not found(figure)
