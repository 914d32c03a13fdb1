"""The calibration: which claims it takes, and what it counts."""

import argparse
import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from icl_lib.companion import Agreement
from papers import BOOK, calibration, registry


def formula(measured, error=0.1) -> Agreement:
    return Agreement(xr.DataArray(measured), xr.DataArray(np.ones(len(measured))), 1.0, error)


@pytest.mark.long
def test_sampled_formulas_are_taken_and_no_others():
    found = calibration.sampled()
    claims = {claim.id for chosen in found.values() for claim in chosen}
    assert {"Z10", "Z11b", "Z16a"} <= claims
    assert all(registry.CLAIMS[each].kind == "formula" for each in claims)


def test_a_row_counts_deviations_in_standard_errors():
    """Deviations 1, -2 and 0, 10 standard errors, or -10; q of two cells is 4.75."""
    below = calibration._row(registry.CLAIMS["Z10"], [formula([1.1, 0.8]), formula([1.0, 0.0])])
    assert (below["cells"], below["mean"], below["largest"], below["failed"]) == (2, -2.75, 10.0, 1)
    row = calibration._row(registry.CLAIMS["Z10"], [formula([1.1, 0.8]), formula([1.0, 2.0])])
    assert (row["cells"], row["mean"], row["largest"], row["failed"]) == (2, 2.25, 10.0, 1)
    assert row["rms"] == pytest.approx((105 / 4) ** 0.5, abs=1e-3) and row["quantile"] == pytest.approx(4.76, abs=0.02)


def test_deviations_are_held_against_student_s_t_with_the_blocks_that_there_are(tmp_path, monkeypatch):
    """With 3 blocks t = 2.3 has 92.6% below it, in the 19th of 20 bins; a normal has 98.9%, in the last."""
    claim = registry.CLAIMS["Z10"]
    few = Agreement(xr.DataArray([1.23]), xr.DataArray([1.0]), 1.0, xr.DataArray([0.1]), blocks=3)
    toy = dataclasses.replace(claim, check=lambda dataset: few)
    monkeypatch.setattr(calibration, "sampled", lambda: {claim.experiment: [toy]})
    monkeypatch.setattr(calibration.sweep_commands, "run", lambda options: 0)
    monkeypatch.setattr(calibration, "STORED", BOOK.build / "student-calibration.json")
    monkeypatch.setattr(calibration.results, "load", lambda path: None)
    monkeypatch.setattr(
        registry,
        "experiment",
        lambda slug: SimpleNamespace(expect=lambda measured: measured, origin=lambda *of: {"identity": "ab"}),
    )
    calibration.run(argparse.Namespace(seeds=(1,), jobs=1))
    found = json.loads(calibration.STORED.read_text())["histogram"]
    calibration.STORED.unlink()
    assert [place for place, count in enumerate(found) if count] == [18]


@pytest.mark.long
def test_it_is_written_for_the_page(tmp_path, monkeypatch, capsys):
    claim = registry.CLAIMS["Z10"]
    monkeypatch.setattr(calibration, "sampled", lambda: {claim.experiment: [claim]})
    monkeypatch.setattr(calibration.sweep_commands, "run", lambda options: 0)
    monkeypatch.setattr(calibration, "STORED", BOOK.build / "toy-calibration.json")
    dataset = registry.experiment(claim.experiment).run("quick", 0)
    read = []
    monkeypatch.setattr(calibration.results, "load", lambda path: read.append(path.name) or dataset.drop_vars("risk_theory"))
    assert calibration.run(argparse.Namespace(seeds=(0, 1), jobs=1)) == 0
    assert read == [f"{claim.experiment}.quick.nc", f"{claim.experiment}.quick.seed1.nc"], "as a sweep names them"
    found = json.loads(calibration.STORED.read_text())
    calibration.STORED.unlink()
    assert found["claims"][0]["identity"] == dataset.attrs["identity"]
    assert sum(found["histogram"]) == 2 * found["claims"][0]["cells"] == 2 * dataset.risk.size
    assert "1 formulas with 2 seeds: 0 of 2 verdicts fail" in capsys.readouterr().out
