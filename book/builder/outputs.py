"""`./run outputs`: put fresh outputs of the quick profile into the notebooks that are committed, and their numbers beside."""

import re
import sys
from pathlib import Path

import nbformat

from book.builder import arguments, book, cache, quick
from book.builder.layout import Layout
from icl_lib.companion.results import write_atomically

OF_THE_RUN = ("papermill", "execution", "language_info")
"""Metadata that differ from run to run or from machine to machine."""
EMBEDDED = re.compile(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/=\\n]+")


def refresh(layout: Layout) -> list[str]:
    """Execute what has changed and write it over the committed notebooks; the names of those that differ now.

    Where a claim has come near its margin, or is near no more, notebooks show another verdict and are executed again.
    """
    asked, names = arguments.parse([], layout.root), arguments.notebook_names(layout.root)
    executed = book.bring_up_to_date(names, asked, layout)
    if quick.update(executed, layout.stored_results / quick.FILE):
        executed = book.bring_up_to_date(names, asked, layout)
    return [name for name, one in executed.items() if replaced(layout.notebooks / f"{name}.ipynb", one.notebook)]


def replaced(committed: Path, executed: Path) -> bool:
    """Write the executed notebook over the committed one, less pictures and what belongs to its run; whether it changed.

    A picture is drawn when the notebook runs; its alternative text stays.
    """
    notebook = cache.read_notebook(executed)
    drop_pictures(notebook)
    for part in (notebook, *notebook.cells):
        for key in OF_THE_RUN:
            part.metadata.pop(key, None)
    text = nbformat.writes(notebook) + "\n"
    if committed.read_text(encoding="utf-8") == text:
        return False
    write_atomically(committed, lambda file: file.write_text(text, encoding="utf-8"))
    return True


def drop_pictures(notebook: dict) -> None:
    """Take the pictures out of a notebook's outputs; their alternative texts stay."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            for kind in [kind for kind in data if kind.startswith("image/")]:
                del data[kind]
            if "text/html" in data:
                data["text/html"] = EMBEDDED.sub("data:,", "".join(data["text/html"]))


def main(words: list[str]) -> int:
    told = "Put fresh outputs of the quick profile into the committed notebooks, and their numbers into book/data/quick.json."
    arguments.Parser(prog="./run outputs", description=told).parse_args(words)

    def work(layout: Layout) -> int:
        with book.alone(layout):
            names = refresh(layout)
        print(f"Written: {', '.join(names)}." if names else "Every notebook already had these outputs.")
        return 0

    return book.answer(work, "The notebooks not yet written are as they were.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
