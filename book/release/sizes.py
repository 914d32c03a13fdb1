"""What the data files of a bundle claim to hold, looked at before anything reads them."""

import io
import json
import math
import struct

import h5py

from book.build.problem import Problem

LARGEST = 64 * 2**20
"""The most bytes that one file's numbers may take in memory."""
HEADER = 2**20
WIDTHS = {"BOOL": 1, "U8": 1, "I8": 1, "F16": 2, "BF16": 2, "I16": 2, "F32": 4, "I32": 4, "F64": 8, "I64": 8}
"""Bytes of a number, by its name in safetensors."""
HDF5 = b"\x89HDF\r\n\x1a\n"


def require_sizes(name: str, content: bytes) -> None:
    """Raise a Problem where a NetCDF file or a file of weights claims too much, or more than it has."""
    if name.endswith((".nc", ".safetensors")):
        if len(content) > LARGEST:
            raise Problem(f"{name} has more than {LARGEST >> 20} MiB.")
        try:
            (_netcdf if name.endswith(".nc") else _safetensors)(content)
        except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
            raise Problem(f"{name} is not what it says it is: {str(error)[:160]}.") from error


def _netcdf(content: bytes) -> None:
    """Plain variables in one group, none of them elsewhere, none larger than is allowed or than the file can hold."""
    if not content.startswith(HDF5):
        raise ValueError("it does not begin as a NetCDF file does")
    total = 0
    with h5py.File(io.BytesIO(content), "r") as file:
        for name in file:
            if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(file[name], h5py.Dataset):
                raise ValueError(f"{name} is a link or a group")
            variable = file[name]
            if variable.is_virtual or variable.external:
                raise ValueError(f"{name} lies in another file")
            total += variable.size * variable.dtype.itemsize
            if total > LARGEST:
                raise ValueError(f"{name} claims {variable.size} numbers")
            if variable.id.get_storage_size() > len(content):
                raise ValueError(f"{name} claims more than the file has")


def _safetensors(content: bytes) -> None:
    """A header within its limit, and tensors that fill the rest of the file one after another."""
    (length,) = struct.unpack("<Q", content[:8])
    if length > min(HEADER, len(content) - 8):
        raise ValueError(f"its header claims {length} bytes")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    position = 0
    for name, tensor in sorted(header.items(), key=lambda each: each[1]["data_offsets"]):
        begin, end = tensor["data_offsets"]
        if begin != position or end - begin != math.prod(tensor["shape"]) * WIDTHS[tensor["dtype"]]:
            raise ValueError(f"{name} claims other bytes than its shape has")
        position = end
    if position != len(content) - 8 - length:
        raise ValueError("its tensors claim other bytes than the file has")
