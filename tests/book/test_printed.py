"""What the cells of the notebooks print of the stored results is what is written down, to be read by a person.

Figures, cards and boxes have tests of their own; here are the tables and numbers that a notebook makes itself.
``python -m tests.book.test_printed`` writes ``shown/printed.txt`` anew; read what has changed before it is committed.
"""

import ast
import runpy
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest

from icl_lib import companion
from icl_lib.companion import Drawing, obtain

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = Path(__file__).parent / "shown" / "printed.txt"
NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def printed(cells: list[tuple[str, bool]], folder: Path) -> list[str]:
    """Run cells as the book does, and return what they display or print; true are cells of parameters."""
    found: list[str] = []
    script = folder / "cells.py"
    script.write_text("\n".join(as_script(*cell) for cell in cells), encoding="utf-8")
    runpy.run_path(
        str(script),
        {
            "display": lambda *shown: found.extend(repr(each) for each in shown if each is not None),
            "print": lambda *words, sep=" ": found.append(sep.join(map(str, words))),
        },
    )
    return found


def as_script(source: str, parameters: bool) -> str:
    """Return a cell as lines of a script that displays what the cell ends with."""
    tree = ast.parse(source)
    if isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.Expr(ast.Call(ast.Name("display"), [tree.body[-1].value], []))
    return ast.unparse(tree) + "\nprofile = 'full'" * parameters


def cells_of(name: str) -> list[tuple[str, bool]]:
    """Return the code cells of a notebook."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    return [(cell.source, "parameters" in cell.metadata.get("tags", ())) for cell in code]


def alone(replace: Callable) -> None:
    """Leave out what is tested elsewhere: figures, cards and boxes."""
    replace(companion, "show", lambda experiment, profile, seed=0, claims=None: obtain(experiment, profile, seed))
    replace(companion, "in_one_minute", lambda experiment, profile, seed=0, of_part=None: obtain(experiment, profile, seed))
    replace(companion, "show_claims", lambda *of: None)
    replace(Drawing, "__call__", lambda *of: None)


def section(name: str) -> str:
    """Return what was written down of a notebook."""
    every = WRITTEN.read_text(encoding="utf-8").split("== ")
    return next((part.partition("\n")[2].strip() for part in every if part.partition("\n")[0] == name), "")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_what_a_notebook_prints_is_what_is_written_down(name, monkeypatch, tmp_path):
    alone(monkeypatch.setattr)
    assert "\n".join(printed(cells_of(name), tmp_path)) == section(name)


def test_displayed_printed_and_returned_is_found_and_the_profile_is_full(tmp_path):
    cells = [("profile = 'quick'", True), ("display('a')\nprint(profile, 'b')\n'c'", False), ("d = 'd'", False)]
    assert printed(cells, tmp_path) == ["'a'", "full b", "'c'"]


if __name__ == "__main__":
    alone(setattr)
    WRITTEN.parent.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        lines = [f"== {name}\n" + "\n".join(printed(cells_of(name), Path(folder))) for name in NAMES]
    WRITTEN.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
