"""What a zip says of itself, before anything of it is unpacked: names that stay inside, sizes within limits, nothing hidden.

`zipfile` reads it and writes it again: what it would write around the packed bytes has to be all that is there.
"""

import io
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from book.builder.problem import Problem
from book.release.wellformed import is_line

MOST_FILES, LARGEST, TOTAL = 20_000, 256 * 2**20, 2 * 2**30
RATIO, SMALL = 100, 2**20
"""A file may be at most so many times as large as it is packed, unless it is small."""
END = struct.Struct("<4s4H2LH")
LEVELS, UTF8 = 0x6, 0x800
"""The flags that a file may have: how hard it was packed, and how its name is written."""
LISTED, LONGEST_NAME = 46, 240
"""Bytes of a file in the list of files, less its name, and of a name."""
OUTSIDE = re.compile(r"^/|^[A-Za-z]:|(^|/)\.\.?(/|$)|//|[. ](/|$)|/$|^$|[\\:*?\"<>|]|~\d")
"""What a name has that leads out of its folder, or means something else on another system."""
DEVICES = re.compile(r"(^|/)(con|prn|aux|nul|con(in|out)\$|clock\$|(com|lpt)[\d¹²³]) *(\.[^/]*)?(/|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Opened:
    """A zip whose own statements hold: where each file's packed bytes lie."""

    file: BinaryIO
    entries: dict[str, zipfile.ZipInfo]
    starts: dict[str, int]

    def content(self, name: str) -> bytes:
        """Unpack one file in memory, never more than it declares."""
        entry, inflate = self.entries[name], zlib.decompressobj(-zlib.MAX_WBITS)
        self.file.seek(self.starts[name])
        content = self.file.read(entry.compress_size)
        if entry.compress_type != zipfile.ZIP_STORED:
            try:
                content = inflate.decompress(content, entry.file_size + 1)
            except zlib.error as error:
                raise Problem(f"{name} is damaged: it cannot be unpacked.") from error
            if not inflate.eof or inflate.unused_data or len(content) != entry.file_size:
                raise Problem(f"{name} is damaged: it does not unpack to the {entry.file_size} bytes that it declares.")
        if zlib.crc32(content) != entry.CRC:
            raise Problem(f"{name} is damaged: its checksum in the zip is another.")
        return content


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """Open a bundle, or raise a Problem that names the file at fault."""
    if not path.is_file():
        raise Problem(f"There is no bundle {path}.")
    with path.open("rb") as file:
        directory, count = _directory(file, path)
        try:
            entries = zipfile.ZipFile(file).infolist()
        except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error) as error:
            raise Problem(f"{path.name} is damaged: its list of files cannot be read.") from error
        require_names([entry.orig_filename for entry in entries])
        for entry in entries:
            require_plain(entry)
            entry.filename = entry.orig_filename  # from Python 3.12 on it may have another by an extra field
        if sum(entry.file_size for entry in entries) > TOTAL:
            raise Problem(f"{path.name} would unpack to more than {TOTAL >> 20} MiB.")
        file.seek(directory)
        if len(entries) != count or file.read()[: -END.size] != _listed(entries):
            raise Problem(f"{path.name} is damaged: its list of files holds other things than files, or others than it counts.")
        yield Opened(file, {entry.filename: entry for entry in entries}, _starts(file, entries, directory))


def _directory(file: BinaryIO, path: Path) -> tuple[int, int]:
    """Where the list of files begins, and how many it is to have; nothing but it may stand at the end of the zip."""
    size = file.seek(0, 2)
    file.seek(max(0, size - END.size))
    tail = file.read()
    if len(tail) < END.size or not tail.startswith(b"PK\5\6"):
        raise Problem(f"{path.name} is no zip, or is cut short, or has bytes behind its end.")
    _, disk, first, here, count, length, begins, comment = END.unpack(tail)
    if disk or first or here != count or comment or begins + length + END.size != size:
        raise Problem(f"{path.name} is damaged: its last bytes do not agree with the rest.")
    least = max(count, length // (LISTED + LONGEST_NAME))
    if least > MOST_FILES:
        raise Problem(f"{path.name} has {least} files; {MOST_FILES} are the most.")
    return begins, count


def _listed(entries: list[zipfile.ZipInfo]) -> bytes:
    """The list of files as `zipfile` writes it, without the end of the zip."""
    with zipfile.ZipFile(made := io.BytesIO(), "w") as again:
        again.filelist, again.comment = entries, b""  # it writes the list anew for a comment
    return made.getvalue()[: -END.size]


def _starts(file: BinaryIO, entries: list[zipfile.ZipInfo], directory: int) -> dict[str, int]:
    """Where each file's packed bytes begin; what stands before them is what `zipfile` writes, and no file leaves a gap."""
    starts, position = {}, 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        header = entry.FileHeader()
        file.seek(position)
        if entry.header_offset != position:
            raise Problem(f"{entry.filename} does not begin where the file before it ends.")
        if file.read(len(header)) != header:
            raise Problem(f"{entry.filename} is told otherwise at its place than in the list of files.")
        starts[entry.filename] = position + len(header)
        position += len(header) + entry.compress_size
    if position != directory:
        raise Problem("There are bytes between the last file and the list of files.")
    return starts


def require_names(names: list[str]) -> None:
    """Raise a Problem for a name that leads outside, and for two names that are one file on some system."""
    for name in names:
        if not is_line(name) or len(name.encode()) > LONGEST_NAME or OUTSIDE.search(name) or DEVICES.search(name):
            raise Problem(f"{name!r} is no name for a file of a bundle: it leads outside, or means something else elsewhere.")
    same = Counter(map(_as_file, names))
    for name in names:
        if same[_as_file(name)] > 1:
            raise Problem(f"{name} is in the list twice, or is told from another name by case or accents alone.")
    folders = {_as_file(str(folder)) for name in names for folder in PurePosixPath(name).parents}
    for name in names:
        if _as_file(name) in folders:
            raise Problem(f"{name} is a file and a folder.")


def _as_file(name: str) -> str:
    """The name as a system sees it that tells neither case nor forms of accents apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def require_plain(entry: zipfile.ZipInfo) -> None:
    """Raise a Problem for what is no plain file of a reasonable size."""
    name, kind = entry.orig_filename, stat.S_IFMT(entry.external_attr >> 16)
    if entry.extra or entry.comment:
        raise Problem(f"{name} has a comment or an extra field, which can give it another name; ./run bundle writes none.")
    if kind not in (0, stat.S_IFREG) or entry.external_attr & 0x10:
        raise Problem(f"{name} is a link or a folder, and no plain file.")
    if entry.flag_bits & ~(LEVELS | UTF8) or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Problem(f"{name} is encrypted, or packed in an unusual way.")
    if entry.compress_type == zipfile.ZIP_STORED and entry.file_size != entry.compress_size:
        raise Problem(f"{name} is not packed, and yet has two sizes.")
    if max(entry.file_size, entry.compress_size) > LARGEST:
        raise Problem(f"{name} would unpack to {entry.file_size >> 20} MiB; {LARGEST >> 20} are the most.")
    if entry.file_size > max(SMALL, RATIO * entry.compress_size):
        raise Problem(f"{name} would unpack to more than {RATIO} times its size.")
