"""Jupyter Book, and the exchange of the old site for the new one."""

import errno
import io
import os
import re
import shutil
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from book.builder import workers
from book.builder.cache import Executed
from book.builder.layout import COPIES, MARK, Layout
from book.builder.problem import Problem
from book.builder.settings import pages_in_contents

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A disk is full, or what one may have of it, or a file."""
WHOLE = "book/whole.html"
"""All pages in one, which is there while it is printed."""


def render(source: Path, output: Path) -> Path:
    """Build the staged sources with every warning an error, in a process of their own; the folder of the new site."""
    words = ["build", str(source), "--path-output", str(output), "-q", "-W", "-n", "--keep-going"]
    with workers.beside() as pool:
        failed, said = pool.submit(jupyter_book, words).result()
    html = output / "_build" / "html"
    require_rendered(failed or not (html / "index.html").exists(), said, source)
    require_whole(html, source)
    return html


def jupyter_book(words: list[str]) -> tuple[bool, str]:
    """Run Jupyter Book; whether it failed, and all that it said."""
    from jupyter_book.cli.main import main  # a second

    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        try:
            main(words)
        except SystemExit as end:
            return bool(end.code), said.getvalue()
        except BaseException:
            traceback.print_exc()
    return True, said.getvalue()


def require_rendered(failed: bool, said: str, source: Path) -> None:
    """Print what Jupyter Book said and raise a Problem if it failed; of a full disk raise OSError alone."""
    if failed and (full := [code for code in FULL if os.strerror(code) in said]):
        raise OSError(full[0], os.strerror(full[0]))  # told once, not for every file
    if failed:
        print(complaints(said, source))
        raise Problem("Jupyter Book reported what is printed above.")


def require_whole(html: Path, source: Path) -> None:
    """Raise a Problem for pages of the table of contents that are not there: a process that writes some may die in silence."""
    if missing := [name for name in pages_in_contents(source) if not (html / f"{name}.html").exists()]:
        raise Problem(f"Jupyter Book wrote no page of {', '.join(missing)}, and does not say why: jupyter-book build may.")


def complaints(output: str, source: Path) -> str:
    """What Jupyter Book complained about: with the repository's own paths, counting cells, without its traceback."""
    output = output.split("\nTraceback", 1)[0].replace(f"{source}{os.sep}", "")
    # MyST-NB writes line 8 of cell 5 as 50008.
    return re.sub(r"(?<=\.ipynb):(\d+)(\d{4}):", lambda at: f" cell {at[1]}, line {int(at[2])}:", output)


def offer_downloads(html: Path, executed: list[Executed]) -> None:
    """Let the download button hand out the notebook as it was executed; `finish` makes a reading copy of it."""
    for one in executed:
        target = html / COPIES / one.notebook.name
        if target.exists():
            shutil.copy(one.notebook, target)


def recover(layout: Layout) -> None:
    """Finish or undo what a killed build left behind."""
    old = layout.build / "html.old"
    if old.exists() and not (layout.html / MARK).exists():
        shutil.rmtree(layout.html, ignore_errors=True)
        move(old, layout.html)
    (layout.html / WHOLE).unlink(missing_ok=True)
    clear(layout)


def clear(layout: Layout) -> None:
    """Remove what was under way."""
    for name in ("html.old", "executing", "site"):
        shutil.rmtree(layout.build / name, ignore_errors=True)


def publish(new: Path, layout: Layout) -> None:
    """Put the new site in the place of the old one."""
    old = layout.build / "html.old"
    if layout.html.exists():
        (layout.html / MARK).unlink(missing_ok=True)  # a copy that is cut short is not taken for whole
        move(layout.html, old)
    move(new, layout.html)
    shutil.rmtree(old, ignore_errors=True)


def move(folder: Path, to: Path) -> None:
    """Give a folder another name; where it lies in a layer of a container that cannot be renamed, by a copy."""
    try:
        folder.rename(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        under_way = to.with_name("site") / to.name  # which `clear` removes
        shutil.rmtree(under_way, ignore_errors=True)
        shutil.copytree(folder, under_way)
        under_way.rename(to)
        shutil.rmtree(folder)
