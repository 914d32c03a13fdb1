"""The source of a bundle in a folder, to be executed there."""

from collections.abc import Iterable
from pathlib import Path

from book.builder.problem import Problem

SOURCE = "source/"
MADE = ("_build", "__pycache__")
"""What an execution leaves beside the source."""
NO_SOURCE = {*MADE, ".git", ".venv"}


def require_source(name: str) -> None:
    """Raise a Problem for a file that an execution would take for its own, and for settings of git."""
    if {*name.casefold().split("/")} & NO_SOURCE:
        raise Problem(f"{name} lies where an execution of the source keeps what it made; ./run bundle packs no such file.")


def unpack(files: Iterable[tuple[str, bytes]], folder: Path, kept: tuple[str, ...] = ()) -> None:
    """Write the files below `source/` into a folder, in which no other stays but what an execution has made.

    The names have been checked. Those that begin with `kept` are not written over, where they are there.
    """
    wanted = set()
    for name, content in files:
        if name.startswith(SOURCE):
            own = name.removeprefix(SOURCE)
            target = folder / own
            wanted.add(target)
            if not (own.startswith(kept) and target.exists()):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                target.write_bytes(content)
    for path in folder.rglob("*"):
        others = path.is_symlink() or (path.is_file() and path not in wanted)
        if others and not {*path.relative_to(folder).parts} & {*MADE}:
            path.unlink()
