"""Renewal: what is outdated is computed again, in order, compared with what was there, and goes on where it was stopped."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import Declaration, Experiment, Positive, results, weights
from papers import registry, renewal
from papers.__main__ import main
from papers.renewal import compared
from tests.elsewhere import move_book


@dataclass(frozen=True)
class Network(Declaration):
    name: str
    rate: Positive

    def train(self, seed: int, device: str) -> dict[str, torch.Tensor]:
        return {"W": self.rate * torch.ones(3)}


@dataclass(frozen=True)
class Ramp(Declaration):
    network: Network
    scale: float

    def run(self, seed: int, device: str) -> xr.Dataset:
        if self.scale < 0:
            raise ZeroDivisionError("a ramp that goes down")
        W = weights.obtain_weights(self.network.name, self.network, seed, device, lambda: self.network.train(seed, device))
        return xr.Dataset({"x": results.variable("n", self.scale * float(W["W"][0]) * np.arange(3.0), "a ramp")})


NETWORK = Network("toy-net", 2.0)
RAMP = Experiment("toy-ramp", "A ramp", quick=Ramp(NETWORK, 1.0), full=Ramp(NETWORK, 1.0))
STEEP = replace(RAMP, slug="toy-steep", full=Ramp(NETWORK, 3.0))


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of its own, with a registry of toys and threads in the place of processes."""

    @contextmanager
    def threads(jobs: int):
        with ThreadPoolExecutor(1) as pool:
            yield pool

    move_book(monkeypatch, store=tmp_path, build=tmp_path / "build")
    monkeypatch.setattr(results, "commit", lambda of: "0123456789ab")
    monkeypatch.setattr(renewal, "local_pool", threads)
    monkeypatch.setattr(registry, "TRAININGS", {"toy-net": NETWORK})
    monkeypatch.setattr(registry, "EXPERIMENTS", {"toy-steep": STEEP, "toy-ramp": RAMP})
    return tmp_path


def lines(text: str) -> list[str]:
    return [line.split(":")[0].strip() for line in text.splitlines() if line.startswith("  ")]


def test_networks_come_first_and_nothing_is_done_twice(store, capsys):
    assert main(["renew"]) == 0
    assert lines(capsys.readouterr().out) == ["toy-net", "toy-steep", "toy-ramp"]
    for name, seconds in (("toy-steep", "30"), ("toy-ramp", "2")):
        path = store / f"{name}.full.nc"
        results.save(results.load(path).assign_attrs(seconds=seconds), path)
    assert main(["renew"]) == 0
    assert lines(capsys.readouterr().out) == []
    assert main(["renew", "--all"]) == 0
    said = capsys.readouterr().out
    assert lines(said) == ["toy-net", "toy-ramp", "toy-steep"]
    assert said.count("equal to the bit; verdicts as recorded") == 2 and "0 minutes with 2 at a time" in said


def test_a_renewal_of_everything_goes_on_where_it_was_stopped(store, monkeypatch, capsys):
    main(["renew"])
    sound = registry.EXPERIMENTS
    monkeypatch.setattr(registry, "EXPERIMENTS", sound | {"toy-steep": replace(STEEP, full=Ramp(NETWORK, -1.0))})
    assert main(["renew", "--all"]) == 1
    assert {*lines(capsys.readouterr().out)[-3:]} == {"toy-net", "toy-steep", "toy-ramp"}
    monkeypatch.setattr(registry, "EXPERIMENTS", sound)
    assert main(["renew", "--all", "toy-steep"]) == 0  # other names, another renewal
    assert lines(capsys.readouterr().out) == ["toy-steep"]
    results.save(results.load(store / "toy-ramp.full.nc").assign_attrs(seconds="2"), store / "toy-ramp.full.nc")
    assert main(["renew", "--all"]) == 0
    said = capsys.readouterr().out
    assert lines(said) == ["toy-steep", "toy-ramp"]  # the second is not the file that was noted
    assert "0 of 1 networks to compute (1 done before it was stopped)" in said
    assert main(["renew", "--all"]) == 0  # that one was through: this is a new one
    assert len(lines(capsys.readouterr().out)) == 3 and not list((store / "build" / "renewed").iterdir())


@pytest.mark.parametrize(
    ("verdict", "recorded", "control", "told"),
    [
        ("holds", "holds", "fails", "verdicts as recorded"),
        ("undecided", "holds", "fails", "VERDICTS: Z0 undecided, recorded: holds"),
        ("holds", "fails", "fails", "VERDICTS: Z0 holds, recorded: fails"),
        ("fails", "fails", "undecided", "VERDICTS: Z0's control undecided"),
    ],
)
def test_other_verdicts_and_controls_are_told(store, monkeypatch, capsys, verdict, recorded, control, told):
    claim = SimpleNamespace(id="Z0", recorded=recorded)
    claim.judge = lambda dataset: SimpleNamespace(claim=claim, verdict=verdict, control_verdict=control)
    monkeypatch.setattr(registry, "claims_of", lambda slug: [claim] if slug == "toy-ramp" else [])
    assert main(["renew", "toy-ramp"]) == 0
    assert f"toy-ramp: 0 s, new; {told} (1 of 1" in capsys.readouterr().out


def test_the_estimate_is_for_so_many_at_a_time(store, capsys):
    main(["renew"])
    for name in ("toy-ramp", "toy-steep"):
        results.save(results.load(store / f"{name}.full.nc").assign_attrs(seconds="900"), store / f"{name}.full.nc")
    capsys.readouterr()
    assert main(["renew", "--all", "--jobs", "3"]) == 0
    assert "2 of 2 results to compute, about 10 minutes with 3 at a time" in capsys.readouterr().out


def test_a_change_is_a_share_of_the_largest_entry():
    """A billionth of 1, beside entries of a thousandth and of 0."""
    x = np.array([1.0, 1e-3, 0.0])
    assert compared({"x": x}, {"x": x + 0.9e-9}).startswith("within rounding")
    assert compared({"x": x}, {"x": x + np.array([0, 0, 1.1e-9])}) == "CHANGED: x by 1.1e-09"


def test_other_weights_outdate_what_reads_them(store, monkeypatch, capsys):
    main(["renew"])
    monkeypatch.setitem(registry.TRAININGS, "toy-net", replace(NETWORK, rate=4.0))
    other = replace(RAMP, full=Ramp(replace(NETWORK, rate=4.0), 1.0))
    monkeypatch.setitem(registry.EXPERIMENTS, "toy-ramp", other)
    capsys.readouterr()
    assert main(["renew", "--list"]) == 0
    said = capsys.readouterr().out
    assert "toy-net.safetensors is outdated: its declaration" in said and "toy-ramp.full.nc is outdated" in said
    assert "toy-steep" not in said and "2 outdated" in said
    assert main(["renew", "toy-net", "toy-ramp"]) == 0
    assert "CHANGED: W by 5.0e-01" in (said := capsys.readouterr().out) and "CHANGED: x by 5.0e-01" in said
    assert main(["renew", "--list"]) == 0
    assert "toy-steep.full.nc is outdated: its weights" in capsys.readouterr().out


def test_what_fails_keeps_its_file_and_the_rest_is_done(store, monkeypatch, capsys):
    main(["renew"])
    before = (store / "toy-steep.full.nc").read_bytes()
    monkeypatch.setitem(registry.EXPERIMENTS, "toy-steep", replace(STEEP, full=Ramp(NETWORK, -1.0)))
    (store / "toy-ramp.full.nc").unlink()
    capsys.readouterr()
    assert main(["renew"]) == 1
    said = capsys.readouterr()
    assert "toy-steep (ZeroDivisionError: a ramp that goes down)" in said.err and "toy-ramp: 0 s, new" in said.out
    assert (store / "toy-steep.full.nc").read_bytes() == before and (store / "toy-ramp.full.nc").exists()


def test_a_command_says_how_long_it_may_take(store, capsys):
    main(["renew"])
    path = store / "toy-ramp.full.nc"
    for seconds, told in (("90", "About 90 s"), ("300", "About 5 minutes"), ("3", "")):
        results.save(results.load(path).assign_attrs(seconds=seconds), path)
        capsys.readouterr()
        assert main(["compute", "toy-ramp", "--profile", "full"]) == 0
        said = capsys.readouterr().err
        assert said.startswith(told) if told else not said
    results.save(results.load(path).assign_attrs(seconds="90"), path)
    assert main(["compute", "toy-ramp"]) == 0 and not capsys.readouterr().err  # another scale


def test_bad_input_is_told_in_one_sentence(store, monkeypatch, capsys):
    assert main(["renew", "toy-nothing"]) == 2
    assert "unknown result or shipped network 'toy-nothing'" in capsys.readouterr().err
    monkeypatch.setattr(results, "commit", lambda of: "0123456789ab+")
    assert main(["renew"]) == 2
    assert "differ from the last commit" in capsys.readouterr().err
    assert not list(store.iterdir())


def test_old_and_new_are_compared():
    x = np.array([1.0, 2.0, np.nan])
    assert compared({"x": x}, {"x": x.copy()}) == "equal to the bit"
    assert compared({"x": x, "theory": x}, {"x": x * (1 + 1e-15)}).startswith("within rounding")
    assert compared({"x": x, "theory": x}, {"x": x * 1.5}) == "CHANGED: x by 3.3e-01; no longer stored: theory"
    assert compared({"x": x.astype("f4")}, {"x": x.astype("f4") * np.float32(1 + 1e-6)}).startswith("within rounding")
    assert compared({"x": x}, {"x": np.array([1.0, np.nan, 2.0])}) == "CHANGED: x by inf"
    assert compared({"x": x}, {"x": x[:2]}) == "CHANGED: x by inf"
    assert compared({"n": np.array(["a", "b"])}, {"n": np.array(["a", "c"])}) == "CHANGED: n by inf"
    assert compared({"x": 1e-16 * x}, {"x": -3e-16 * x}).startswith("within rounding")
    assert compared({}, {"x": x}) == "new"


@pytest.mark.parametrize(("kind", "rounding", "change"), [("f8", 5e-10, 2e-9), ("f4", 5e-6, 2e-5)])
def test_what_counts_as_rounding_is_small_for_the_numbers_that_are_stored(kind, rounding, change):
    """A change of 1e-3 is one, of 1e-5 too in float64, and a little beyond rounding as well."""
    x = np.array([1.0, 0.5], kind)
    assert compared({"x": x}, {"x": x * np.asarray(1 + rounding, kind)}).startswith("within rounding")
    for far in (change, 1e-3):
        assert compared({"x": x}, {"x": x * np.asarray(1 + far, kind)}).startswith("CHANGED")
