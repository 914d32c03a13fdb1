"""Files on a disk that is full, and what processes that were killed have left beside them."""

import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import checkpoints, results, weights, writing
from papers import BOOK

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and limits of POSIX")
KILLED = """
import os, signal, sys
from pathlib import Path
from icl_lib.companion import writing

def begin(file):
    file.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

writing.write_atomically(Path(sys.argv[1]), begin)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_goes_with_the_next_writing_and_what_a_living_one_writes_stays(tmp_path):
    path = tmp_path / "a[1].full.nc"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=BOOK.root)
    assert killed.returncode < 0 and len(names(tmp_path)) == 1
    other = tmp_path / ".a[2].full-abcdefgh.nc"
    other.touch()

    def write(mine):
        writing.write_atomically(path, lambda file: file.write_text("other"))  # a second one, meanwhile
        assert mine.exists()
        mine.write_text("mine")

    writing.write_atomically(path, write)
    assert names(tmp_path) == sorted([other.name, path.name]) and path.read_text() == "mine"


def test_what_json_has_not_is_not_written(tmp_path):
    writing.write_json(tmp_path / "a.json", {"loss": 1.0})
    with pytest.raises(ValueError, match="not JSON compliant"):
        writing.write_json(tmp_path / "a.json", {"loss": np.nan})
    assert writing.read_json(tmp_path / "a.json", dict) == {"loss": 1.0}
    (tmp_path / "a.json").write_text("[" * 100_000)
    assert writing.read_json(tmp_path / "a.json", list) is None


def test_parameters_whose_names_have_a_slash_are_told_apart(tmp_path):
    checkpoint = checkpoints.Checkpoint(tmp_path / "run.safetensors", every=5)
    checkpoint.save({"a": {"b/c": torch.ones(2)}, "a/b": {"c": torch.zeros(2)}})
    state = checkpoint.load()
    assert state["a"]["b/c"].tolist() == [1, 1] and state["a/b"]["c"].tolist() == [0, 0]
    with pytest.raises(ValueError, match="every 0 steps: save it every 1 or more"):
        checkpoints.Checkpoint(tmp_path / "run.safetensors", every=0)


def test_a_finished_training_leaves_no_part_of_a_checkpoint(tmp_path):
    checkpoint = checkpoints.Checkpoint(tmp_path / "run.safetensors", every=5)
    checkpoint.save({"step": 5, "W": torch.ones(2)})
    tempfile.mkstemp(dir=tmp_path, prefix=".run-", suffix=".safetensors")
    checkpoint.remove()
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["result", "table", "weights", "checkpoint"])
def test_on_a_full_disk_what_was_there_stays_and_nothing_else(tmp_path, kind):
    import resource

    path = tmp_path / "a.nc"

    def write(n):
        dataset, tensors = xr.Dataset({"x": ("n", np.arange(float(n)) ** 0.5)}), {"W": torch.ones(n)}
        {
            "result": lambda: results.save(dataset, path),
            "table": lambda: results.save_csv(dataset, path),
            "weights": lambda: weights.save_weights(tensors, {"slug": "a"}, path),
            "checkpoint": lambda: checkpoints.Checkpoint(path, every=5).save({"W": tensors["W"]}),
        }[kind]()

    write(3)
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(50_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before and names(tmp_path) == ["a.nc"]
