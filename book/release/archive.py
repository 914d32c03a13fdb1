"""A zip that is the same bytes whenever it is made of the same files."""

import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from icl_lib.companion.results import write_atomically

Content = Path | bytes
"""A file of a bundle: where it lies, or what is in it."""
PLAIN, PROGRAM = 0o100644, 0o100755


def read(content: Content) -> bytes:
    """The bytes of a file of a bundle."""
    return content if isinstance(content, bytes) else content.read_bytes()


def write(files: Mapping[str, Content], seconds: int, target: Path) -> None:
    """Pack files in the order of their names, all of the same date; `target` is complete or as it was before."""
    date = datetime.fromtimestamp(seconds, UTC).timetuple()[:6]

    def pack(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
            for name in sorted(files):
                entry = zipfile.ZipInfo(name, date)
                entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
                entry.external_attr = (PROGRAM if is_program(files[name]) else PLAIN) << 16
                packed.writestr(entry, read(files[name]))

    write_atomically(target, pack)


def is_program(content: Content) -> bool:
    return isinstance(content, Path) and content.read_bytes()[:2] == b"#!"
