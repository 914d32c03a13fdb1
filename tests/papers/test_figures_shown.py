"""Figures are read back: every artist is found again in the data, by its numbers, and is what is said of it."""

import re

import numpy as np
import pytest

from icl_lib.companion.figure import NARROW, NarrowFigure
from tests.papers import stated, told

UNREAD = {"zhang": 0, "li": 0, "dherin": 0, "garg": 0, "engine": 0}
"""How many series have no name in their dataset or in ``derived``, and are held by their numbers alone; to fall to none."""


def section(name: str) -> str:
    """What was written down of a figure."""
    wing, _ = told.DRAWINGS[name]
    text = (told.SHOWN / f"{wing}.txt").read_text(encoding="utf-8")
    return next((part for part in text.split("\n\n") if part.strip().split("\n")[0] == name), "").strip()


@pytest.mark.parametrize("name", told.DRAWINGS)
def test_a_figure_shows_what_is_written_down(name):
    data, drawing = told.dataset_of(name), told.DRAWINGS[name][1]
    assert told.told(name, dataset=data).strip() == section(name)
    (panels, beside), narrow = (told.drawn(drawing, data, kind) for kind in (told.Figure, NarrowFigure))
    alt, caption, size = (each(data) if callable(each) else each for each in (drawing.alt, drawing.caption, drawing.size))
    assert "ONE standard error" not in section(name)
    if re.search(r"(two|2) standard errors", caption):
        assert re.search("two standard errors|Student over seeds", section(name))
    for text in (alt, caption):
        assert not stated.unseen(text, section(name)), "a mark that no series has"
        assert not [*stated.unfounded(text, stated.shown(panels, data, name))], "a number that is not shown"
    if size[0] > 1.1 * NARROW:
        assert ([*map(numbers, panels)], beside) == ([*map(numbers, narrow[0])], narrow[1])


def numbers(panel) -> tuple:
    """What a panel draws and says, whatever its size; an axis that several share is told at the first."""
    every = [(each.kind, *(np.asarray(part).tobytes() for part in (each.x, each.y)), each.look[:4], each.labels)
             for each in panel.series]  # fmt: skip
    return panel.title, panel.axes, panel.scales, str(panel.ticks), every, panel.levels, panel.texts


@pytest.mark.parametrize("wing", UNREAD)
def test_every_series_has_a_name(wing):
    text = (told.SHOWN / f"{wing}.txt").read_text(encoding="utf-8")
    assert len(re.findall("UNREAD|no name", text)) <= UNREAD[wing]
    assert [line for line in text.split("\n") if line and not line.startswith(" ")] == [
        name for name, (home, _) in told.DRAWINGS.items() if home == wing
    ]
