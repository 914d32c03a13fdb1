"""Stored files answer for their content: whatever is changed in one afterwards is refused, in one sentence."""

import os
import shutil

import h5py
import numpy as np
import pytest
import xarray as xr

from icl_lib.companion import bounds, content, results
from papers import BOOK, calibration, registry
from papers.__main__ import main
from tests.elsewhere import move_book

SLUG = "zhang-risk"
NAME = f"{SLUG}.full.nc"
REMEDY = f"restore it from git, or ./run renew {SLUG} makes it anew"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A store of its own with one stored result."""
    shutil.copy(BOOK.store / NAME, tmp_path)
    (tmp_path / "weights").symlink_to(BOOK.store / "weights")
    move_book(monkeypatch, store=tmp_path)
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
        file.attrs[content.NAME] = content.of_dataset(results.load(BOOK.store / NAME).isel(M=[0]))


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
    "the order of dimensions": lambda dataset: dataset.transpose("M", "labels", "N", ...),
    "the order of entries": lambda dataset: dataset.isel(N=[1, 0, 2]),
    "a variable less": lambda dataset: dataset.drop_vars("risk_se"),
    "a variable more": lambda dataset: dataset.assign(more=0.0),
}
TAMPERINGS = [a_value, a_coordinate, a_text, an_attribute_of_a_variable, where_it_comes_from, another_attribute]
TAMPERINGS += [what_counts_as_missing, the_digest, the_names_of_two]


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


def test_a_file_without_its_digest_is_refused(stored):
    with h5py.File(stored, "r+") as file:
        del file.attrs[content.NAME]
    require_refused(stored, "holds no digest of what is in it, so that results.save did not write it")


def test_a_bit_that_turned_in_packed_numbers_is_told(tmp_path):
    path = tmp_path / "toy.nc"
    results.save(xr.Dataset({"x": ("n", np.arange(2000.0))}), path)
    whole = path.read_bytes()
    with h5py.File(path) as file:
        packed = file["x"].id.get_chunk_info(0)
    for place in range(packed.byte_offset, packed.byte_offset + packed.size, packed.size // 20):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(results.Damaged, match="^toy.nc .*: restore it from git, or computing it makes it anew$"):
            results.load(path)


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
    require_refused(stored, "has 314,572,800 bytes, and 268,435,456 is the most that is read")


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
