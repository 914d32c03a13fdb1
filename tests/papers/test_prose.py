"""What the prose of a notebook says of the published results is so, number by number."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tests.papers import told
from tests.papers.prose import ALTERNATIVES, NOTEBOOKS, NUMBER, SAID, bounded, plain, prose, wrong
from tests.papers.tables import agrees

for path in sorted(Path(__file__).parent.glob("*/prose*.py")):
    importlib.import_module(f"tests.papers.{path.parent.name}.{path.stem}")
SENTENCE = re.compile(r"(?<=[.:;?!])\s+")


@pytest.mark.long
@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said.notebook}: {said.words[:60]}")
def test_what_is_said_is_so(said, stored):
    assert not [*wrong(said, [stored(slug) for slug in said.slugs])]


@pytest.mark.parametrize("notebook", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_every_number_of_the_full_profile_is_checked(notebook):
    words = [said.words for said in SAID if said.notebook == notebook]
    sentences = [each for each in SENTENCE.split(prose(notebook)) if "full profile" in each and NUMBER.search(plain(each))]
    assert not [each for each in sentences if not any(each in some or some in each for some in words)]


@pytest.mark.long
@pytest.mark.parametrize("figure", ALTERNATIVES)
def test_numbers_of_an_alternative_text_are_those_of_a_second_route(figure):
    data = told.dataset_of(figure)
    shown, found = bounded(told.DRAWINGS[figure][1].told(data)[0]), [float(each) for each in ALTERNATIVES[figure](data)]
    assert len(shown) == len(found), f"{shown}, not {found}"
    assert not [(*one, number) for one, number in zip(shown, found, strict=True) if not agrees(one[0], number, one[1])]


def test_alternative_texts_made_of_data_have_a_second_route():
    made = {name for name, (_, drawing) in told.DRAWINGS.items() if callable(drawing.alt)}
    assert made == {*ALTERNATIVES}, "each stands under @tells(FIGURE) in tests/papers/WING/prose*.py"


@pytest.mark.parametrize("module", ["prose", "tables"])
def test_examples_of_how_numbers_are_read_are_true(module):
    tried = doctest.testmod(importlib.import_module(f"tests.papers.{module}"), report=False)
    assert tried.attempted and not tried.failed
