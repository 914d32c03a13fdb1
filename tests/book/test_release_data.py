"""Data files of a bundle that claim more than they have: refused before anything reads them."""

import io
import json
import re
import struct
import zlib

import h5py
import numpy as np
import pytest
from small_bundle import DATA, FILES, ROOT, WEIGHTS, netcdf, refused, written


def safetensors_of(header, rest=b""):
    told = json.dumps(header).encode()
    return struct.pack("<Q", len(told)) + told + rest


FOUR = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (DATA, netcdf(risk=(10**12,)), "claims"),
        (DATA, netcdf(a=(2**22,), b=(2**22,), c=(2**22,)), "claims"),
        (DATA, FILES[DATA][:-100], "is not what its name says"),
        (DATA, b"CDF\x01" + bytes(100), "is not what its name says"),
        (WEIGHTS, struct.pack("<Q", 2**60) + b"{}", "is not what its name says"),
        (WEIGHTS, b"abc", "is not what its name says"),
        (
            WEIGHTS,
            safetensors_of({"a": FOUR | {"shape": [2**40], "data_offsets": [0, 2**42]}}, bytes(4)),
            "is not what its name says",
        ),
        (WEIGHTS, safetensors_of({"a": FOUR | {"shape": [2]}}, bytes(4)), "is not what its name says"),
        (WEIGHTS, safetensors_of({"a": FOUR}, bytes(8)), "is not what its name says"),
        (WEIGHTS, safetensors_of({"a": FOUR, "b": FOUR}, bytes(4)), "is not what its name says"),
        (WEIGHTS, safetensors_of({"a": FOUR | {"dtype": "O"}}, bytes(4)), "is not what its name says"),
        (WEIGHTS, safetensors_of({"a": 3}, bytes(4)), "is not what its name says"),
    ],
)
def test_data_that_claim_more_than_they_have(tmp_path, name, content, told):
    refused(written(tmp_path / "bundle.zip", {**FILES, name: content}), name, told)


NUMBERS, TEXT = np.arange(20.0), h5py.string_dtype()


def packed_larger(file):
    """A piece of eight kilobytes that unpacks to sixteen megabytes; HDF5 would follow it to the end."""
    made = file.create_dataset("risk", (1024,), "f8", chunks=(1024,), compression="gzip")
    made.id.write_direct_chunk((0,), zlib.compress(bytes(2**24)))


def linked(file):
    file["other"] = NUMBERS
    file["risk"] = h5py.SoftLink("/other")


def virtual(file):
    layout = h5py.VirtualLayout((20,), "f8")
    layout[:] = h5py.VirtualSource("other.nc", "risk", (20,))
    file.create_virtual_dataset("risk", layout)


def noted(value, kind=None, name="title"):
    def make(file):
        file["risk"] = NUMBERS
        file["risk"].attrs.create(name, value, dtype=kind)

    return make


def many(file):
    for number in range(1001):
        file[str(number)] = 1.0


LISTS = np.empty(2, object)
LISTS[:] = [NUMBERS, NUMBERS[:3]]
RECORDS = np.dtype([("text", TEXT)])
TRICKS = {
    "packed larger": (packed_larger, "does not hold the 8,192 bytes of a piece of 'risk'"),
    "another packer": (lambda file: file.create_dataset("risk", data=NUMBERS, compression="lzf"), "in another way"),
    "packed twice": (
        lambda file: file.create_dataset("risk", data=NUMBERS, compression="gzip", shuffle=True),
        "in another way",
    ),
    "packed texts": (lambda file: file.create_dataset("risk", (9,), TEXT, chunks=(9,))[:].sort(), "risk"),
    "many texts": (lambda file: file.create_dataset("risk", data=np.full(100_001, "", object), dtype=TEXT), "100,001 texts"),
    "pieces not there": (lambda file: file.create_dataset("risk", (10**6,), "f8", chunks=(100,), fillvalue=1.0), "claims"),
    "records of texts": (lambda file: file.create_dataset("risk", (3,), RECORDS), "neither numbers nor texts"),
    "lists": (lambda file: file.create_dataset("risk", (3,), h5py.vlen_dtype(int)), "neither numbers nor texts"),
    "references": (lambda file: file.create_dataset("risk", (3,), h5py.ref_dtype), "neither numbers nor texts"),
    "link": (linked, "'risk', which is no variable of its own"),
    "folder": (lambda file: file.create_group("risk"), "no variable of its own"),
    "kind": (lambda file: file.__setitem__("risk", np.dtype("f8")), "no variable of its own"),
    "elsewhere": (lambda file: file.create_dataset("risk", (8,), "u1", external=[("/etc/passwd", 0, 8)]), "from another file"),
    "virtual": (virtual, "from another file"),
    "nothing": (lambda file: file.create_dataset("risk", data=h5py.Empty("f8")), "is not what its name says"),
    "long attribute": (noted(str([*range(300_000)]), TEXT), "longer texts"),
    "attribute of texts": (noted(["x", "y"], TEXT), "2 entries of the attribute"),
    "attribute of records": (noted(np.zeros(3, [("a", "f8")])), "3 entries of the attribute"),
    "attribute of lists": (noted(LISTS, h5py.vlen_dtype(float)), "entries of the attribute"),
    "many dimensions": (noted(np.full(33, h5py.Reference()), h5py.ref_dtype, "DIMENSION_LIST"), "33 entries"),
    "many variables": (many, "1,001 variables"),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_tricks_of_hdf5(tmp_path, trick):
    make, told = TRICKS[trick]
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        make(file)
    refused(written(tmp_path / "bundle.zip", {**FILES, DATA: content.getvalue()}), DATA, told)


def test_attributes_that_all_point_at_one_long_text(tmp_path):
    content, length = io.BytesIO(), 50_000
    with h5py.File(content, "w") as file:
        file["risk"] = NUMBERS
        for number in range(40):
            file["risk"].attrs.create(str(number), "x" * (13 if number else length), dtype=TEXT)
    whole = content.getvalue()
    pointer = rb"%s(.{3}\0{5}[\1-\xff]\0{3})"
    (entry,) = re.findall(pointer % re.escape(struct.pack("<L", length)), whole, re.DOTALL)
    shared = re.sub(
        pointer % re.escape(struct.pack("<L", 13)), lambda _: struct.pack("<L", length) + entry, whole, flags=re.DOTALL
    )
    with h5py.File(io.BytesIO(shared)) as file:
        assert len(file["risk"].attrs["39"]) == length
    refused(written(tmp_path / "bundle.zip", {**FILES, DATA: shared}), DATA, "claims 2,000,000 bytes of attributes")


def texts(path, number, length, place):
    """A file with many texts that all are one: its bytes stand there once, and every other place points at them."""
    with h5py.File(path, "w") as file:
        kind, one = h5py.string_dtype(), "x" * length
        if place == "attribute":
            file.create_dataset("risk", data=np.arange(3.0))
            file.attrs.create("title", [one] + ["y"] * (number - 1), dtype=kind)
        else:
            file.create_dataset("risk", data=[one] + ["y" * 13] * (number - 1), dtype=kind)
    whole = path.read_bytes()
    pointer = struct.pack("<L", length)
    first = whole.index(pointer + whole[whole.index(pointer) + 4 : whole.index(pointer) + 16])
    entry = whole[first : first + 16]
    return whole[:first] + entry * number + whole[first + 16 * number :]


@pytest.mark.parametrize(
    ("place", "told"), [("variable", "claims more bytes of 'risk'"), ("attribute", "entries of the attribute")]
)
def test_texts_that_all_point_at_one_large_text(tmp_path, place, told):
    content = texts(tmp_path / "texts.nc", 3000, 2**15, place)
    with h5py.File(io.BytesIO(content)) as file:
        found = file["risk"] if place == "variable" else file.attrs["title"]
        assert len(found[2999]) == 2**15
    refused(written(tmp_path / "bundle.zip", {**FILES, DATA: content}), DATA, told)


def test_a_piece_of_a_variable_that_is_larger_than_the_variable(tmp_path):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        made = file.create_dataset("risk", shape=(1,), maxshape=(None,), dtype="f8", chunks=(2**22,), compression="gzip")
        made[0] = 1.0
    refused(written(tmp_path / "bundle.zip", {**FILES, DATA: content.getvalue()}), DATA, "a larger piece of 'risk'")


def test_the_shipped_data_are_within_the_limits():
    from book.release.verify import require_sizes

    files = [*(ROOT / "book" / "data").rglob("*.nc"), *(ROOT / "book" / "data").rglob("*.safetensors")]
    for path in files:
        require_sizes(path.name, path.read_bytes())
    assert len(files) > 100
