"""Faults by rule: what the rules make, that a mutant is tried in place, and what is told of it."""

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from book.builder.problem import Problem
from book.builder.recorded import faults_page
from book.faults import catch, everywhere, mutants, traced, trials
from book.faults.mutants import Mutant
from papers.zhang.theory import optimum

ROOT = Path(__file__).resolve().parents[2]


def made(source: str) -> set[tuple[str, str, str]]:
    (function,) = ast.parse(source).body
    return {(rule, ast.unparse(right), ast.unparse(wrong)) for rule, right, wrong in mutants.changes(function)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x + 5", {("constant", "5", "6"), ("constant", "5", "4"), ("constant", "5", "10")}),
        ("return x - y", {("a term dropped", "x - y", "x"), ("a term dropped", "x - y", "y"), ("sign", "x - y", "x + y")}),
        ("return x * y", {("a factor dropped", "x * y", "x"), ("a factor dropped", "x * y", "y")}),
        ("return -x", {("sign", "-x", "x")}),
        ("return d / N", {("d and N exchanged", "d", "N"), ("d and N exchanged", "N", "d")}),
        ("return x < y", {("< and <=", "x < y", "x <= y")}),
        ("return x and y", {("condition", "x and y", "x or y")}),
        ("return x.min()", {("min and max", "x.min", "x.max")}),
        ("return f(x, y)", {("two variables exchanged", "f(x, y)", "f(y, x)")}),
        ("return [data.low, data.high]", {("two variables exchanged", "data.low", "data.high")}),
    ],
)
def test_a_rule_makes_the_change_that_it_is_named_after(body, expected):
    assert expected <= made(f"def of(x, y, d, N, data):\n    {body}")


def test_words_are_not_changed():
    assert made('def of(x):\n    """Return 2."""\n    if x:\n        raise ValueError(f"{x + 1}")') == set()
    assert made("def of(axes):\n    axes.plot([], linewidth=2)") == set()
    assert made("def of(f):\n    for _ in f(strict=True):\n        pass") == set()


@cache
def all_mutants() -> list[Mutant]:
    return mutants.every(ROOT)


@pytest.mark.long
def test_every_group_has_mutants_and_every_function_one_before_any_has_two():
    every = all_mutants()
    assert {each.group for each in every} == {*mutants.GROUPS} and len({*map(str, every)}) == len(every) > 5000
    functions = {(each.file, each.function) for each in every}
    assert len({(each.file, each.function) for each in every[: len(functions)]}) == len(functions)


def test_every_pattern_of_a_group_finds_a_file():
    assert not [pattern for patterns in mutants.GROUPS.values() for pattern in patterns if not [*ROOT.glob(pattern)]]


def first(function: str, rule: str) -> Mutant:
    return next(each for each in all_mutants() if (each.function, each.rule) == (function, rule))


def tried(one: trials.Change, checks: list) -> str:
    program = f"""
from book.faults import catch
catch.work({str(ROOT)!r}, {one.file!r}, {one.function!r}, {one.source(ROOT)!r}, {checks!r})"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.long
def test_a_mutant_is_caught_by_a_claim_or_a_test_that_calls_it_and_by_nothing_else():
    wrong = first("error_terms", "a factor dropped")
    assert tried(wrong, [(0.1, catch.STORED, "zhang-risk")]).startswith("a claim in full: ")
    assert tried(wrong, [(0.1, catch.TEST, "tests/icl_lib/test_verdict.py")]) == ""
    unloaded = next(
        each for each in all_mutants() if each.file.endswith("theory/skip_connections.py") and each.function == "layer_norm"
    )
    assert tried(unloaded, [(0.1, catch.TEST, "tests/papers/dherin/test_dherin_skip_connections.py")]).startswith(
        "a unit test: papers"
    )
    written = [(0.1, catch.WRITTEN, "tests/papers/dherin/test_dherin_skip_connections.py")]
    assert tried(unloaded, written).startswith("a number written down: papers")
    method = first("Discrepancy.verdict", "< and <=")
    assert tried(method, [(0.1, catch.TEST, "tests/icl_lib/test_verdict.py")]).startswith("a unit test: icl_lib/test_verdict")


def test_a_trace_names_the_functions_that_a_check_calls():
    rows = []
    with traced._noted(str(ROOT), rows, "one"):
        optimum.Gamma(np.eye(2), 3)
    ((name, seconds, called),) = rows
    assert name == "one" and seconds >= 0 and "papers/zhang/theory/optimum.py:Gamma" in called
    assert not any("error.py" in each for each in called)


def test_survivors_are_told_and_equivalent_ones_with_their_reason(tmp_path, monkeypatch, capsys):
    every = all_mutants()[:3]
    (tmp_path / "book" / "faults").mkdir(parents=True)
    (tmp_path / "book" / "data").mkdir()
    (tmp_path / "book" / "faults" / everywhere.FILE).write_text(f"# words\n{every[2]} | a colour\n")
    ends = {str(every[0]): "a unit test: it", str(every[1]): ""}
    monkeypatch.setattr(mutants, "every", lambda root: every)
    monkeypatch.setattr(everywhere, "NUMBER", 3)
    monkeypatch.setattr(trials, "tried", lambda changes, layout, name: ends)
    layout = everywhere.Layout(tmp_path)
    assert everywhere.run(layout, 3) == 1
    said = capsys.readouterr().out
    assert f"survived: {every[1]}" in said and "3 of 3 mutants, 1 of them equivalent, 1 survived." in said
    (tmp_path / "book" / "data" / "faults.json").write_text(json.dumps({"commit": "abc", "faults": []}))
    page = faults_page(tmp_path / "book" / "data" / "faults.json")
    assert "Of 2, drawn evenly over the functions, 1 survived (50.0%)" in page and "a colour" in page
    ends[str(every[1])] = "never ends"
    assert everywhere.run(layout, 3) == 0


def test_a_line_without_a_reason_is_named(tmp_path):
    (tmp_path / "book" / "faults").mkdir(parents=True)
    (tmp_path / "book" / "faults" / everywhere.FILE).write_text("a.py: f: 1 -> 2 (0)\n")
    with pytest.raises(Problem, match=r"write MUTANT \| REASON"):
        everywhere.read(tmp_path)


def test_no_line_of_the_equivalent_ones_is_left_over():
    assert {*everywhere.read(ROOT)} <= {*map(str, all_mutants())}


def test_nothing_is_caught_where_nothing_is_wrong():
    assert list(catch.catches([(0.1, catch.STORED, "zhang-one-step")])) == []
