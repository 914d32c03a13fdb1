"""Data files of a bundle that claim more than they have: refused before anything reads them."""

import io
import json
import struct

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
        (WEIGHTS, struct.pack("<Q", 2**60) + b"{}", "claims"),
        (WEIGHTS, b"abc", "claims"),
        (WEIGHTS, safetensors_of({"a": FOUR | {"shape": [2**40], "data_offsets": [0, 2**42]}}, bytes(4)), "claims"),
        (WEIGHTS, safetensors_of({"a": FOUR | {"shape": [2]}}, bytes(4)), "claims"),
        (WEIGHTS, safetensors_of({"a": FOUR}, bytes(8)), "claims"),
        (WEIGHTS, safetensors_of({"a": FOUR, "b": FOUR}, bytes(4)), "claims"),
        (WEIGHTS, safetensors_of({"a": FOUR | {"dtype": "O"}}, bytes(4)), "is not what its name says"),
        (WEIGHTS, safetensors_of({"a": 3}, bytes(4)), "is not what its name says"),
    ],
)
def test_data_that_claim_more_than_they_have(tmp_path, name, content, told):
    refused(written(tmp_path / "bundle.zip", {**FILES, name: content}), name, told)


def test_data_that_lie_elsewhere(tmp_path):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file["risk"] = h5py.ExternalLink("/etc/passwd", "/")
    refused(written(tmp_path / "bundle.zip", {**FILES, DATA: content.getvalue()}), DATA, "no variable of its own")


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
    from book.release.sizes import require_sizes

    files = [*(ROOT / "book" / "data").rglob("*.nc"), *(ROOT / "book" / "data").rglob("*.safetensors")]
    for path in files:
        require_sizes(path.name, path.read_bytes())
    assert len(files) > 100
