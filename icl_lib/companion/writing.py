"""Files that are written whole or not at all.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from icl_lib.companion.writing import read_json, write_json
>>> with TemporaryDirectory() as folder:
...     write_json(note := Path(folder, "note.json"), {"seed": 0})
...     print(read_json(note, dict), read_json(note, list), note.write_text("{"), read_json(note, dict))
{'seed': 0} None 1 None
"""

import glob
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it; on any failure ``path`` stays as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    temporary = Path(name)
    try:
        with _held(handle):
            write(temporary)
            temporary.chmod(0o644)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, whole or not at all; raises ValueError for what JSON has not, such as NaN."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))


def read_json(path: Path, kind: type) -> object:
    """Return what is noted as JSON; None where nothing is, or no JSON, or none of this kind."""
    with suppress(OSError, ValueError, RecursionError):
        return found if isinstance(found := json.loads(path.read_text(encoding="utf-8")), kind) else None
    return None


@contextmanager
def _held(handle: int) -> Iterator[None]:
    """Lock an open file until it is written, so that all can see that its process lives; closed at once without locks."""
    if fcntl is None:
        os.close(handle)
        yield
        return
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_abandoned(path: Path) -> None:
    """Remove the temporary files beside ``path`` of processes that were killed while they wrote it."""
    if fcntl is None:
        return
    for temporary in path.parent.glob(f".{glob.escape(path.stem)}-????????{glob.escape(path.suffix)}"):
        with suppress(OSError), open(temporary, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while a process writes it
            temporary.unlink()
