"""A small bundle, and what opens and checks one."""

import io
from pathlib import Path

import h5py
import numpy as np
import pytest
import safetensors.numpy

from book.builder.problem import Problem
from book.citation.record import Edition, Record
from book.release import archive, manifest, verify
from book.release.opened import opened

ROOT = Path(__file__).resolve().parents[2]
DATA, WEIGHTS = "source/book/data/toy.full.nc", "source/book/data/weights/toy.safetensors"
RECORD = Record.of(ROOT, Edition("0123456789abcdef" * 2 + "01234567", 1_700_000_000))


def netcdf(**shapes):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for name, shape in shapes.items():
            made = file.create_dataset(name, shape=shape, dtype="f8", chunks=(8,) * len(shape), compression="gzip")
            made[:20] = np.arange(20.0)
    return content.getvalue()


FILES = {
    DATA: netcdf(risk=(20,)),
    WEIGHTS: safetensors.numpy.save({"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float32)}),
    "html/ledger.json": b"[]",
    "html/index.html": b"<p>A page.</p>\n" * 50,
    "source/book/data/quick.json": b"{}",
    "source/requirements.txt": b"# nothing\n",
    "source/run": b"#!/usr/bin/env python3\n",
}


def written(path, files):
    """A bundle of these files, its manifest right."""
    archive.write({**files, manifest.FILE: manifest.text(files, RECORD, {})}, RECORD.edition.seconds, path)
    return path


def check(path, digest=None):
    with opened(path) as found:
        return verify.check(found, digest)


def refused(path, *words, digest=None):
    with pytest.raises(Problem) as told:
        check(path, digest)
    for word in words:
        assert word in str(told.value)
    assert "\n" not in str(told.value)
