"""Every table on a page is found again in the stored result that it shows, cell by cell."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import papers
from icl_lib.companion import Table
from tests.papers.tables import CHECKED, wrong

for path in sorted(Path(__file__).parent.glob("*/tables.py")):
    importlib.import_module(f"tests.papers.{path.parent.name}.tables")
NAMES = sorted(CHECKED)


def tables() -> set[str]:
    """Return the names of all functions of the rooms that make a table of a result."""
    found = set()
    for module in pkgutil.walk_packages(papers.__path__, "papers."):
        if "figures" in module.name.rpartition(".")[2]:
            functions = inspect.getmembers(importlib.import_module(module.name), inspect.isfunction)
            found |= {f"{one.__module__}.{name}" for name, one in functions if one.__annotations__.get("return") is Table}
    return found


def test_every_table_is_checked():
    assert tables() == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_what_is_named_for_its_row_and_title(name, stored):
    assert not [*wrong(CHECKED[name], stored(CHECKED[name].slug))]
