"""The pages of signatures: every package has one, it shows every public name, and docstrings stay as they are."""

import subprocess
import sys
from pathlib import Path

import pytest
import sphinx.util.inventory
import yaml

from book.builder import api
from tests.icl_lib.test_examples import MODULES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''"""The product W_KQ_* of |two| matrices (eq-a-B).

first   one of two
        that goes on
second  the other of (eq-c)

    A = 1  (eq-c)
"""

from jinja2 import Template


PLACE = Template("words")
"""Shown by its place in memory."""
SHARE = 0.5
"""A number."""


def half(x: float = 1.0) -> float:
    """x/2, ``x`` * 1/2, as in (eq-a-B) and eq-c.

    >>> half(3.0)
    1.5
    """
    return x / 2
'''
PAGE = """
.. math:: 1 = 1
   :label: eq-a-B

.. math:: 2 = 2
   :label: eq-c

.. automodule:: toy_theory
   :members:

.. literalinclude:: papers/toy_theory.py
   :pyobject: half
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A page with the signatures of a small module, as text and with what others may link, every warning an error."""
    folder = tmp_path_factory.mktemp("signatures")
    (folder / "papers").mkdir()
    (folder / "papers" / "toy_theory.py").write_text(SOURCE)
    (folder / "index.rst").write_text("Toy\n===\n" + PAGE)
    paths = [str(ROOT / "book" / "_ext"), str(folder / "papers")]
    (folder / "conf.py").write_text(f"import sys\nsys.path[:0] = {paths}\nextensions = ['signatures']\n")
    for form in ("text", "html"):
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", folder / "read", "-b", form, folder, folder / "out"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def written(made):
    return (made / "index.txt").read_text()


def test_formulas_in_docstrings_stay_as_they_are(written):
    assert "The product W_KQ_* of |two| matrices (1)." in written
    assert 'x/2, "x" * 1/2, as in (1) and (2).' in written


def test_columns_are_a_list_of_names_and_formulas_and_examples_stay_as_they_are(written, made):
    assert '"first"\n   one of two that goes on\n\n"second"\n   the other of (2)' in written
    assert 'class="icl-columns' in (made / "index.html").read_text()
    assert "A = 1  (eq-c)" in written
    assert "   >>> half(3.0)\n   1.5" in written


def test_a_constant_that_is_shown_by_its_place_in_memory_is_left_out(written):
    assert "SHARE = 0.5" in written and "PLACE" not in written


def test_included_code_is_followed_by_its_name(written):
    assert written.rstrip().endswith('"papers.toy_theory.half"')


def test_other_books_can_link_a_function(made):
    with (made / "objects.inv").open("rb") as file:
        names = sphinx.util.inventory.InventoryFile.load(file, "", lambda base, name: name)["py:function"]
    assert names["toy_theory.half"][2] == "index.html#toy_theory.half"


def test_every_package_has_a_page_in_the_table_of_contents_and_every_module_a_section(tmp_path):
    api.fill(tmp_path, ROOT)
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    listed = {chapter["file"] for part in parts for chapter in part["chapters"]}
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "api").glob("*.md")}
    assert {f"book/api/{name}" for name in pages} == {name for name in listed if name.startswith("book/api/")}
    assert "\n## contextual.blocks\n" in pages["icl_lib.models"] and "\n## seeds\n" in pages["icl_lib"]
    for module in MODULES:
        assert sum(f":: {module}\n   :members:\n" in page for page in pages.values()) == 1


def test_the_page_of_the_library_leads_to_every_page_of_signatures():
    page = (ROOT / "book" / "library.md").read_text(encoding="utf-8")
    for name in (path for pattern in api.PAGES for path in ROOT.glob(pattern) if (path / "__init__.py").exists()):
        assert f"<api/{api.dotted(ROOT, name)}>" in page
