"""What a zip says of itself, before anything of it is unpacked: names that stay inside, sizes within limits, nothing hidden."""

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
from book.release.line import is_line
from icl_lib.companion import digests

MOST_FILES, LARGEST, TOTAL = 20_000, 256 * 2**20, 2 * 2**30
RATIO, SMALL = 100, 2**20
"""A file may be at most so many times as large as it is packed, unless it is small."""
END = struct.Struct("<4s4H2LH")
LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
UNIX, VERSION = 3, 20
LEVELS, UTF8 = 0x6, 0x800
"""The flags that a file may have: how hard it was packed, and how its name is written."""
LONGEST_NAME = 240
"""Bytes of a name."""
OUTSIDE = re.compile(r"^/|^[A-Za-z]:|(^|/)\.\.?(/|$)|//|[. ](/|$)|/$|^$|[\\:*?\"<>|]|~\d")
"""What a name has that leads out of its folder, or means something else on another system."""
DEVICES = re.compile(r"(^|/)(con|prn|aux|nul|con(in|out)\$|clock\$|(com|lpt)[\d¹²³]) *(\.[^/]*)?(/|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Opened:
    """A zip whose own statements hold: where each file's packed bytes lie.

    as_listed   whether its list of files is the one that `archive.write` would write
    """

    file: BinaryIO
    entries: dict[str, zipfile.ZipInfo]
    starts: dict[str, int]
    as_listed: bool

    def sha256(self) -> str:
        """The digest of the whole zip, read where it is open: another file may come to have its name."""
        return digests.of_open(self.file)

    def packed(self, name: str) -> bytes:
        """The bytes of one file as they lie in the zip."""
        self.file.seek(self.starts[name])
        return self.file.read(self.entries[name].compress_size)

    def content(self, name: str) -> bytes:
        """Unpack one file in memory, never more than it declares."""
        entry, packed = self.entries[name], self.packed(name)
        content = packed if entry.compress_type == zipfile.ZIP_STORED else _inflated(packed, entry)
        if zlib.crc32(content) != entry.CRC:
            raise Problem(f"{name} is damaged: its checksum in the zip is another.")
        return content


def _inflated(packed: bytes, entry: zipfile.ZipInfo) -> bytes:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = inflate.decompress(packed, entry.file_size + 1)
    except zlib.error as error:
        raise Problem(f"{entry.orig_filename} is damaged: it cannot be unpacked.") from error
    if len(content) > entry.file_size:
        raise Problem(f"{entry.orig_filename} unpacks to more than the {entry.file_size} bytes that it declares.")
    if not inflate.eof or inflate.unused_data or len(content) < entry.file_size:
        raise Problem(f"{entry.orig_filename} is damaged: it does not unpack to the {entry.file_size} bytes that it declares.")
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
        if sum(entry.file_size for entry in entries) > TOTAL:
            raise Problem(f"{path.name} would unpack to more than {TOTAL >> 20} MiB.")
        file.seek(directory)
        if len(entries) != count or file.read()[: -END.size] != b"".join(map(_listed, entries)):
            raise Problem(f"{path.name} is damaged: its list of files holds other things than files, or others than it counts.")
        starts = _starts(file, entries, directory)
        yield Opened(file, {entry.orig_filename: entry for entry in entries}, starts, _as_written(entries))


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
    least = max(count, length // (CENTRAL.size + LONGEST_NAME))
    if least > MOST_FILES:
        raise Problem(f"{path.name} has {least} files; {MOST_FILES} are the most.")
    return begins, count


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


def _starts(file: BinaryIO, entries: list[zipfile.ZipInfo], directory: int) -> dict[str, int]:
    """Where each file's packed bytes begin; what stands before them is what the list says, and no file leaves a gap."""
    starts, position = {}, 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        name, told = _encoded(entry), LOCAL.pack(b"PK\3\4", *_header(entry), len(_encoded(entry)), 0)
        file.seek(position)
        if entry.header_offset != position:
            raise Problem(f"{entry.orig_filename} does not begin where the file before it ends.")
        if file.read(LOCAL.size + len(name)) != told + name:
            raise Problem(f"{entry.orig_filename} is told otherwise at its place than in the list of files.")
        starts[entry.orig_filename] = position + LOCAL.size + len(name)
        position = starts[entry.orig_filename] + entry.compress_size
    if position != directory:
        raise Problem("There are bytes between the last file and the list of files.")
    return starts


def _header(entry: zipfile.ZipInfo) -> tuple[int, ...]:
    """What the list of files and the place of a file both tell of it, from the version that unpacks it to its sizes."""
    year, month, day, hour, minute, second = entry.date_time
    time, date = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
    version = entry.extract_version | entry.reserved << 8
    sizes = (entry.CRC, entry.compress_size, entry.file_size)
    return version, entry.flag_bits, entry.compress_type, time, date, *sizes


def _encoded(entry: zipfile.ZipInfo) -> bytes:
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & UTF8 else "cp437")


def _listed(entry: zipfile.ZipInfo) -> bytes:
    """What the list of files may hold of a file: neither an extra field nor a comment."""
    made, name = entry.create_version | entry.create_system << 8, _encoded(entry)
    attributes = (entry.internal_attr, entry.external_attr, entry.header_offset)
    return CENTRAL.pack(b"PK\1\2", made, *_header(entry), len(name), 0, 0, entry.volume, *attributes) + name


def _as_written(entries: list[zipfile.ZipInfo]) -> bool:
    """Whether all that the list of files leaves open is as `archive.write` would have it."""
    names, dates = [entry.orig_filename for entry in entries], {entry.date_time for entry in entries}
    return names == sorted(names) and len(dates) == 1 and all(map(_usual, entries))


def _usual(entry: zipfile.ZipInfo) -> bool:
    found = (entry.create_system, entry.create_version, entry.extract_version, entry.reserved, entry.flag_bits)
    flags = 0 if entry.orig_filename.isascii() else UTF8
    rest = (entry.compress_type, entry.volume, entry.internal_attr)
    return (*found, *rest) == (UNIX, VERSION, VERSION, 0, flags, zipfile.ZIP_DEFLATED, 0, 0)
