"""Words that do not fit are changed, where they stand; those that are cut or printed over others are found."""

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from icl_lib.companion.figure import NarrowFigure, style
from icl_lib.companion.fit import fit
from tests.papers.words import faults


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


def test_a_name_is_never_left_out(sheet):
    figure, axes = sheet
    axes.set(ylim=(0, 100))
    axes.set_yticks([10, 12, 90], ["one", "two", "three"])
    fit(figure)
    assert found(figure) == ["over each other"] and [name for _, name in seen(axes.yaxis)] == ["one", "two", "three"]


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
