"""Stored files answer for their content: whatever is changed in one afterwards is refused, in one sentence."""

import json
import os
import shutil
import struct

import h5py
import numpy as np
import pytest
import safetensors.torch
import torch
import xarray as xr

from icl_lib.companion import bounds, content, results, weights
from icl_lib.companion.checkpoints import Checkpoint
from papers import calibration, registry
from papers.__main__ import main

SLUG = "zhang-risk"
NAME = f"{SLUG}.full.nc"
REMEDY = f"restore it from git, or ./run renew {SLUG} makes it anew"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A store of its own with one stored result."""
    shutil.copy(results.STORE / NAME, tmp_path)
    monkeypatch.setattr(results, "STORE", tmp_path)
    monkeypatch.setattr(registry, "EXPERIMENTS", {SLUG: registry.EXPERIMENTS[SLUG]})
    return tmp_path / NAME


def rewritten(path, change):
    """Write a changed dataset in the place of a stored one, all attributes kept, the digest among them."""
    dataset = xr.load_dataset(path, engine="h5netcdf")
    change(dataset).drop_encoding().to_netcdf(path, engine="h5netcdf")


def a_value(path):
    with h5py.File(path, "r+") as file:
        file["risk"][0, 0, 0] *= 1 + 1e-15


def a_coordinate(path):
    with h5py.File(path, "r+") as file:
        file["N"][0] = 11


def a_text(path):
    with h5py.File(path, "r+") as file:
        file["labels"][0] = "Linear"


def an_attribute_of_a_variable(path):
    with h5py.File(path, "r+") as file:
        file["risk"].attrs["units"] = "2"


def where_it_comes_from(path):
    with h5py.File(path, "r+") as file:
        file.attrs["commit"] = "0123456789ab"


def another_attribute(path):
    with h5py.File(path, "r+") as file:
        file.attrs["checked"] = "yes"


def what_counts_as_missing(path):
    with h5py.File(path, "r+") as file:
        file["risk"].attrs["_FillValue"] = file["risk"][0, 0, 0]


def the_digest(path):
    """It becomes that of other numbers."""
    with h5py.File(path, "r+") as file:
        file.attrs[content.NAME] = content.of_dataset(results.load(results.STORE / NAME).isel(M=[0]))


def no_digest(path):
    with h5py.File(path, "r+") as file:
        del file.attrs[content.NAME]


def the_names_of_two(path):
    with h5py.File(path, "r+") as file:
        file.move("risk", "other")
        file.move("risk_se", "risk")
        file.move("other", "risk_se")


CHANGES = {
    "a variable renamed": lambda dataset: dataset.rename(risk="loss"),
    "a dimension renamed": lambda dataset: dataset.rename_dims(M="length"),
    "another type": lambda dataset: dataset.assign(risk_se=dataset.risk_se.astype("float32").astype("float64")),
    "a smaller type": lambda dataset: dataset.assign(N=dataset.N.astype("int32")),
    "the order of dimensions": lambda dataset: dataset.transpose("M", "labels", "N"),
    "the order of entries": lambda dataset: dataset.isel(N=[1, 0, 2]),
    "a variable less": lambda dataset: dataset.drop_vars("risk_se"),
    "a variable more": lambda dataset: dataset.assign(more=0.0),
}
TAMPERINGS = [a_value, a_coordinate, a_text, an_attribute_of_a_variable, where_it_comes_from, another_attribute]
TAMPERINGS += [what_counts_as_missing, the_digest, no_digest, the_names_of_two]


def require_refused(path, told):
    experiment = registry.EXPERIMENTS[SLUG]
    with pytest.raises(results.Damaged) as refused:
        results.stored(experiment)
    assert str(refused.value) == f"{NAME} {told}: {REMEDY}"


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_a_file_that_was_changed_is_refused(stored, tamper):
    results.stored(registry.EXPERIMENTS[SLUG])
    tamper(stored)
    require_refused(stored, "was changed after it was written")


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_was_written_anew_with_the_old_digest_is_refused(stored, change):
    rewritten(stored, lambda dataset: dataset)
    results.stored(registry.EXPERIMENTS[SLUG])  # the same content in other bytes
    rewritten(stored, CHANGES[change])
    require_refused(stored, "was changed after it was written")


def test_a_file_that_was_cut_short_is_refused(stored):
    stored.write_bytes(stored.read_bytes()[:-200])
    require_refused(stored, "is damaged")


def test_commands_refuse_it_in_one_sentence(stored, capsys):
    a_value(stored)
    assert main(["calibrate"]) == 2 and not (stored.parent / calibration.STORED.name).exists()
    said = capsys.readouterr().err
    assert said == f"error: {NAME} was changed after it was written: {REMEDY}\n"
    assert main(["renew", "--list"]) == 0
    assert f"{NAME} was changed after it was written: {REMEDY}\n1 outdated" in capsys.readouterr().out


# --- weights and checkpoints --------------------------------------------------------------------------------------


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A file of shipped weights, and the training it belongs to."""
    path = tmp_path / "one-block.safetensors"
    shutil.copy(weights.shipped_file("one-block", 0), path)
    monkeypatch.setattr(weights, "WEIGHTS", tmp_path)
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
    told = (
        "one-block.safetensors was changed after it was written: restore it from git, or ./run renew one-block trains it anew"
    )
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


# --- what is read at all ------------------------------------------------------------------------------------------


def test_a_netcdf_file_that_claims_more_than_it_has_is_refused(stored):
    with h5py.File(stored, "r+") as file:
        file.create_dataset("huge", (10**13,), "f8")
    require_refused(stored, "claims 80,000,000,000,000 bytes of 'huge', which it does not have")


def test_a_netcdf_file_that_unpacks_to_more_than_is_read_is_refused(stored, monkeypatch):
    with h5py.File(stored, "r+") as file:
        file.create_dataset("zeros", data=np.zeros(3 * bounds.MB), compression="gzip")
    monkeypatch.setattr(bounds, "LARGEST_UNPACKED", 20 * bounds.MB)
    require_refused(stored, "claims 24 MB once unpacked, most of it 'zeros', and 20 MB is the most that is read")
    os.truncate(stored, 300 * bounds.MB)
    require_refused(stored, "has 300 MB, and 256 MB is the most that is read")


def test_a_netcdf_file_that_reads_another_file_is_refused(stored, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(80))
    with h5py.File(stored, "r+") as file:
        file.create_dataset("outside", (10,), "f8", external=[(str(tmp_path / "secret"), 0, 80)])
    require_refused(stored, "takes 'outside' from another file")
    shutil.copy(stored, tmp_path / "other.nc")
    with h5py.File(stored, "r+") as file:
        del file["outside"]
        file["linked"] = h5py.ExternalLink("other.nc", "/risk")
    require_refused(stored, "holds 'linked', which is no variable of its own")


def test_safetensors_are_looked_at_before_they_are_read(tmp_path, monkeypatch):
    path = tmp_path / "net.safetensors"
    safetensors.torch.save_file({"W": torch.ones(4)}, path)
    bounds.require_safetensors(path)
    path.write_bytes(struct.pack("<Q", 2**40) + path.read_bytes()[8:])
    with pytest.raises(bounds.Refused, match="^claims a header of 1,099,511,627,776 bytes, and has"):
        bounds.require_safetensors(path)
    monkeypatch.setattr(bounds, "LARGEST_TENSORS", 10)
    with pytest.raises(bounds.Refused, match="is the most that is read"):
        bounds.require_safetensors(path)
