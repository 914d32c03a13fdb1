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

from book.build.problem import Problem

MOST_FILES, LARGEST, TOTAL = 20_000, 256 * 2**20, 2 * 2**30
RATIO, SMALL = 100, 2**20
"""A file may be at most so many times as large as it is packed, unless it is small."""
END = struct.Struct("<4s4H2LH")
LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
UNIX, VERSION = 3, 20
ENCRYPTED, STREAMED, UTF8 = 0x1, 0x8, 0x800
OUTSIDE = re.compile(r"^/|^[A-Za-z]:|\\|(^|/)\.\.?(/|$)|//|[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069:]|[. ](/|$)|/$|^$")
"""What a name has that leads out of its folder, or means something else on another system."""
DEVICES = re.compile(r"(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.[^/]*)?(/|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Opened:
    """A zip whose own statements hold: where each file's packed bytes lie.

    as_listed   whether its list of files is the one that `archive.write` would write
    """

    file: BinaryIO
    entries: dict[str, zipfile.ZipInfo]
    starts: dict[str, int]
    as_listed: bool

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
        raise Problem(f"{entry.filename} is damaged: it cannot be unpacked.") from error
    if len(content) > entry.file_size:
        raise Problem(f"{entry.filename} unpacks to more than the {entry.file_size} bytes that it declares.")
    if not inflate.eof or inflate.unused_data or len(content) < entry.file_size:
        raise Problem(f"{entry.filename} is damaged: it does not unpack to the {entry.file_size} bytes that it declares.")
    return content


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """Open a bundle, or raise a Problem that names the file at fault."""
    if not path.is_file():
        raise Problem(f"There is no bundle {path}.")
    with path.open("rb") as file:
        directory = _directory(file, path)
        try:
            entries = zipfile.ZipFile(file).infolist()
        except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error) as error:
            raise Problem(f"{path.name} is damaged: its list of files cannot be read.") from error
        require_names([entry.orig_filename for entry in entries])
        for entry in entries:
            require_plain(entry)
        if sum(entry.file_size for entry in entries) > TOTAL:
            raise Problem(f"{path.name} would unpack to more than {TOTAL >> 20} MiB.")
        starts, bare = _starts(file, entries, directory)
        file.seek(directory)
        listed = file.read()[: -END.size]
        yield Opened(file, {entry.filename: entry for entry in entries}, starts, bare and _as_listed(listed, entries))


def _directory(file: BinaryIO, path: Path) -> int:
    """Where the list of files begins; it has to be the last thing in the zip, with nothing behind it."""
    size = file.seek(0, 2)
    file.seek(max(0, size - END.size))
    tail = file.read()
    if len(tail) < END.size or not tail.startswith(b"PK\5\6"):
        raise Problem(f"{path.name} is no zip, or is cut short, or has bytes behind its end.")
    _, disk, first, here, count, length, begins, comment = END.unpack(tail)
    if disk or first or here != count or comment or begins + length + END.size != size:
        raise Problem(f"{path.name} is damaged: its last bytes do not agree with the rest.")
    if count > MOST_FILES:
        raise Problem(f"{path.name} has {count} files; {MOST_FILES} are the most.")
    return begins


def require_names(names: list[str]) -> None:
    """Raise a Problem for a name that leads outside, and for two names that are one file on some system."""
    for name in names:
        if OUTSIDE.search(name) or DEVICES.search(name) or len(name) > 240:
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
    name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or entry.external_attr & 0x10:
        raise Problem(f"{name} is a link or a folder, and no plain file.")
    if entry.flag_bits & ENCRYPTED or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Problem(f"{name} is encrypted, or packed in an unusual way.")
    if entry.compress_type == zipfile.ZIP_STORED and entry.file_size != entry.compress_size:
        raise Problem(f"{name} is not packed, and yet has two sizes.")
    if max(entry.file_size, entry.compress_size) > LARGEST:
        raise Problem(f"{name} would unpack to {entry.file_size >> 20} MiB; {LARGEST >> 20} are the most.")
    if entry.file_size > max(SMALL, RATIO * entry.compress_size):
        raise Problem(f"{name} would unpack to more than {RATIO} times its size.")


def _starts(file: BinaryIO, entries: list[zipfile.ZipInfo], directory: int) -> tuple[dict[str, int], bool]:
    """Where each file's packed bytes begin, and whether none has extra fields; the files follow each other without a gap."""
    starts, position, bare = {}, 0, True
    for entry in sorted(entries, key=lambda each: each.header_offset):
        file.seek(position)
        told = file.read(LOCAL.size)
        if entry.header_offset != position or len(told) < LOCAL.size:
            raise Problem(f"{entry.filename} does not begin where the file before it ends.")
        *header, name, extra = LOCAL.unpack(told)
        if tuple(header) != _header(entry, header[1]) or file.read(name) != _encoded(entry):
            raise Problem(f"{entry.filename} is told otherwise at its place than in the list of files.")
        bare = bare and not extra and header[1] == entry.extract_version
        starts[entry.filename] = position + LOCAL.size + name + extra
        position = starts[entry.filename] + entry.compress_size
    if position != directory:
        raise Problem("There are bytes between the last file and the list of files.")
    return starts, bare


def _header(entry: zipfile.ZipInfo, version: int) -> tuple:
    """What has to stand before a file's packed bytes."""
    year, month, day, hour, minute, second = entry.date_time
    time, date = hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day
    sizes = (entry.CRC, entry.compress_size, entry.file_size)
    return (b"PK\3\4", version, entry.flag_bits & ~STREAMED, entry.compress_type, time, date, *sizes)


def _encoded(entry: zipfile.ZipInfo) -> bytes:
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & UTF8 else "cp437")


def _as_listed(listed: bytes, entries: list[zipfile.ZipInfo]) -> bool:
    """Whether the list of files is, to the last byte, the one that `archive.write` would write."""
    names = [entry.filename for entry in entries]
    dates = {entry.date_time for entry in entries}
    return names == sorted(names) and len(dates) == 1 and listed == b"".join(map(_listed, entries))


def _listed(entry: zipfile.ZipInfo) -> bytes:
    _, _, flags, _, time, date, *sizes = _header(entry, VERSION)
    name = _encoded(entry)
    told = (VERSION, flags, zipfile.ZIP_DEFLATED, time, date, *sizes, len(name), 0, 0, 0, 0)
    return CENTRAL.pack(b"PK\1\2", UNIX << 8 | VERSION, *told, entry.external_attr, entry.header_offset) + name
