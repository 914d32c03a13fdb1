"""`python -m book.release.edition COMMIT SECONDS`: the pages of an edition, in a folder with the files of its commit.

They are a function of the commit alone. Full results come from the store, quick ones from the committed record, and the day
is that of the commit: nothing says when or where the pages were made.
"""

import sys
from dataclasses import replace

import nbformat

from book.builder import arguments, book, cache, pdf
from book.builder.cache import Executed, read_notebook
from book.builder.committed import in_one_piece
from book.builder.layout import Layout
from book.citation.record import Edition, Record
from book.release import child, printed
from icl_lib.companion.writing import write_atomically

PROFILE = "full"
TIMED = ("papermill", "execution")
"""Metadata of a notebook and its cells with times and places."""


def make(layout: Layout, edition: Edition) -> None:
    """Execute the notebooks, render their pages, and print them where there is a browser."""
    asked = arguments.parse(["--profile", PROFILE], layout.root)
    names = arguments.notebook_names(layout.root)
    executed = book.bring_up_to_date(names, asked, layout)
    print("Rendering the pages.", flush=True)
    book.make_site(layout, [without_times(executed[name]) for name in names], [], "", Record.of(layout.root, edition))
    if pdf.browser():
        print("Printing the pages.", flush=True)
        printed.settle(pdf.write_pdf(layout), edition)


def without_times(one: Executed) -> Executed:
    """An executed notebook of which neither its file nor its record says when it ran, how long it took, and at what pace.

    The file is written anew in its place, and the record there names it, so that the next bundle finds it.
    """
    notebook = read_notebook(one.notebook)
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = in_one_piece(cell.outputs)
    for part in (notebook, *notebook.cells):
        for key in TIMED:
            part.metadata.pop(key, None)
    write_atomically(one.notebook, lambda file: nbformat.write(notebook, file))
    record = replace(one.record, made=cache.made_in(one.folder, one.name))
    cache.write_record(one.folder, record)
    return replace(one, record=replace(record, seconds=0.0, executed=""))


def main(words: list[str]) -> int:
    child.end_with_caller()
    edition = Edition(words[0], int(words[1]))
    untouched = "No bundle was written; what was executed is kept for the next call."
    return book.answer(lambda layout: make(layout, edition), untouched)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
