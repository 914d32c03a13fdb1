"""What is read at all: files up to a size, that hold what their headers say. Looked at before a number of them is read."""

import json
import math

import h5netcdf
import h5py
import numpy as np

MB = 2**20
LARGEST_NETCDF = 256 * MB
"""Bytes of a NetCDF file; the largest stored result has half a megabyte."""
LARGEST_UNPACKED = 1024 * MB
"""Bytes of all its variables once they are unpacked."""
LARGEST_TENSORS = 4096 * MB
"""Bytes of a safetensors file; a checkpoint at the scale of the papers has some hundred megabytes."""
MOST_ENTRIES = 64
"""Entries of any length of one attribute; the most that is written is one for each dimension."""
LARGEST_HEADER = 4 * MB
"""Bytes of the header of a safetensors file."""
WIDTHS = {"BOOL": 1, "U8": 1, "I8": 1, "F16": 2, "BF16": 2, "I16": 2, "F32": 4, "I32": 4, "F64": 8, "I64": 8}
"""Bytes of a number, by its name in safetensors."""
ZLIB = 1032
"""So many times its own size can a stream of zlib be once it is unpacked, and no more."""


class Refused(ValueError):
    """A file is larger than what is read, or does not hold what it claims; says so as the end of a sentence."""


def require_size(size: int, largest: int) -> None:
    """Raise Refused for a file that is larger than the limit for its kind."""
    if size > largest:
        raise Refused(f"has {size / MB:,.0f} MB, and {largest / MB:,.0f} MB is the most that is read")


# --- NetCDF -------------------------------------------------------------------------------------------------------


def require_netcdf(source, size: int) -> None:
    """Look at a NetCDF file of ``size`` bytes, or at its bytes in memory; raises Refused before any variable is read."""
    require_size(size, LARGEST_NETCDF)
    with h5py.File(source) as root:
        for name in root:  # a link could lead to another file
            own = isinstance(root.get(name, getlink=True), h5py.HardLink)
            if not (own and isinstance(root[name], h5py.Dataset)):
                raise Refused(f"holds {name!r}, which is no variable of its own")
            _require_few(name, root[name])
        _require_few("the file", root)
        with h5netcdf.File(root) as file:
            claimed = {name: _claimed(name, root[name], size) for name in file.variables}
    if sum(claimed.values()) > LARGEST_UNPACKED:
        largest = max(claimed, key=claimed.get)
        told = f"{sum(claimed.values()) / MB:,.0f} MB once unpacked, most of it {largest!r}"
        raise Refused(f"claims {told}, and {LARGEST_UNPACKED / MB:,.0f} MB is the most that is read")


def _claimed(name: str, stored: h5py.Dataset, size: int) -> int:
    """Return the bytes that a variable will take, which the file must be able to hold."""
    if stored.external or stored.is_virtual:
        raise Refused(f"takes {name!r} from another file")
    claimed, held = math.prod(stored.shape) * stored.dtype.itemsize, stored.id.get_storage_size()
    if stored.chunks and math.prod(stored.chunks) * stored.dtype.itemsize > max(MB, claimed):
        raise Refused(f"would unpack a larger piece of {name!r} than there is of it")
    if held > size or claimed > held * (ZLIB if stored.chunks else 1):
        raise Refused(f"claims {claimed:,} bytes of {name!r}, which it does not have")
    return claimed + (_texts(name, stored, size) if stored.dtype.kind == "O" else 0)


def _texts(name: str, stored: h5py.Dataset, size: int) -> int:
    """Return the bytes of all texts of a variable, which lie in the file as they are, each at a place of its own."""
    if h5py.check_string_dtype(stored.dtype) is None:
        raise Refused(f"holds {name!r}, which is neither numbers nor texts")
    total = 0
    for place in np.ndindex(stored.shape):  # one at a time: many may point at one that is large
        total += len(stored[place])
        if total > size:
            raise Refused(f"claims more bytes of {name!r} than it has")
    return total


def _require_few(name: str, owner: h5py.Dataset | h5py.File) -> None:
    """Raise Refused for an attribute of many entries of any length, each of which may point at the same large one."""
    for each in owner.attrs:
        stored = owner.attrs.get_id(each)
        if stored.dtype.kind == "O" and math.prod(stored.shape) > MOST_ENTRIES:
            raise Refused(f"claims {math.prod(stored.shape):,} entries of the attribute {each!r} of {name!r}")


# --- safetensors --------------------------------------------------------------------------------------------------


def require_safetensors(source, size: int) -> None:
    """Look at the header of an open safetensors file of ``size`` bytes; raises Refused before any tensor is read."""
    require_size(size, LARGEST_TENSORS)
    length = int.from_bytes(source.read(8), "little")
    if length > min(LARGEST_HEADER, size - 8):
        raise Refused(f"claims a header of {length:,} bytes, and has {max(size - 8, 0):,} in all")
    header = json.loads(source.read(length))
    header.pop("__metadata__", None)
    end = 0
    for name, entry in sorted(header.items(), key=lambda each: each[1]["data_offsets"]):
        begins, ends = entry["data_offsets"]
        if begins != end or ends - begins != math.prod(entry["shape"]) * WIDTHS[entry["dtype"]]:
            raise Refused(f"claims other bytes of {name!r} than its shape has, or a place that is not behind the one before")
        end = ends
    if 8 + length + end != size:
        raise Refused(f"claims {end:,} bytes of tensors, and has {size - 8 - length:,}")
