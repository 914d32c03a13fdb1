"""Stored results: round trip, provenance, staleness, theory beside them, atomic writing."""

import dataclasses
import json
import re
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from icl_lib.companion import FAILS, Agreement, Declaration, Experiment, expectation, results, weights, writing
from papers import BOOK, registry
from tests.elsewhere import move_book


@dataclasses.dataclass(frozen=True)
class Toy(Declaration):
    scale: float

    def run(self, seed: int, device: str) -> xr.Dataset:
        return xr.Dataset(
            {
                "x": results.variable("n", self.scale * np.arange(3.0), "a ramp"),
                "total": results.variable("", 3 * self.scale, "its sum"),
            },
            coords={"n": [1, 2, 4]},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        return dataset.assign(x_theory=results.variable("n", self.scale * np.arange(3.0) + SLIP, "a ramp by theory"))


COMMIT = re.compile("[0-9a-f]{12}")
"""The name of a commit; behind that of a checkout with changes stands a plus sign."""
SLIP = 0.0
"""What a fault in the theory adds."""
TOY = Experiment("zhang-toy", "A ramp", quick=Toy(1.0), full=Toy(2.0))


def test_round_trip(tmp_path):
    dataset = TOY.run("full", 3)
    results.save(dataset, tmp_path / "zhang-toy.full.nc")
    again = results.load(tmp_path / "zhang-toy.full.nc")
    assert again.identical(dataset)
    assert again.x.attrs == {"long_name": "a ramp", "units": "1"}
    assert json.loads(again.attrs["declaration"]) == {"class": "Toy", "scale": 2.0}
    assert set(again.attrs) >= {"slug", "profile", "seed", "code", "identity", "versions", "device", "seconds", "commit"}


@dataclasses.dataclass(frozen=True)
class Odd(Declaration):
    def run(self, seed: int, device: str) -> dict:
        return {"x": seed}


def test_what_is_no_seed_and_what_is_no_result_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="the seed is -1: take a whole number of at least 0"):
        TOY.run("quick", -1)
    with pytest.raises(ValueError, match=r"run of Odd gives a dict: return an xarray\.Dataset"):
        Experiment("zhang-odd", "No result", quick=Odd(), full=Odd()).measure("quick", 0)


@pytest.mark.parametrize(
    ("dataset", "told"),
    [
        (xr.Dataset({"m": 1.0, "h": ("n", [1.0, 2.0], {"_FillValue": 1.0})}), "does not give back h"),
        (xr.Dataset({"m": ((), 1.0, {"units": "days since 2000-01-01"})}), "does not give back m"),
        (xr.Dataset({"m": 1.0}, attrs={"reader": ["x", "y"]}), "has 2 entries of the attribute 'reader'"),
        (xr.Dataset({"m": 1.0}, attrs={"reader": {}}), "stored as numbers and strings only: "),
        (xr.Dataset({"m": 1.0}, attrs={"sound": True}), "stored as numbers and strings only: "),
    ],
)
def test_what_a_file_does_not_give_back_is_named(tmp_path, dataset, told):
    with pytest.raises(ValueError, match=told):
        results.save(dataset, tmp_path / "a.nc")
    assert not (tmp_path / "a.nc").exists()


def test_a_file_that_something_else_wrote_is_told_from_one_that_was_changed(tmp_path):
    xr.Dataset({"m": 1.0}).to_netcdf(tmp_path / "mine.nc", engine="h5netcdf")
    with pytest.raises(results.Damaged, match="holds no digest of what is in it, so that results.save did not write it"):
        results.load(str(tmp_path / "mine.nc"))


def test_csv_is_one_long_table(tmp_path):
    results.save_csv(TOY.run("quick", 0), tmp_path / "toy.csv")
    table = pd.read_csv(tmp_path / "toy.csv")
    assert list(table.columns) == ["variable", "n", "value"]
    assert table[table.variable == "x"].value.tolist() == [0.0, 1.0, 2.0]
    assert table[table.variable == "total"].value.tolist() == [3.0]


def test_stored_results_are_used_only_when_they_match(tmp_path, monkeypatch):
    move_book(monkeypatch)
    file = tmp_path / "zhang-toy.full.nc"
    with pytest.raises(results.StaleResult, match="missing"):
        results.stored(TOY, folder=tmp_path)
    sound = TOY.measure("full", 0)
    results.save(sound, file)
    assert float(results.stored(TOY, folder=tmp_path).total) == 6.0
    with pytest.raises(results.StaleResult, match="seed is 0"):
        results.stored(TOY, seed=1, folder=tmp_path)
    changed = dataclasses.replace(TOY, full=Toy(5.0))
    with pytest.raises(results.StaleResult, match="its declaration scale is 2.0, not 5.0; "):
        results.stored(changed, folder=tmp_path)
    other_torch = sound.attrs["versions"].replace('"torch": "2.', '"torch": "3.')
    forged = {"slug": "zhang-other", "profile": "quick", "device": "cuda", "code": "0", "identity": "0", "weights": "{0}"}
    for field, value in (forged | {"versions": other_torch}).items():
        results.save(sound.assign_attrs({field: value}), file)
        told = {"device": "identity", "versions": "versions torch"}.get(field, field)  # another device is no fault by itself
        with pytest.raises(results.StaleResult, match=f"^zhang-toy.full.nc is outdated: its {told} is .*renew zhang-toy makes"):
            results.stored(TOY, folder=tmp_path)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(results.StaleResult, match="damaged"):
        results.stored(TOY, folder=tmp_path)


def test_only_measurements_are_stored_and_a_changed_theory_reaches_them(tmp_path, monkeypatch):
    results.save(TOY.measure("full", 0), tmp_path / "zhang-toy.full.nc")
    assert "x_theory" not in results.load(tmp_path / "zhang-toy.full.nc")
    assert (TOY.expect(results.stored(TOY, folder=tmp_path)).x_theory == TOY.run("full", 0).x_theory).all()
    monkeypatch.setattr(sys.modules[__name__], "SLIP", 1.0)
    shifted = TOY.expect(results.stored(TOY, folder=tmp_path))
    assert (shifted.x_theory - shifted.x == 1.0).all() and shifted.attrs["slug"] == "zhang-toy"


@pytest.mark.parametrize("slug", registry.EXPERIMENTS)
def test_stored_files_hold_no_theory_and_come_from_a_commit(slug):
    with h5py.File(BOOK.result(slug)) as file:
        assert not [name for name in file if "theory" in name] and COMMIT.fullmatch(file.attrs["commit"])


def test_shipped_weights_come_from_a_commit():
    files = sorted((BOOK.store / "weights").glob("*.safetensors"))
    assert files and all(COMMIT.fullmatch(weights.attributes(file)["commit"]) for file in files)


def test_a_failed_write_loses_nothing(tmp_path):
    file = tmp_path / "kept.txt"
    file.write_text("kept")

    def half_write(path: Path):
        path.write_text("half")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        writing.write_atomically(file, half_write)
    assert file.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [file]


def test_obtain_publishes_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("ICL_RESULTS", str(tmp_path))
    results.obtain(TOY, "quick", 0)
    assert {f.name for f in tmp_path.iterdir()} == {"zhang-toy.quick.nc", "zhang-toy.quick.csv"}


SMALL = 450_000
"""Bytes of a stored result: the largest keeps the moments of every task, for paired errors."""
FAR = 12
"""Margins within which the nearest of the near misses of a sampled formula lies."""


@pytest.mark.parametrize("slug", registry.EXPERIMENTS)
def test_committed_results_are_current_small_and_decided(slug, stored):
    dataset = stored(slug)
    assert BOOK.result(slug).stat().st_size < SMALL
    assert all({"long_name", "units"} <= {*variable.attrs} for variable in dataset.data_vars.values())
    for claim in registry.claims_of(slug):
        judgement = claim.judge(dataset)
        assert (judgement.verdict, judgement.control_verdict) == (claim.recorded, "fails"), judgement
        assert (judgement.positive_verdict == "holds") == (claim.recorded not in ("holds", "undecided")), claim.id
        found = [claim.check(control(dataset.copy(deep=True))) for control in claim.controls.values()]
        assert np.isfinite([each.worst() for each in found]).all(), f"{claim.id}: NaN and infinity fail by themselves"
        if np.isfinite(judgement.resolution):
            assert claim.kind == "formula" and min(each.worst()[0] for each in found) < FAR * claim.margin, claim.id
            assert wrong_by(2 * judgement.resolution, claim.check(dataset)) == [FAILS, FAILS], claim.id


def wrong_by(share: float, found: Agreement) -> list[str]:
    """The verdicts where the theory is that much larger, and smaller."""
    return [dataclasses.replace(found, expected=found.expected * (1 + x)).verdict(np.inf) for x in (share, -share)]


@pytest.mark.parametrize("field", ["slug", "profile", "seed", "identity", "declaration", "versions"])
def test_a_stored_file_that_lacks_what_it_answers_for_is_outdated(tmp_path, field):
    sound = TOY.measure("full", 0)
    del sound.attrs[field]
    results.save(sound, tmp_path / "zhang-toy.full.nc")
    with pytest.raises((results.StaleResult, results.Damaged)):
        results.stored(TOY, folder=tmp_path)


def test_what_is_missing_is_a_difference():
    assert results.difference({}, {"identity": "0"}, Path("zhang-toy.full.nc"), BOOK) is not None
    assert results.difference({"identity": "0"}, {"identity": "0"}, Path("zhang-toy.full.nc"), BOOK) is None


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("zhang-toy.full.nc", "zhang-toy"),
        ("gpt2-fixed-10.safetensors", "gpt2-fixed-10"),
        ("gpt2-fixed-10.seed1.safetensors", "gpt2-fixed-10.seed1"),
    ],
)
def test_what_is_outdated_is_renewed_by_its_own_name(file, name):
    told = results.difference({"seed": "0"}, {"seed": "1"}, Path(file), BOOK)
    assert told == f"{file} is outdated: its seed is 0, not 1; ./run renew {name} makes it anew"


def test_a_full_result_of_another_seed_is_not_obtained(tmp_path, monkeypatch):
    results.save(TOY.measure("full", 0), tmp_path / "zhang-toy.full.nc")
    move_book(monkeypatch, store=tmp_path)
    assert results.obtain(TOY, "full", 0).attrs["seed"] == "0"
    with pytest.raises((results.StaleResult, ValueError), match="of seed 0"):
        results.obtain(TOY, "full", 1)
