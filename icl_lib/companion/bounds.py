"""What is read at all: NetCDF files up to a size, that hold what they claim. Looked at before a number of them is read."""

import io
import math
import re
import zlib

import h5netcdf
import h5py
import numpy as np
import safetensors

MB = 2**20
LARGEST_NETCDF = 256 * MB
"""Bytes of a NetCDF file; the largest stored result has half a megabyte."""
LARGEST_UNPACKED = 1024 * MB
"""Bytes of all its variables once they are unpacked, each number with eight, as it may become when it is scaled."""
HEAP = re.compile(rb"GCOL\x01\x00{3}(.{8})", re.DOTALL)
"""Where HDF5 keeps what has any length, texts and references: its size. Any number of places may point at one entry."""
LARGEST_HEAP = MB
MOST_TEXTS = 100_000
"""Texts of one variable; the most that is written is some hundred."""
MOST_DIMENSIONS, MOST_ENTRIES = 32, 1000
"""Dimensions of a variable; variables of a file, and attributes of each."""
OF_FORMATS = (zlib.error, safetensors.SafetensorError)
DAMAGED = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError, *OF_FORMATS)
"""What reading a file that is not what its name says may raise; `BadFile` is a ValueError."""


class BadFile(ValueError):
    """A file is larger than what is read, or does not hold what it claims; says so as the end of a sentence."""


def require_size(size: int, largest: int) -> None:
    """Raise BadFile for a file that is larger than the limit for its kind.

    >>> from icl_lib.companion.bounds import require_size
    >>> require_size(2048, 1024)
    Traceback (most recent call last):
    icl_lib.companion.bounds.BadFile: has 2,048 bytes, and 1,024 is the most that is read
    """
    if size > largest:
        raise BadFile(f"has {size:,} bytes, and {largest:,} is the most that is read")


def require_netcdf(whole: bytes) -> None:
    """Look at the bytes of a NetCDF file; raises BadFile before any variable is read."""
    require_size(len(whole), LARGEST_NETCDF)
    if any(int.from_bytes(found[1], "little") > LARGEST_HEAP for found in HEAP.finditer(whole)):
        raise BadFile(f"holds longer texts than the {LARGEST_HEAP / MB:.0f} MB that are the most")
    with h5py.File(io.BytesIO(whole)) as root:
        _require_few("the file", root, "variables")
        for name in root:  # a link could lead to another file
            own = isinstance(root.get(name, getlink=True), h5py.HardLink)
            if not (own and isinstance(root[name], h5py.Dataset)):
                raise BadFile(f"holds {name!r}, which is no variable of its own")
        texts = sum(_attributes(name, each) for name, each in (("the file", root), *root.items()))
        if texts > len(whole):
            raise BadFile(f"claims {texts:,} bytes of attributes, which it does not have")
        with h5netcdf.File(root) as file:
            _require_held({name: root[name] for name in file.variables}, len(whole))


def _require_few(name: str, each: h5py.File | h5py.AttributeManager, what: str) -> None:
    if len(each) > MOST_ENTRIES:
        raise BadFile(f"has {len(each):,} {what} of {name!r}, and {MOST_ENTRIES:,} is the most that is read")


def _require_held(variables: dict[str, h5py.Dataset], size: int) -> None:
    """Raise BadFile where a file cannot hold its variables, or they are too much together; then unpack them, piece by piece."""
    claimed = {name: _claimed(name, stored, size) for name, stored in variables.items()}
    if sum(claimed.values()) > LARGEST_UNPACKED:
        largest = max(claimed, key=claimed.get)
        told = f"{sum(claimed.values()) / MB:,.0f} MB once unpacked, most of it {largest!r}"
        raise BadFile(f"claims {told}, and {LARGEST_UNPACKED / MB:,.0f} MB is the most that is read")
    for name, stored in variables.items():
        if stored.chunks:
            _require_pieces(name, stored)


def _claimed(name: str, stored: h5py.Dataset, size: int) -> int:
    """Return the bytes that a variable will take, which the file must be able to hold."""
    if stored.external or stored.is_virtual:
        raise BadFile(f"takes {name!r} from another file")
    if stored.dtype.kind not in "biufcSO" or (stored.dtype.kind == "O" and h5py.check_string_dtype(stored.dtype) is None):
        raise BadFile(f"holds {name!r}, which is neither numbers nor texts")
    claimed, held = math.prod(stored.shape) * stored.dtype.itemsize, stored.id.get_storage_size()
    if stored.chunks:
        piece = math.prod(stored.chunks) * stored.dtype.itemsize
        if piece > max(MB, claimed):
            raise BadFile(f"would unpack a larger piece of {name!r} than there is of it")
        held = stored.id.get_num_chunks() * piece
    if claimed > held or not (stored.chunks or held <= size):
        raise BadFile(f"claims {claimed:,} bytes of {name!r}, which it does not have")
    if stored.dtype.kind == "O":
        return claimed + _texts(name, stored, size)
    return max(held, math.prod(stored.shape) * max(8, stored.dtype.itemsize))


def _require_pieces(name: str, stored: h5py.Dataset) -> None:
    """Raise BadFile where a piece of a variable does not unpack to what it should be; HDF5 would unpack it to any length."""
    made = stored.id.get_create_plist()
    packed = [made.get_filter(place)[0] for place in range(made.get_nfilters())] == [h5py.h5z.FILTER_DEFLATE]
    if stored.dtype.kind == "O" or not (packed or made.get_nfilters() == 0):
        raise BadFile(f"has packed {name!r} in another way than this book does")
    places, piece = [], math.prod(stored.chunks) * stored.dtype.itemsize
    stored.id.chunk_iter(lambda found: places.append(found.chunk_offset))
    for place in places:
        mask, content = stored.id.read_direct_chunk(place)
        unpack = zlib.decompressobj()
        length = len(unpack.decompress(content, piece + 1)) if packed and not mask else len(content)
        if length != piece or (packed and not mask and not unpack.eof):
            raise BadFile(f"does not hold the {piece:,} bytes of a piece of {name!r}")


def _texts(name: str, stored: h5py.Dataset, size: int) -> int:
    """Return the bytes of all texts of a variable, which lie in the file as they are, each at a place of its own."""
    if stored.size > MOST_TEXTS:
        raise BadFile(f"holds {stored.size:,} texts in {name!r}, and {MOST_TEXTS:,} is the most that is read")
    total = 0
    for place in np.ndindex(stored.shape):  # one at a time: many may point at one that is large
        total += len(stored[place])
        if total > size:
            raise BadFile(f"claims more bytes of {name!r} than it has")
    return total


def _attributes(name: str, owner: h5py.Dataset | h5py.File) -> int:
    """Return the bytes of all texts among the attributes; raises BadFile for what is neither number, text nor dimension."""
    total = 0
    _require_few(name, owner.attrs, "attributes")
    for each in owner.attrs:
        stored = owner.attrs.get_id(each)
        entries, text = math.prod(stored.shape or ()), h5py.check_string_dtype(stored.dtype)
        few = entries <= (1 if text else MOST_DIMENSIONS if each == "DIMENSION_LIST" else 0)
        if not (few or stored.dtype.kind in "biufS" or each == "REFERENCE_LIST"):  # which is never read
            raise BadFile(f"has {entries:,} entries of the attribute {each!r} of {name!r}, neither numbers nor one text")
        total += sum(map(len, np.ravel(owner.attrs[each]))) if text and text.length is None else 0
    return total
