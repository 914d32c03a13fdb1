"""Figures are read back: every artist is found again in the data, by its numbers, and is what is said of it."""

import re

import numpy as np
import pytest

from icl_lib.companion.figure import NARROW, NarrowFigure
from tests.papers import told

UNREAD = {"zhang": 37, "li": 125, "dherin": 70, "garg": 0, "engine": 1}
"""How many series have no name in their dataset or in ``derived``, and are held by their numbers alone; to fall to none."""


def section(name: str) -> str:
    """What was written down of a figure."""
    wing, _ = told.DRAWINGS[name]
    text = (told.SHOWN / f"{wing}.txt").read_text(encoding="utf-8")
    return next((part for part in text.split("\n\n") if part.strip().split("\n")[0] == name), "").strip()


@pytest.mark.parametrize("name", told.DRAWINGS)
def test_a_figure_shows_what_is_written_down(name):
    data = told.dataset_of(name)
    assert told.told(name, dataset=data).strip() == section(name)
    caption = told.DRAWINGS[name][1].caption
    caption = caption(data) if callable(caption) else caption
    assert "ONE standard error" not in section(name)
    if re.search(r"(two|2) standard errors", caption):
        assert re.search("two standard errors|Student over seeds", section(name))
    wide, narrow = (told.drawn(told.DRAWINGS[name][1], data, kind) for kind in (told.Figure, NarrowFigure))
    size = told.DRAWINGS[name][1].size
    if (size(data) if callable(size) else size)[0] > 1.1 * NARROW:
        assert [numbers(panel) for panel in wide] == [numbers(panel) for panel in narrow]


def numbers(panel) -> tuple:
    """What a panel draws and says, whatever its size."""
    every = [(each.kind, *(np.asarray(part).tobytes() for part in (each.x, each.y)), each.look[:4]) for each in panel.series]
    return panel.title, panel.scales, str(panel.ticks), every, [level[:2] for level in panel.levels]


@pytest.mark.parametrize("wing", UNREAD)
def test_every_series_has_a_name(wing):
    text = (told.SHOWN / f"{wing}.txt").read_text(encoding="utf-8")
    assert len(re.findall("UNREAD|no name", text)) <= UNREAD[wing]
    assert [line for line in text.split("\n") if line and not line.startswith(" ")] == [
        name for name, (home, _) in told.DRAWINGS.items() if home == wing
    ]
