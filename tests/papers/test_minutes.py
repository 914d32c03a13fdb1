"""The answer of every page: one box, its numbers from the stored result, its verdicts from the claims of the page."""

import json
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from icl_lib.companion import Claim
from icl_lib.companion.paper import declared
from icl_lib.companion.showing import seen_by
from papers import registry

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_page_begins_with_its_answer(name):
    first, *cells = NOTEBOOKS[name]["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert "".join(first["source"]).strip().count("\n") == 0, "the first cell is the title alone"
    places = [place for place, source in enumerate(sources) if "in_one_minute(" in source and "import" not in source]
    assert places == [2], "after the parameters and the imports"


@pytest.mark.parametrize("slug", registry.MINUTES)
def test_every_place_of_a_box_is_filled(slug, stored):
    minute, experiment = registry.MINUTES[slug], registry.experiment(slug)
    of_page = experiment.module.rpartition(".")[0] == minute.numbers.__module__.rpartition(".")[0]  # else of a whole part
    of_paper = [claim for claim in registry.CLAIMS.values() if claim.paper == experiment.paper]
    claims = declared(seen_by(experiment), Claim) if of_page else of_paper
    box = minute.box(stored(slug), claims, {})
    assert all(str(number).strip() and "nan" not in str(number) for number in box.numbers.values()), box.numbers
    assert {*box.numbers} <= set(re.findall(r"\{(\w+)\}", " ".join(minute.told.values()))), "a number that is not told"
    assert "{" not in re.sub(r"\\\(.*?\\\)", "", box._repr_html_())
    assert "\n" in repr(box) and (not claims or f"of {len(claims)} claims hold" in repr(box))


def test_a_place_that_nothing_fills_is_refused(stored):
    slug, minute = next(iter(registry.MINUTES.items()))
    wrong = replace(minute, told=minute.told | {"New": r"$\hat{w}$, {ofen}."})
    with pytest.raises(ValueError, match="the minute has a place for ofen: unknown name 'ofen'"):
        wrong.box(stored(slug), [], dict.fromkeys(registry.CLAIMS, "holds"))


@pytest.mark.parametrize("slug", registry.MINUTES)
def test_a_box_is_short(slug):
    words = {part: len(text.split()) for part, text in registry.MINUTES[slug].told.items()}
    assert sum(words.values()) <= 190 and max(words.values()) <= 90, words


def test_every_box_has_a_second_route():
    paths = sorted((ROOT / "tests" / "papers").glob("*/test_*_boxes.py"))
    routes = {slug for path in paths for slug in runpy.run_path(str(path))["ROUTES"]}
    missing = set(registry.MINUTES) - routes
    assert not missing, (
        f"no ROUTES in tests/papers/WING/test_WING_boxes.py gives the numbers of {sorted(missing)} a second time"
    )
    assert not routes - set(registry.MINUTES), "a second route to a box that there is not"
