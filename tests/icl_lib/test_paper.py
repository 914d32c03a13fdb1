"""Where things stand: what a module's place says about notebook, section and order."""

from pathlib import Path

import pytest

from icl_lib.companion.paper import in_order, notebook_of, section_of
from papers import registry

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.mark.parametrize(
    ("module", "notebook", "section"),
    [
        ("papers.zhang.s4_1_convergence.risk", "zhang_4_1_convergence", "4.1"),
        ("papers.li.s5_experiments.claims", "li_5_experiments", "5"),
        ("papers.dherin.skip_connections.claims", "dherin_skip_connections", "skip connections"),
        ("papers.dherin.static_patches.static_deep", "dherin_static_patches", "static patches"),
        ("papers.engine.roofline", "engine", "engine"),
    ],
)
def test_a_module_tells_its_notebook_and_its_section(module, notebook, section):
    assert (notebook_of(module), section_of(module)) == (notebook, section)


def test_numbered_rooms_come_first_and_ten_comes_after_nine():
    rooms = ["sequel", "s10_end", "s9_more", "s4_10_late", "s4_2_shifts", "appendices"]
    assert in_order(rooms) == ["s4_2_shifts", "s4_10_late", "s9_more", "s10_end", "appendices", "sequel"]


def test_every_room_has_its_notebook_and_every_notebook_its_room():
    rooms = {notebook_of(f"papers.{key}.{room}.claims") for key, rooms in registry.ROOMS.items() for room in rooms}
    assert rooms | {"engine"} == {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
