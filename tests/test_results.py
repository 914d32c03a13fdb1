"""Stored results: round trip, provenance, digests, staleness, atomic writing."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from icl_lib import registry, results
from icl_lib.experiments.experiment import Experiment


@dataclasses.dataclass(frozen=True)
class Toy:
    scale: float

    def run(self, seed: int, device: str) -> xr.Dataset:
        return xr.Dataset(
            {
                "x": results.variable("n", self.scale * np.arange(3.0), "a ramp"),
                "total": results.variable("", 3 * self.scale, "its sum"),
            },
            coords={"n": [1, 2, 4]},
        )


Toy.__module__ = "icl_lib.experiments.experiment"  # digests are of library modules
TOY = Experiment("zhang-toy", "A ramp", "zhang", "0", "toy", quick=Toy(1.0), full=Toy(2.0))


def test_round_trip(tmp_path):
    dataset = TOY.run("full", 3)
    results.save(dataset, tmp_path / "zhang-toy.full.nc")
    again = results.load(tmp_path / "zhang-toy.full.nc")
    assert again.identical(dataset)
    assert again.x.attrs == {"long_name": "a ramp", "units": "1"}
    assert json.loads(again.attrs["declaration"]) == {"class": "Toy", "scale": 2.0}
    assert set(again.attrs) >= {"slug", "profile", "seed", "code_digest", "versions", "device", "seconds", "commit"}


def test_csv_is_one_long_table(tmp_path):
    results.save_csv(TOY.run("quick", 0), tmp_path / "toy.csv")
    table = pd.read_csv(tmp_path / "toy.csv")
    assert list(table.columns) == ["variable", "n", "value"]
    assert table[table.variable == "x"].value.tolist() == [0.0, 1.0, 2.0]
    assert table[table.variable == "total"].value.tolist() == [3.0]


def test_stored_results_are_used_only_when_they_match(tmp_path):
    file = tmp_path / "zhang-toy.full.nc"
    with pytest.raises(results.StaleResult, match="missing"):
        results.stored(TOY, folder=tmp_path)
    results.save(TOY.run("full", 0), file)
    assert float(results.stored(TOY, folder=tmp_path).total) == 6.0
    with pytest.raises(results.StaleResult, match="seed is 0"):
        results.stored(TOY, seed=1, folder=tmp_path)
    changed = dataclasses.replace(TOY, full=Toy(5.0))
    with pytest.raises(results.StaleResult, match="declaration"):
        results.stored(changed, folder=tmp_path)
    results.save(results.load(file).assign_attrs(code_digest="0"), file)
    with pytest.raises(results.StaleResult, match="code_digest"):
        results.stored(TOY, folder=tmp_path)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(results.StaleResult, match="damaged"):
        results.stored(TOY, folder=tmp_path)


def test_a_failed_write_loses_nothing(tmp_path):
    file = tmp_path / "kept.txt"
    file.write_text("kept")

    def half_write(path: Path):
        path.write_text("half")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        results.write_atomically(file, half_write)
    assert file.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [file]


def test_obtain_publishes_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("ICL_RESULTS", str(tmp_path))
    results.obtain(TOY, "quick", 0)
    assert {f.name for f in tmp_path.iterdir()} == {"zhang-toy.quick.nc", "zhang-toy.quick.csv"}


def test_closure_follows_imports_and_stops_there():
    names = {f.relative_to(results.LIBRARY).as_posix() for f in results.code_closure("icl_lib.experiments.zhang.risk")}
    assert {"tasks/prompts.py", "models/linear_attention.py", "theory/zhang/error.py", "experiments/zhang/spectra.py"} <= names
    assert not any(name.startswith(("figures", "claims", "registry")) for name in names)


def test_imported_modules_reads_every_form():
    source = "import icl_lib.seeds\nfrom icl_lib import models\nfrom icl_lib.theory.zhang import error\nimport numpy"
    expected = {
        "icl_lib",
        "icl_lib.seeds",
        "icl_lib.models",
        "icl_lib.theory",
        "icl_lib.theory.zhang",
        "icl_lib.theory.zhang.error",
    }
    assert results.imported_modules(source) == expected


def test_digest_ignores_words_and_sees_code():
    source = 'def f(x):\n    """Twice x."""\n    return 2 * x\n'
    assert results._code_lines(source) == results._code_lines('def f(x):\n    """Double."""\n\n    # why\n    return 2 * x\n')
    assert results._code_lines(source) != results._code_lines(source.replace("2 * x", "3 * x"))


@pytest.mark.parametrize("slug", registry.EXPERIMENTS)
def test_committed_results_are_current_small_and_decided(slug):
    experiment = registry.EXPERIMENTS[slug]
    dataset = results.stored(experiment)
    assert (results.STORE / f"{slug}.full.nc").stat().st_size < 100_000
    for claim in registry.claims_of(slug):
        judgement = claim.judge(dataset)
        assert (judgement.verdict, judgement.control_verdict) == (claim.recorded, "fails"), judgement
