"""What the cells of the notebooks print of the stored results is what is written down, to be read by a person.

Figures, cards and boxes have tests of their own; here are the tables and numbers that a notebook makes itself.
``python -m tests.book.test_printed`` writes ``shown/printed.txt`` anew; read what has changed before it is committed.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from icl_lib.companion import show
from icl_lib.companion.figure import Drawing
from icl_lib.companion.results import obtain

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = Path(__file__).parent / "shown" / "printed.txt"
NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def printed(cells: list[tuple[str, bool]]) -> list[str]:
    """Run cells as the book does, and return what they display or print; true are cells of parameters."""
    found: list[str] = []
    space = {
        "display": lambda *shown: found.extend(map(repr, shown)),
        "print": lambda *words, sep=" ": found.append(sep.join(map(str, words))),
    }
    for source, parameters in cells:
        *body, last = ast.parse(source).body
        ends = isinstance(last, ast.Expr)
        exec(compile(ast.Module(body if ends else [*body, last], []), "<cell>", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space) if ends else None
        if value is not None:
            found.append(repr(value))
        if parameters:
            space["profile"] = "full"
    return found


def cells_of(name: str) -> list[tuple[str, bool]]:
    """Return the code cells of a notebook."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    return [(cell.source, "parameters" in cell.metadata.get("tags", ())) for cell in code]


def alone(replace: Callable) -> None:
    """Leave out what is tested elsewhere: figures, cards and boxes."""
    replace(show, "show", lambda experiment, profile, seed=0, claims=None: obtain(experiment, profile, seed))
    replace(show, "in_one_minute", lambda experiment, profile, seed=0, of_part=None: obtain(experiment, profile, seed))
    replace(show, "show_claims", lambda *of: None)
    replace(Drawing, "__call__", lambda *of: None)


def section(name: str) -> str:
    """Return what was written down of a notebook."""
    every = WRITTEN.read_text(encoding="utf-8").split("== ")
    return next((part.partition("\n")[2].strip() for part in every if part.partition("\n")[0] == name), "")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_notebook_prints_is_what_is_written_down(name, monkeypatch):
    alone(monkeypatch.setattr)
    assert "\n".join(printed(cells_of(name))) == section(name)


def test_displayed_printed_and_returned_is_found_and_the_profile_is_full():
    cells = [("profile = 'quick'", True), ("display('a')\nprint(profile, 'b')\n'c'", False), ("d = 'd'", False)]
    assert printed(cells) == ["'a'", "full b", "'c'"]


if __name__ == "__main__":
    alone(setattr)
    WRITTEN.parent.mkdir(exist_ok=True)
    lines = (f"== {name}\n" + "\n".join(printed(cells_of(name))) for name in NAMES)
    WRITTEN.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
