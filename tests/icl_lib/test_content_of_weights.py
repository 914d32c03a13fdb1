"""Stored weights and checkpoints answer for their content, and are looked at before they are read."""

import io
import json
import shutil
import struct

import numpy as np
import pytest
import safetensors.torch
import torch

from icl_lib.companion import Checkpoint, bounds, content, results, weights
from papers import BOOK, registry
from papers.__main__ import main
from tests.elsewhere import move_book


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A file of shipped weights, and the training it belongs to."""
    path = tmp_path / "weights" / "one-block.safetensors"
    path.parent.mkdir()
    shutil.copy(BOOK.weights("one-block"), path)
    move_book(monkeypatch, store=tmp_path)
    return path, registry.TRAININGS["one-block"]


def with_header(path, change):
    """Write a safetensors file with a changed header, the tensors kept."""
    written = path.read_bytes()
    end = 8 + struct.unpack("<Q", written[:8])[0]
    header = json.loads(written[8:end])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + written[end:])


def another_number(path):
    written = bytearray(path.read_bytes())
    written[-1] ^= 1
    path.write_bytes(written)


def another_seed(path):
    with_header(path, lambda header: header["__metadata__"].update(seed="1"))


def another_name(path):
    with_header(path, lambda header: header.update(more=header.pop(next(name for name in header if name != "__metadata__"))))


def another_shape(path):
    def flatten(header):
        entry = next(entry for name, entry in header.items() if name != "__metadata__" and len(entry["shape"]) > 1)
        entry["shape"] = [int(np.prod(entry["shape"]))]

    with_header(path, flatten)


def without_digest(path):
    with_header(path, lambda header: header["__metadata__"].pop(content.NAME))


@pytest.mark.parametrize("tamper", [another_number, another_seed, another_name, another_shape, without_digest])
def test_weights_that_were_changed_are_refused(shipped, tamper, capsys):
    path, training = shipped
    assert weights.load_weights(path, training, 0) is not None
    with_header(path, lambda header: None)
    assert weights.load_weights(path, training, 0) is not None  # the same content with another header
    tamper(path)
    told = "one-block.safetensors was changed after it was written: restore it from git, or ./run renew one-block makes it anew"
    assert weights.outdated(path, training, 0) == told
    with pytest.raises(results.Damaged, match=told):
        weights.load_weights(path, training, 0)
    slug = next(slug for slug, each in registry.EXPERIMENTS.items() if "one-block" in registry.trainings_of(each.quick))
    assert main(["compute", slug]) == 2
    assert capsys.readouterr().err == f"error: {told}\n"


@pytest.mark.parametrize(
    ("cut", "told"), [(50, "claims a header of"), (5000, "claims .* bytes of tensors, and has"), (3, "claims")]
)
def test_weights_that_were_cut_short_are_refused(shipped, cut, told):
    path, training = shipped
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(results.Damaged, match=f"^one-block.safetensors {told}"):
        weights.load_weights(path, training, 0)


STATE = {
    "step": 3,
    "parameters": {"a/b": torch.arange(6.0).reshape(2, 3).T, "c": torch.tensor(1e-320, dtype=torch.float64)},
    "state": {"first": {"a/b": torch.full((2,), torch.nan)}, "nothing": {}},
    "losses": None,
}


def test_a_checkpoint_gives_back_what_it_was_given_to_the_bit(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=4)
    checkpoint.save(STATE)
    found = checkpoint.load()
    assert (found["step"], found["losses"], found["state"]["nothing"]) == (3, None, {})
    for kind in ("parameters", "state"):
        assert found[kind].keys() == STATE[kind].keys()
    for name, tensor in STATE["parameters"].items():
        again = found["parameters"][name]
        assert torch.equal(again, tensor) and (again.dtype, again.stride()) == (tensor.dtype, tensor.stride())
    with pytest.raises(TypeError, match="/step of a training run is a str"):
        checkpoint.save({"step": "three"})


@pytest.mark.parametrize("tamper", [another_number, without_digest, lambda path: path.write_bytes(b"\x80\x05pickled")])
def test_a_checkpoint_that_was_changed_starts_anew(tmp_path, tamper):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=4)
    checkpoint.save(STATE)
    tamper(checkpoint.path)
    with pytest.warns(UserWarning, match="run.safetensors is damaged .*: the run starts anew"):
        assert checkpoint.load() is None


def test_safetensors_are_looked_at_before_they_are_read(tmp_path, monkeypatch):
    path = tmp_path / "net.safetensors"
    safetensors.torch.save_file({"W": torch.ones(4)}, path)
    sound = path.read_bytes()

    def looked_at(content: bytes):
        bounds.require_safetensors(io.BytesIO(content), len(content))

    looked_at(sound)
    with pytest.raises(bounds.BadFile, match="^claims a header of 1,099,511,627,776 bytes, and has"):
        looked_at(struct.pack("<Q", 2**40) + sound[8:])
    with pytest.raises(bounds.BadFile, match="^claims other bytes of 'W'"):
        looked_at(sound.replace(b"[0,16]", b"[8,16]"))
    with pytest.raises(bounds.BadFile, match="^claims 16 bytes of tensors, and has 15"):
        looked_at(sound[:-1])
    with pytest.raises(bounds.BadFile, match="^claims other bytes of 'W'"):
        looked_at(sound.replace(b"[4]", b"[5]"))
    monkeypatch.setattr(bounds, "LARGEST_TENSORS", 10)
    with pytest.raises(bounds.BadFile, match="is the most that is read"):
        looked_at(sound)
