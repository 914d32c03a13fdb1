"""The planted faults: the list, what can see a fault, and that a fault is caught where nothing is wrong otherwise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from book.build.problem import Problem
from book.build.recorded import calibration_page, faults_page
from book.faults import __main__ as command
from book.faults import catch, plant, reach
from book.faults.plant import Fault

ROOT = Path(__file__).resolve().parents[2]
WRONG_STEP = Fault(
    "sign", "papers/zhang/theory/one_step.py", "np.trace(Lambda) - 2 * step_size", "np.trace(Lambda) + 2 * step_size"
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
    ],
)
def test_a_bad_line_is_named(tmp_path, line, says):
    (tmp_path / "book" / "faults").mkdir(parents=True)
    (tmp_path / "icl_lib").mkdir()
    (tmp_path / "icl_lib" / "seeds.py").write_text("seed = seed\n")
    (tmp_path / "book" / "faults" / plant.FILE).write_text(line)
    with pytest.raises(Problem, match=says):
        plant.read(tmp_path)


def test_a_plan_has_the_nearest_tests_first_and_no_test_of_storing():
    found = reach.plan(WRONG_STEP, ROOT)
    assert WRONG_STEP.module == "papers.zhang.theory.one_step" and WRONG_STEP.definition(ROOT) == "risk"
    assert found.stored[0] == "zhang-one-step" and "zhang-one-step" in found.quick
    assert "one_step" in (ROOT / found.tests[0]).read_text(encoding="utf-8")
    every = reach.plan(Fault("", "icl_lib/tasks/prompts.py", "x, y, x_query, y_query = prompts", "0"), ROOT)
    assert every.stored == () and len(every.quick) > 50
    assert not {"tests/icl_lib/test_identity.py", "tests/icl_lib/test_results.py", "tests/book/test_faults.py"} & {*every.tests}


def test_stored_results_catch_a_fault(tmp_path):
    plant.copy(WRONG_STEP, ROOT, tmp_path)
    program = f"from book.faults import catch; catch.work({str(tmp_path)!r}, ('zhang-one-step',), (), ())"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip().startswith("a claim in full: Z1 fails")


def test_nothing_is_caught_where_nothing_is_wrong():
    assert list(catch._catches(("zhang-one-step",), (), ())) == []


def test_survivors_are_named_and_counted(tmp_path, monkeypatch, capsys):
    one, other = Fault("sign", "a.py", "+", "-"), Fault("divisor", "b.py", "/ 2", "/ 3")
    said = {
        str(one): {"stored results": "a claim in full: Z1 fails"},
        str(other): {"stored results": "", "tests and quick results": ""},
    }
    monkeypatch.setattr(plant, "read", lambda root: [one, other])
    monkeypatch.setattr(command, "_try", lambda faults, stage, layout, tried, note: tried.update(said))
    monkeypatch.setattr(plant, "keep", lambda content, path: (tmp_path / path.name).write_text(json.dumps(content)))
    monkeypatch.setattr(plant, "digest", lambda files: "none")
    assert command.main([]) == 1
    assert capsys.readouterr().out.splitlines() == ["survived: b.py: / 2 -> / 3", "2 planted, 1 survived."]
    page = faults_page(tmp_path / plant.STORED)
    assert "Z1 fails" in page and "Caught by nothing: 1." in page and "## Divisor" in page
    assert command.main(["a.py"]) == 0
    assert "not run here" in faults_page(tmp_path / "none.json")


def test_the_calibration_says_how_even_the_deviations_are(tmp_path):
    row = {
        "claim": "Z1",
        "experiment": "toy",
        "cells": 2,
        "rms": 1.01,
        "mean": 0.1,
        "largest": 3.0,
        "quantile": 4.7,
        "failed": 1,
    }
    content = {"commit": "abc", "seeds": 5, "histogram": [4, 6, 5, 5], "claims": [row]}
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    page = calibration_page(tmp_path / "calibration.json")
    assert "1 of 5 verdicts fail" in page and "| Z1 | toy | 2 | 1.01 |" in page
    assert "between 0.80 and 1.20" in page and page.count("<rect") == 4
    assert "not run here" in calibration_page(tmp_path / "none.json")
