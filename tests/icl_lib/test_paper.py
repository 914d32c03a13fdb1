"""Where things stand: what a module's place says about notebook, section and order."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from icl_lib.companion import Cards
from icl_lib.companion.laid_open import claims_about
from icl_lib.companion.modules import module_file
from icl_lib.companion.paper import in_order, notebook_of, section_of
from papers import registry
from tests.icl_lib.test_alone import EXAMPLES

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


@pytest.fixture
def nested(tmp_path, monkeypatch):
    """The book of the library's README below another package, with its claims in a module of another name."""
    texts = [each for each in EXAMPLES if each.startswith("# toys/")]
    for text in texts:
        file = tmp_path / "lab" / re.match(r"# (\S+)\n", text)[1].replace("claims.py", "verdicts.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace('"toys"', '"lab.toys"'))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("lab.toys.coins.s1_tosses.toss").TOSS
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        del sys.modules[name]


def test_a_book_below_another_package_has_its_own_rooms_store_and_claims(nested, tmp_path):
    assert (nested.paper, nested.notebook, nested.section) == ("coins", "coins_1_tosses", "1")
    assert nested.book.result("toss") == tmp_path / "lab" / "results" / "toss.full.nc"
    assert module_file("lab.toys.coins.s1_tosses.toss") and module_file("lab") is None
    (claim,) = claims_about(nested).values()
    shown = Cards(claim.judge(nested.run("quick", 0, "cpu")))
    assert claim.id == "C1" and "[D]" in shown._repr_html_() and "how_to_read" not in shown._repr_html_()
    assert len(nested.origin("full", 0, "cpu")["code"]) == 16


def test_a_room_without_claims_of_the_readme_has_none(nested, tmp_path):
    (tmp_path / "lab" / "toys" / "coins" / "s1_tosses" / "verdicts.py").write_text("")
    assert claims_about(nested) == {}
