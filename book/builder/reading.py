"""A reading copy of each notebook, which the site hands out: any viewer shows what its page does, without running it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import nbformat

from book.builder import published_at, raster
from book.builder.commonmark import plain
from book.builder.folded import GUESS
from book.builder.layout import COPIES, UP
from book.builder.resolved import Resolved, resolved
from book.builder.shown import plain_output
from book.builder.site import Page
from papers import BOOK

KEPT = ("kernelspec", "language_info")
"""What of a notebook's metadata does not tell of its execution."""
ON_COLAB = """# @title On Colab, this installs what the notebook needs
import sys

if "google.colab" in sys.modules:
    %pip install --quiet git+{}"""
"""The first code of a copy; elsewhere, as in what `./run lab` opens, it does nothing."""
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}


def known(site: Path, pages: Mapping[str, Page], base: str = "") -> Resolved:
    """What the pages tell the notebooks that the site hands out; `base` is the address where it is published, if it is."""
    return resolved(pages, _notebooks(site), BOOK.root, f"{base}/" if base else UP)


def write(site: Path, told: Resolved, drawn: raster.Drawn) -> None:
    """Turn each notebook that the site hands out into its reading copy, with the numbers of the site's pages.

    `drawn` are the pictures that another process has drawn.
    """
    raster.DRAWN.update(drawn)
    repository = published_at.repository(BOOK.root)
    for name, notebook in _notebooks(site).items():
        copy = reading_copy(notebook, replace(told, name=name), repository)
        nbformat.write(copy, site / COPIES / f"{name}.ipynb")


def _notebooks(site: Path) -> dict[str, nbformat.NotebookNode]:
    return {path.stem: nbformat.read(path, as_version=4) for path in sorted((site / COPIES).glob("*.ipynb"))}


def reading_copy(notebook: nbformat.NotebookNode, page: Resolved, repository: str) -> nbformat.NotebookNode:
    """The notebook with cells in plain Markdown and outputs that need neither style nor SVG; on Colab it installs itself.

    `repository` is its address, empty where it has none.
    """
    metadata = {name: notebook.metadata[name] for name in KEPT if name in notebook.metadata}
    cells = [*_cells(notebook, page)]
    if urlsplit(repository).hostname == published_at.GITHUB:
        first = next(place for place, cell in enumerate(cells) if cell.cell_type == "code")
        cells.insert(first, nbformat.v4.new_code_cell(ON_COLAB.format(repository), id="on-colab", metadata=FOLDED))
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def _cells(notebook: nbformat.NotebookNode, page: Resolved) -> Iterator[nbformat.NotebookNode]:
    for cell in notebook.cells:
        tags = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            if GUESS in tags.get("tags", []):  # whoever guesses has not run it yet
                made = nbformat.v4.new_code_cell(cell.source)
            else:
                outputs = [part for output in cell.outputs for part in plain_output(output, page.address)]
                made = nbformat.v4.new_code_cell(cell.source, execution_count=cell.execution_count, outputs=outputs)
        else:
            made = nbformat.v4.new_markdown_cell(plain(cell.source, page))
        made.id = cell.get("id", made.id)
        made.metadata.update(tags)
        yield made
