"""Outputs as they are committed: what any viewer shows of a notebook that it does not trust, and the same on every machine."""

import base64
import io
import json
import re
from functools import partial
from pathlib import Path, PurePosixPath

from nbformat import NotebookNode
from PIL import Image, ImageChops

from book.builder.shown import plain_output

MARKED = re.compile("⟨[^⟩]*⟩")
"""What a machine may change, as in `tests/nbval_sanitize.cfg`."""
WORDS = re.compile("[A-Za-z]{4,}")
"""What it does not change of that: an alternative text has its numbers there, and its words."""
TAG = re.compile("<[^>]*>")
PICTURE = "image/png"
SQUARE, NEAR = 4, 16
"""Pixels a side, and how far apart the mean colours of two such squares may be, of 255."""


def show(notebook: NotebookNode, folder: Path) -> None:
    """Turn outputs of an executed notebook into the committed form; `folder` is that of the committed notebooks."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            outputs = in_one_piece(cell.outputs)
            cell.outputs = [part for output in outputs for part in plain_output(output, partial(beside, folder))]


def beside(folder: Path, path: str, anchor: str) -> str:
    """The address of a page's source as it is seen from the notebooks; an empty text where it is not in the checkout."""
    page = PurePosixPath(path)
    if page.parent.name == folder.name:
        source, address = folder / f"{page.stem}.ipynb", f"{page.stem}.ipynb"
    else:
        source, address = folder.parent / page.with_suffix(".md"), f"../{page.with_suffix('.md')}{anchor and f'#{anchor}'}"
    return address if source.exists() else ""


def in_one_piece(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs in which printed text that follows printed text is one with it: a kernel parts it as time goes by."""
    joined: list[NotebookNode] = []
    for output in outputs:
        before = joined[-1] if joined else {}
        if output.output_type == "stream" and before.get("name") == output.name:
            before["text"] += output.text
        else:
            joined.append(output)
    return joined


def keep(before: NotebookNode, notebook: NotebookNode) -> None:
    """Leave the outputs of a cell as they were committed `before` where another machine may have made the fresh ones.

    Those with marks stay all or none: numbers of two machines would not go together.
    """
    known = {(cell.id, cell.source): cell.outputs for cell in before.cells if cell.cell_type == "code"}
    fresh = [cell for cell in notebook.cells if cell.get("outputs")]
    marked = {cell.id for cell in fresh if MARKED.search(json.dumps(cell.outputs, ensure_ascii=False))}
    same = {cell.id for cell in fresh if _all_alike(known.get((cell.id, cell.source), []), cell.outputs)}
    kept = same if marked <= same else same - marked
    for cell in fresh:
        if cell.id in kept:
            cell.outputs = known[cell.id, cell.source]


def _all_alike(outputs: list[NotebookNode], fresh: list[NotebookNode]) -> bool:
    return len(outputs) == len(fresh) and all(map(alike, outputs, fresh))


def alike(one: NotebookNode, other: NotebookNode) -> bool:
    """Whether outputs in the committed form differ between marks alone, by no word, and in a picture by what is hardly seen."""
    pictures = [each.get("data", {}).get(PICTURE, "") for each in (one, other)]
    return _unchanging(one) == _unchanging(other) and (pictures[0] == pictures[1] or all(pictures) and near(*pictures))


def _unchanging(output: NotebookNode) -> tuple[str, list[str]]:
    """What no machine may change: texts outside of marks, words within them, and how a table is built."""
    data = {kind: text for kind, text in output.get("data", {}).items() if kind != PICTURE}
    text = json.dumps(output | {"data": data, "metadata": {}}, sort_keys=True, ensure_ascii=False)
    return MARKED.sub(lambda found: " ".join(WORDS.findall(found[0])), text), TAG.findall(data.get("text/html", ""))


def near(one: str, other: str) -> bool:
    """Whether two pictures in base64 are of one size, and the mean colour of each square of the one is that of the other.

    A line that lies a tenth of a pixel elsewhere changes a mean by 7 at most, one that lies a pixel elsewhere by 60.
    """
    squares = [Image.open(io.BytesIO(base64.b64decode(each))).convert("RGB") for each in (one, other)]
    if squares[0].size != squares[1].size:
        return False
    apart = ImageChops.difference(*(each.reduce(SQUARE) for each in squares)).getextrema()
    return max(most for _, most in apart) <= NEAR
