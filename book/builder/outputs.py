"""`./run outputs [NAME ...]`: put fresh outputs of the quick profile, and their numbers, into what is committed."""

import sys
from functools import partial
from pathlib import Path

import nbformat

from book.builder import arguments, book, cache, committed, judged, quick
from book.builder.layout import Layout
from icl_lib.companion.quick import stored_quick
from icl_lib.companion.writing import write_atomically
from icl_lib.typed import Parser

OF_THE_RUN = ("papermill", "execution", "language_info")
"""Metadata that differ from run to run or from machine to machine."""


def refresh(asked_for: list[str], layout: Layout) -> list[str]:
    """Execute what has changed and write it over these committed notebooks, or over all; the names of those that differ now.

    Where a claim has come near its margin, or is near no more, notebooks show another verdict and are executed again.
    """
    asked, numbers = arguments.parse([], layout.root), layout.stored_results / quick.FILE
    names, before = asked_for or arguments.notebook_names(layout.root), stored_quick(numbers)
    executed = book.bring_up_to_date(names, asked, layout)
    if quick.update(executed, numbers, before if asked_for else None):
        executed = book.bring_up_to_date(names, asked, layout)
    moved = {name: bool(quick.differences(before, judged.of(one, "quick"))) for name, one in executed.items()}
    return [name for name, one in executed.items() if replaced(layout.notebooks / f"{name}.ipynb", one.notebook, moved[name])]


def replaced(path: Path, executed: Path, moved: bool) -> bool:
    """Write the executed notebook over the committed one in the form that is committed; whether this changed it.

    Outputs stay where they differ by what the machine may change, unless numbers have `moved` further than that.
    """
    notebook = cache.read_notebook(executed)
    committed.show(notebook, path.parent)
    if not moved:
        committed.keep(cache.read_notebook(path), notebook)
    for part in (notebook, *notebook.cells):
        for key in OF_THE_RUN:
            part.metadata.pop(key, None)
    text = nbformat.writes(notebook) + "\n"
    if path.read_text(encoding="utf-8") == text:
        return False
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    return True


def main(words: list[str]) -> int:
    told = "Put fresh outputs of the quick profile into the committed notebooks, and their numbers into book/data/quick.json."
    parser = Parser(prog="./run outputs", description=told)
    known = partial(arguments.notebook, root=Path.cwd())
    parser.add_argument("names", nargs="*", metavar="NAME", type=known, help="notebooks; all unless named")
    asked = parser.parse_args(words).names

    def work(layout: Layout) -> None:
        written = refresh(asked, layout)
        print(f"Written: {', '.join(written)}." if written else "Every notebook already had these outputs.")

    return book.answer(work, "The committed notebooks not yet written are as they were.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
