"""Stored weights and checkpoints answer for their content, and are what they say."""

import json
import shutil
import struct

import numpy as np
import pytest
import torch

from icl_lib.companion import Checkpoint, content, results, weights
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


@pytest.mark.parametrize(
    ("tamper", "why"),
    [
        (another_number, r" \(it was changed after it was written\)"),
        (without_digest, r" \(it was changed after it was written\)"),
        (lambda path: path.write_bytes(b"\x80\x05pickled"), ""),
    ],
)
def test_a_checkpoint_that_was_changed_starts_anew(tmp_path, tamper, why):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=4)
    checkpoint.save(STATE)
    tamper(checkpoint.path)
    with pytest.warns(UserWarning, match=f"run.safetensors is damaged{why}: the run starts anew"):
        assert checkpoint.load() is None


@pytest.mark.parametrize(
    "tamper",
    [
        lambda whole: struct.pack("<Q", 2**40) + whole[8:],
        lambda whole: whole.replace(b'data_offsets":[0,', b'data_offsets":[4,'),
        lambda whole: whole[:-1],
        lambda whole: whole[:5000],
        lambda whole: whole[:50],
        lambda whole: whole[:3],
        lambda whole: whole + b"\0",
        lambda whole: b"\x80\x05pickled",
    ],
)
def test_a_file_that_does_not_hold_what_its_header_says_is_damaged(shipped, tamper):
    path, training = shipped
    whole = path.read_bytes()
    path.write_bytes(tamper(whole))
    assert path.read_bytes() != whole
    with pytest.raises(
        results.Damaged, match="^one-block.safetensors is damaged: restore it from git, or ./run renew one-block"
    ):
        weights.load_weights(path, training, 0)
