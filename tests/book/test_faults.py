"""The planted faults: the list, what can see a fault, and that a fault is caught where nothing is wrong otherwise."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from book.builder.layout import Layout
from book.builder.problem import Problem
from book.builder.recorded import calibration_page, faults_page
from book.faults import __main__ as command
from book.faults import catch, plant, trials
from book.faults.plant import Fault
from icl_lib.companion import writing
from papers import registry

ROOT = Path(__file__).resolve().parents[2]
WRONG_STEP = Fault(
    "sign", "papers/zhang/theory/one_step.py", "np.trace(Lambda) - 2 * step_size", "np.trace(Lambda) + 2 * step_size", "risk"
)


def test_the_list_is_long_and_every_fault_has_one_place():
    faults = plant.read(ROOT)
    assert len(faults) >= 60 and len({*map(str, faults)}) == len(faults)
    assert len({fault.kind for fault in faults}) >= 8 and all(fault.kind for fault in faults)
    assert {fault.file.split("/")[1] for fault in faults if fault.file.startswith("icl_lib")} >= {
        "measure",
        "models",
        "tasks",
        "train",
    }


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("icl_lib/seeds.py | stream", "line 1: write FILE"),
        ("icl_lib/seeds.py | seed | 0", "times; quote what is there once"),
        ("icl_lib/nothing.py | a | b", "has 'a' 0 times"),
        ("icl_lib/seeds.py | = | +", "lies in no function"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, says):
    (tmp_path / "book" / "faults").mkdir(parents=True)
    (tmp_path / "icl_lib").mkdir()
    (tmp_path / "icl_lib" / "seeds.py").write_text("seed = seed\n")
    (tmp_path / "book" / "faults" / plant.FILE).write_text(line)
    with pytest.raises(Problem, match=says):
        plant.read(tmp_path)


def noticed(fault, checks):
    program = f"""
from book.faults import catch
catch.work({str(ROOT)!r}, {fault.file!r}, {fault.function!r}, {fault.source(ROOT)!r}, {checks!r})"""
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.long
def test_a_fault_is_noticed_by_a_claim_that_calls_its_function_and_by_nothing_else():
    assert noticed(WRONG_STEP, [(0.1, catch.STORED, "zhang-one-step")]).startswith("a claim in full: Z1 fails")
    assert noticed(WRONG_STEP, [(0.1, catch.TEST, "tests/icl_lib/test_verdict.py")]) == ""


def test_what_is_known_of_a_change_is_not_tried_again_until_its_file_or_what_noticed_is_another(tmp_path, monkeypatch):
    for name in ("icl_lib/a.py", "tests/test_a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    ends, tasks = {"one": "a unit test: test_a.py::test", "other": ""}, []

    def run_all(asked, root, environment, imported, keep):
        for name in asked:
            tasks.append(name)
            keep(name, SimpleNamespace(lines=[ends[name]] if ends[name] else [], status=0))
        return {}

    def again():
        plant.code.cache_clear(), plant.digest.cache_clear(), tasks.clear()
        found = trials.tried({name: Fault("", "icl_lib/a.py", "1", "2", "f") for name in ends}, Layout(tmp_path), "them")
        assert found == ends
        return tasks

    monkeypatch.setattr(trials.workers, "run_all", run_all)
    monkeypatch.setattr(trials.traced, "reached", lambda layout: {})
    assert again() == ["one", "other"] and again() == []
    (tmp_path / "tests" / "test_b.py").write_text("2\n")
    assert again() == ["other"]
    (tmp_path / "tests" / "test_a.py").write_text("2\n")
    assert again() == ["one", "other"]


def test_survivors_are_named_and_counted(tmp_path, monkeypatch, capsys):
    one, other = Fault("sign", "a.py", "+", "-", "f"), Fault("divisor", "b.py", "/ 2", "/ 3", "g")
    said = {str(one): "a claim in full: Z1 fails", str(other): ""}
    monkeypatch.setattr(plant, "read", lambda root: [one, other])
    monkeypatch.setattr(trials, "tried", lambda changes, layout, name: said)
    monkeypatch.setattr(writing, "write_json", lambda path, value: (tmp_path / path.name).write_text(json.dumps(value)))
    assert command.main([]) == 1
    assert capsys.readouterr().out.splitlines() == ["survived: b.py: / 2 -> / 3", "2 planted, 1 survived."]
    page = faults_page(tmp_path / plant.STORED)
    assert "Z1 fails" in page and "Caught by nothing: 1." in page and "## Divisor" in page
    assert command.main(["a.py"]) == 0
    assert "not run here" in faults_page(tmp_path / "none.json")


def test_what_was_calibrated_before_its_code_changed_is_told(tmp_path):
    assert "not run here" in calibration_page(tmp_path / "none.json")
    row = dict(experiment="zhang-risk", cells=2, rms=1.01, mean=0.1, largest=3.0, quantile=4.7, failed=1)
    now = registry.experiment("zhang-risk").origin("quick", 0)["identity"]
    rows = [row | {"claim": name, "identity": each} for name, each in (("Z10", now), ("Z2", "old"))]
    content = {"commit": "abc", "seeds": 5, "histogram": [4, 6, 5, 5], "claims": rows}
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    assert "Measured before their code changed, and not again: Z2." in calibration_page(tmp_path / "calibration.json")


def test_functions_that_a_factory_has_made_are_changed_too(tmp_path, monkeypatch):
    path = tmp_path / "toy_factory.py"
    path.write_text(
        "def made():\n    def two():\n        return 2\n    return two\n\n\ndef other():\n    return 2\n\n\nheld = made()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    toy = importlib.import_module("toy_factory")
    catch.exchange(str(path), "made", path.read_text().replace("return 2", "return 3"))
    assert (toy.held(), toy.made()(), toy.other()) == (3, 3, 2)
