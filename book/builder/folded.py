"""The code of a notebook's page, folded away: a call below what it showed, with all that it needs; the rest behind a toggle."""

import ast
from collections.abc import Iterator

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from book.builder.made import CALL, call
from icl_lib.companion.laid_open import IMPORTS, imported

SHOWN = ("icl-figure", "icl-cards", "icl-minute")
GUESS = "guess"
"""The tag of a line that a reader runs after a guess; the answer is folded below it, so its output is left out."""


def fold(notebook: nbformat.NotebookNode) -> None:
    """Tag the code cells of an executed notebook for its page.

    Parameters and imports are left out, and so is a call whose figure or cards stand on the page: it is told where
    `made` left room for it, with the parameters and imports that it needs. Other code stays behind a toggle.
    """
    setup: list[ast.stmt] = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        statements = ast.parse(TransformerManager().transform_cell(cell.source)).body
        bound = [each for each in statements if not isinstance(each, ast.Try)]  # it says what is missing, and binds nothing
        if "parameters" in cell.metadata.get("tags", []) or all(isinstance(each, IMPORTS) for each in bound):
            setup += bound
            _tag(cell, "remove-cell")
            continue
        if GUESS in cell.metadata.get("tags", []):
            cell.outputs = []
            continue
        outputs = [output["data"] for output in cell.get("outputs", []) if _shows(output)]
        _tag(cell, "remove-input" if outputs else "hide-input")
        source = call("\n".join([*needed(setup, statements), cell.source]))
        for data in outputs:
            data["text/html"] = data["text/html"].replace(CALL, source)


def needed(setup: list[ast.stmt], statements: list[ast.stmt]) -> Iterator[str]:
    """The lines of the setup that bind a name which the statements use."""
    used = {node.id for each in statements for node in ast.walk(each) if isinstance(node, ast.Name)}
    for each in setup:
        if isinstance(each, IMPORTS):
            yield from map(ast.unparse, imported(each, used))
        elif {node.id for node in ast.walk(each) if isinstance(node, ast.Name)} & used:
            yield ast.unparse(each)


def _shows(output: nbformat.NotebookNode) -> bool:
    return any(mark in output.get("data", {}).get("text/html", "") for mark in SHOWN)


def _tag(cell: nbformat.NotebookNode, tag: str) -> None:
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), tag]
