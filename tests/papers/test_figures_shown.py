"""Figures are read back: every artist is found again in the data, by its numbers, and is what is said of it."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from icl_lib.companion.figure import NARROW, NarrowFigure
from papers import registry
from tests.papers import stated, told
from tests.papers.artists import drawn
from tests.papers.drawn import drawn as plainly_drawn

ROOT = Path(__file__).resolve().parents[2]

DRAWS = re.compile(r"\.(plot|errorbar|scatter|fill_between|step|stairs|barh?|[hv]lines)\(")
BY_HAND = {
    "papers/dherin/s2_contextual_blocks/figures.py": ["barh", "bar"],  # the factors of a matrix, beside its rows and columns
    "papers/li/s4_mechanism/figures.py": ["scatter", "plot"],  # by name, through matplotlib; and two diagonals
}
"""What is drawn without ``icl_lib.companion.curves``, in its order."""

OWN_LAYOUT = {"dherin-rank-one"}
"""A matrix between its column and its row, on every screen."""

ONE_IS_NOT_ENOUGH = {("li-coefficient-sum", "S_1"), ("li-sum-reasons", "S_1"), ("ahn-free-features", "layers")}
"""Figures that are about one of several entries, which another one alone does not have."""


def section(name: str) -> str:
    """What was written down of a figure."""
    wing, _ = told.DRAWINGS[name]
    text = (told.SHOWN / f"{wing}.txt").read_text(encoding="utf-8")
    return next((part for part in text.split("\n\n") if part.strip().split("\n")[0] == name), "").strip()


@pytest.mark.long
@pytest.mark.parametrize("name", told.DRAWINGS)
def test_a_figure_shows_what_is_written_down(name):
    data, drawing = told.dataset_of(name), told.DRAWINGS[name][1]
    wide, narrow = (drawn(drawing, data, kind) for kind in (Figure, NarrowFigure))
    assert told.told(name, data, wide).strip() == section(name)
    drawn_there = re.sub(r"\n  says: .*", "", section(name))
    alt, caption, size = drawing.told(data)
    assert "ONE standard error" not in drawn_there
    if re.search(r"(two|2) standard errors", caption):
        assert re.search("two standard errors|Student over seeds", drawn_there)
    for text in (alt, caption):
        assert not stated.unseen(text, drawn_there), "a mark that no series has"
        assert not [*stated.unfounded(text, stated.shown(wide.panels, data, name))], "a number that is not shown"
    if size[0] > 1.1 * NARROW:
        assert ([*map(numbers, wide.panels)], wide.beside) == ([*map(numbers, narrow.panels)], narrow.beside)
        assert narrow.width == NARROW and not narrow.wrong or name in OWN_LAYOUT
    assert not wide.wrong, "words that are cut or printed over others"
    assert not [*ambiguous(wide.panels)], "one look means two things"


def ambiguous(panels):
    """The looks that the legends of a figure give two meanings."""
    said = {}
    for label, look in ((label, each.look) for panel in panels for each in panel.series for label in each.labels or ()):
        seen = look[:4] if look[1] else look  # the width of a line behind markers tells nothing apart
        if said.setdefault(seen, label) != label:
            yield look


def numbers(panel) -> tuple:
    """What a panel draws and says, whatever its size; an axis that several share is told at the first."""
    every = [
        (each.kind, *(np.asarray(part).tobytes() for part in (each.x, each.y)), each.look[:4], each.labels)
        for each in panel.series
    ]
    return panel.title, panel.axes, panel.scales, str(panel.ticks), every, panel.levels, panel.texts


@pytest.mark.parametrize("wing", sorted({home for home, _ in told.DRAWINGS.values()}))
def test_every_series_has_a_name(wing):
    text = (told.SHOWN / f"{wing}.txt").read_text(encoding="utf-8")
    assert not re.findall("UNREAD|no name", text)
    assert [line for line in text.split("\n") if line and not line.startswith(" ")] == [
        name for name, (home, _) in told.DRAWINGS.items() if home == wing
    ]


def test_points_at_names_are_read_at_their_places():
    drawing = SimpleNamespace(
        told=lambda dataset: ("", "", (3, 2)),
        draw=lambda figure, dataset: figure.subplots().plot(["a", "b"], [1, 2]),
    )
    (panel,) = drawn(drawing, None).panels
    assert [(each.x.tolist(), each.y.tolist()) for each in panel.series] == [([0, 1], [1, 2])]


def test_figures_draw_by_name():
    files = {str(path.relative_to(ROOT)): path for path in (ROOT / "papers").glob("*/**/figures*.py")}
    found = {name: DRAWS.findall(path.read_text(encoding="utf-8")) for name, path in files.items()}
    assert len(files) > 30 and {name: calls for name, calls in found.items() if calls} == BY_HAND


def admitted(experiment, dim: str, value) -> bool:
    """Whether a setting may have the first of several entries alone."""
    try:
        return isinstance(value, tuple) and len(value) > 1 and bool(experiment.but(**{dim: value[:1]}))
    except ValueError:
        return False


@pytest.mark.long
@pytest.mark.parametrize("name", told.DRAWINGS)
def test_a_figure_is_drawn_of_settings_with_one_entry_in_the_place_of_several(name):
    data = told.dataset_of(name)
    experiment = registry.EXPERIMENTS[data.attrs["slug"]]
    for dim, value in vars(experiment.quick).items():
        if dim in data.dims and (name, dim) not in ONE_IS_NOT_ENOUGH and admitted(experiment, dim, value):
            assert plainly_drawn(told.DRAWINGS[name][1], data.isel({dim: [0]}))
