"""A zip that is the same bytes whenever it is made of the same files."""

import zipfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from icl_lib.companion.writing import write_atomically

Content = Path | bytes
"""A file of a bundle: where it lies, or what is in it."""
PLAIN, PROGRAM = 0o100644, 0o100755
LEVEL = 6


def read(content: Content) -> bytes:
    """The bytes of a file of a bundle."""
    return content if isinstance(content, bytes) else content.read_bytes()


def write(files: Mapping[str, Content], seconds: int, target: Path) -> None:
    """Pack files in the order of their names, all of the same date; `target` is complete or as it was before."""
    date = datetime.fromtimestamp(seconds, UTC).timetuple()[:6]
    write_atomically(target, lambda path: pack(files, lambda name: read(files[name]), date, path))


def pack(names: Iterable[str], content_of: Callable[[str], bytes], date: tuple[int, ...], target: Path | BinaryIO) -> None:
    """Write the zip; each file is read when its turn comes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as packed:
        for name in sorted(names):
            entry, content = zipfile.ZipInfo(name, date), content_of(name)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = mode(content) << 16
            packed.writestr(entry, content)


def mode(content: bytes) -> int:
    """The mode of a file: a script is a program."""
    return PROGRAM if content.startswith(b"#!") else PLAIN
