"""What is read at all: files up to a size, that hold what their headers say. Looked at before a number of them is read."""

import json
import math
from pathlib import Path

import h5netcdf
import h5py

MB = 2**20
LARGEST_NETCDF = 256 * MB
"""Bytes of a NetCDF file; the largest stored result has half a megabyte."""
LARGEST_UNPACKED = 1024 * MB
"""Bytes of all its variables once they are unpacked."""
LARGEST_TENSORS = 4096 * MB
"""Bytes of a safetensors file; a checkpoint at the scale of the papers has some hundred megabytes."""
LARGEST_HEADER = 4 * MB
"""Bytes of the header of a safetensors file."""
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
    if held > size or claimed > held * (ZLIB if stored.chunks else 1):
        raise Refused(f"claims {claimed:,} bytes of {name!r}, which it does not have")
    return claimed


# --- safetensors --------------------------------------------------------------------------------------------------


def require_safetensors(path: Path) -> None:
    """Look at the header of a safetensors file; raises Refused before any tensor is read."""
    size = path.stat().st_size
    require_size(size, LARGEST_TENSORS)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(LARGEST_HEADER, size - 8):
            raise Refused(f"claims a header of {length:,} bytes, and has {max(size - 8, 0):,} in all")
        header = json.loads(file.read(length))
    end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    if 8 + length + end != size:
        raise Refused(f"claims {end:,} bytes of tensors, and has {size - 8 - length:,}")
