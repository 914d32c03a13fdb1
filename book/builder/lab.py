"""What `./run lab` opens: reading copies that a reader may change, with the checkout left alone.

Standard library only, as in `run`, which calls it.
"""

import os
from pathlib import Path

from book.builder.layout import COPIES, UP, Layout
from icl_lib.companion import digests
from icl_lib.companion.writing import read_json, write_json

NOTE = ".copied.json"
"""The digests of the copies as they were made."""
RESET = "--reset"


def prepared(root: Path, words: list[str]) -> list[str]:
    """Make ready what is opened in a checkout, and return what JupyterLab is called with."""
    layout = Layout(root)
    folder, told = opened(layout, RESET in words)
    if told:
        print(told, flush=True)
    if folder == layout.lab:
        show_plainly(folder / ".jupyter")
    where = ["--notebook-dir", str(root), f"--LabApp.default_url=/lab/tree/{folder.relative_to(root).as_posix()}"]
    return [*where, *(word for word in words if word != RESET)]


def show_plainly(settings: Path) -> None:
    """Have JupyterLab show plain Markdown, as copies are: its extension for MyST numbers equations anew and unfolds answers."""
    write_json(settings / "labconfig" / "page_config.json", {"disabledExtensions": {"jupyterlab-myst": True}})
    paths = [str(settings), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))


def opened(layout: Layout, reset: bool) -> tuple[Path, str]:
    """The folder to open, and a sentence for the reader about it, if there is something to say.

    The copies are those of the last build. One that was changed since it was made stays, unless `reset`.
    """
    made = {path.name: content(path) for path in sorted((layout.html / COPIES).glob("*.ipynb"))}
    if not made:
        return layout.notebooks, "No book is built, so these are the notebooks as committed; ./run book makes copies to change."
    layout.lab.mkdir(parents=True, exist_ok=True)
    known = {} if reset else read_json(layout.lab / NOTE, dict) or {}  # without a sound note every copy counts as changed
    changed = [name for name in made if not reset and is_changed(layout.lab / name, known.get(name), made[name])]
    for name in made.keys() - changed:
        under_way = layout.lab / f".{name}"
        under_way.write_bytes(made[name])
        under_way.replace(layout.lab / name)
        known[name] = digests.of_bytes(made[name])
    write_json(layout.lab / NOTE, known)
    kept = f"Kept as you changed them: {', '.join(changed)}; ./run lab --reset brings back those of the book."
    return layout.lab, kept if changed else ""


def content(copy: Path) -> bytes:
    """A reading copy with links to the site as they are from its new place."""
    return copy.read_bytes().replace(f"]({UP}".encode(), b"](../html/")


def is_changed(path: Path, known: str | None, made: bytes) -> bool:
    """Whether a file is neither what was copied there nor what would be."""
    return path.exists() and digests.of_bytes(path.read_bytes()) not in (known, digests.of_bytes(made))
