"""No leak: in a run of an experiment every random stream is opened for one thing, and for nothing that trains.

A stream is named by its role. Numbers in it count for nothing here, so that one role holds all steps of a training. What
opens it is the line that made the name, however many functions pass the name on. Which streams are opened does not depend
on how much is drawn of them, so the runs are small ones. A role that several functions open on purpose is declared by the
experiment, in a line of its docstring: ``Shared stream: ROLE: reason.``

What each small run opens and measures is written down in ``shown/small_runs.json``: the roles, whether a line opens one of them
twice, whether by a seed of its own; mean and spread of every variable, with its dimensions and its unit. Cells that come to
share their draws, or rows that change places, are a change there, to be read before it is committed. A variable that
rounding moves, in a training or because it is rounding itself, stands there without numbers: they differ between the vector
code of this machine and the plain code that PyTorch, oneDNN, MKL and OpenBLAS have for every machine.
``python -m tests.papers.test_streams`` writes the file anew; with slugs behind it, what stands there of these.
"""

import inspect
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib import seeds
from papers import registry
from tests.elsewhere import move_book

Opened = dict[str, set[str]]
SHOWN = Path(__file__).parent / "shown" / "small_runs.json"
SEED = 3
RTOL, ATOL = 0.02, 1e-9
"""How far means and spreads of a small run may lie from those written down."""
MOVED = 0.003
"""What rounding moves by more, relative to the number, is not written down."""
TIMED = {"engine-roofline"}
"""Results that are times, of trainings whose losses nobody reads."""
SHARED = re.compile(r"Shared stream: ([^:]+): \S")
"""The line by which an experiment declares a role that several of its functions open."""
LARGE, SHARE, LEAST = 50, 50, 10
"""A number from ``LARGE`` on is divided by ``SHARE``, down to ``LEAST``."""


@contextmanager
def recorded(opened: Opened, names: Counter | None = None):
    """Collect the roles that are opened, and by whom; and how often each seed and name, and at which line."""
    original = seeds.stream

    def stream(seed: int, name: str, device: str | torch.device = "cpu") -> torch.Generator:
        opened[role_of(name)].add(by := opener(sys._getframe(1), name))
        if names is not None:
            names[seed, name, by] += 1
        return original(seed, name, device)

    with pytest.MonkeyPatch.context() as patch:
        for module in list(sys.modules.values()):
            if vars(module).get("stream") is original:
                patch.setattr(module, "stream", stream)
        yield


def role_of(name: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", name)


def opener(frame, name: str) -> str:
    """Return the function that made the name, and the line: who was given it passes it on.

    Wrappers of the test run do not count.
    """
    while frame.f_back and not (_ours(frame) and not _given(frame, name)):
        frame = frame.f_back
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}, line {frame.f_lineno}"


def _ours(frame) -> bool:
    named = frame.f_globals["__name__"].startswith(("icl_lib.", "papers.", __name__))
    return named and not frame.f_code.co_name.startswith("<")


def _given(frame, name: str) -> bool:
    given = (frame.f_locals.get(each) for each in inspect.getargs(frame.f_code).args)
    return any(isinstance(each, str) and each == name for each in given)


def leaks(run: Callable[[], object], *others: Callable[[], object], names: Counter | None = None) -> Opened:
    """Return the roles that are opened by more than one function in some runs together; ``names`` are those of the first."""
    opened = defaultdict(set)
    with recorded(opened, names):
        run()
    with recorded(opened):
        for other in others:
            other()
    return {role: by for role, by in opened.items() if len(by) > 1}


def trainings(declaration) -> list[Callable[[], object]]:
    """Return two steps of each training whose weights a declaration reads."""
    each = {name.partition(".")[0] for name in registry.trainings_of(declaration)}  # of several seeds
    return [
        lambda training=training: replace(training, steps=2).train(0, "cpu")
        for training in map(registry.training, sorted(each))
    ]


def small(declaration):
    """Return a declaration that draws less of the same streams: every large number of it that may be smaller is."""
    for field in fields(declaration):
        with suppress(ValueError):  # not admitted beside the other fields
            declaration = replace(declaration, **{field.name: _smaller(getattr(declaration, field.name))})
    return declaration


def _smaller(value):
    return type(value)(max(LEAST, value // SHARE)) if type(value) in (int, float) and value >= LARGE else value


def forget() -> None:
    """Make the wings forget what they trained: it would open no stream a second time."""
    for module in [module for name, module in sys.modules.items() if name.startswith("papers.")]:
        for kept in vars(module).values():
            getattr(kept, "cache_clear", lambda: None)()


@pytest.mark.long
@pytest.mark.parametrize("slug", [slug for slug in registry.EXPERIMENTS if slug not in TIMED])
def test_every_stream_is_opened_for_one_thing_and_measured_is_what_is_written_down(slug):
    declaration = registry.experiment(slug).quick
    found, more = small_run(declaration, *trainings(declaration))
    assert set(more) == set(SHARED.findall(type(declaration).__doc__)), more
    written = json.loads(SHOWN.read_text(encoding="utf-8"))[slug]
    assert found["streams"] == written["streams"]
    assert [row[:3] for row in found["measured"]] == [row[:3] for row in written["measured"]]
    for row, other in zip(found["measured"], written["measured"], strict=True):
        if other[3:]:
            assert row[3:] == pytest.approx(other[3:], rel=RTOL, abs=ATOL), row[0]


def small_run(declaration, *others: Callable[[], object]) -> tuple[dict[str, list], Opened]:
    """Return the roles that a small run opens, ``[name, dimensions, unit, mean, spread]`` of what it measures, and leaks."""
    forget()
    names, measured = Counter(), []
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as nothing_trained_before:
        move_book(patch, build=Path(nothing_trained_before))
        smaller = small(declaration)
        found = leaks(lambda: measured.append(smaller.run(SEED, "cpu")), *others, names=names)
        measured = [smaller.expect(each, SEED) for each in measured]
    rows = [_in_numbers(name, each) for name, each in measured[0].data_vars.items()]
    return {"streams": told(names), "measured": rows}, found


def told(names: Counter) -> list[str]:
    """Return the roles, with *twice* where a line opens one name again, and with *seeds of its own*."""
    roles = defaultdict(set)
    for (seed, name, _), times in names.items():
        roles[role_of(name)] |= {"twice"} if times > 1 else set()
        roles[role_of(name)] |= {"seeds of its own"} if seed != SEED else set()
    return [", ".join([role, *sorted(roles[role])]) for role in sorted(roles)]


def _in_numbers(name: str, variable: xr.DataArray) -> list:
    row = [name, " ".join(map(str, variable.dims)), variable.attrs.get("units", "")]
    values = variable.values[np.isfinite(variable.values)] if variable.dtype.kind in "fiub" else ()
    numbers = (values.mean(), values.std()) if len(values) else ()
    return row + [float(f"{value:.4g}") if abs(value) > ATOL else 0.0 for value in numbers]


def _evaluate(seed: int) -> None:
    seeds.stream(seed, "data/3")


def _train(seed: int) -> None:
    for step in range(2):
        _passed_on(seed, f"data/{step}")


def _choose_and_judge(seed: int) -> None:
    seeds.stream(seed, "prompts")
    seeds.stream(seed, "prompts")


def _passed_on(seed: int, name: str) -> None:
    seeds.stream(seed, name)


def test_evaluation_on_a_stream_of_training_is_seen():
    ((role, by),) = leaks(lambda: _evaluate(0), lambda: _train(0)).items()
    assert role == "data/#" and {each.partition(",")[0] for each in by} == {f"{__name__}._evaluate", f"{__name__}._train"}
    assert leaks(lambda: _train(0), lambda: _train(1)) == {}


def test_what_one_function_opens_in_two_places_is_two_things():
    ((role, by),) = leaks(lambda: _choose_and_judge(0)).items()
    assert role == "prompts" and len(by) == 2


@pytest.mark.long
def test_a_training_that_was_kept_opens_its_streams_again():
    declaration = registry.experiment("li-two-memories").quick
    for _ in range(2):
        forget()
        opened: Opened = defaultdict(set)
        with recorded(opened):
            declaration.run(0, "cpu")
        assert any(role.startswith("data/") for role in opened)


def test_cells_that_share_their_draws_and_a_seed_of_its_own_are_told():
    names = Counter()
    leaks(lambda: (_train(SEED), _passed_on(SEED, "a/1"), _passed_on(1, "b")), names=names)
    assert told(names) == ["a/#", "b, seeds of its own", "data/#"]
    leaks(lambda: [_passed_on(SEED, "a/1") for _ in range(2)], names=names)
    assert "a/#, twice" in told(names)


def test_what_is_measured_is_told_by_mean_and_spread():
    rows = xr.DataArray([[1.0, 3.0], [np.nan, 5.0]], dims=("N", "seed"), attrs={"units": "y^2"})
    assert _in_numbers("risk", rows) == ["risk", "N seed", "y^2", 3.0, 1.633]


def test_what_rounding_moves_is_written_down_without_numbers():
    row, moved = ["risk", "N", "y^2", 1.0, 2.0], ["risk", "N", "y^2", 1.0, 2.01]
    assert steady(row, row) == row and steady(row, moved) == row[:3]
    assert steady([*row[:2], "s", 1.0, 2.0], [*row[:2], "s", 1.0, 2.0]) == [*row[:2], "s"]


def steady(row: list, again: list) -> list:
    """Return a row without its numbers if it is a time, or if another computation moved them."""
    return row if row[2] != "s" and row[3:] == pytest.approx(again[3:], rel=MOVED, abs=ATOL) else row[:3]


def _run(slugs: list[str]) -> dict[str, dict[str, list]]:
    torch.set_num_threads(1)
    return {slug: small_run(registry.experiment(slug).quick)[0] for slug in slugs}


def _run_in_plain_code(slugs: list[str]) -> dict[str, dict[str, list]]:
    plain = os.environ | {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_CBWR": "COMPATIBLE",
        "OPENBLAS_CORETYPE": "Nehalem",
    }
    command = [sys.executable, "-c", f"import json; from {__spec__.name} import _run; print(json.dumps(_run({slugs})))"]
    done = subprocess.run(command, env=plain, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _write(asked: list[str]) -> None:
    """Write the file anew; a row that stands in it without numbers, since some machine moved them, stays without."""
    before, every = json.loads(SHOWN.read_text(encoding="utf-8")), [slug for slug in registry.EXPERIMENTS if slug not in TIMED]
    runs, again, rows = _run(asked or every), _run_in_plain_code(asked or every), []
    for slug, found in runs.items():
        measured = [steady(*pair) for pair in zip(found["measured"], again[slug]["measured"], strict=True)]
        kept = before.get(slug, {"measured": []})["measured"]
        runs[slug] = found | {"measured": [row[:3] if row[:3] in kept else row for row in measured]}
    for slug in every:
        found = (before | runs)[slug]
        parts = (f'  "{kind}": [\n    ' + ",\n    ".join(map(json.dumps, found[kind])) + "\n  ]" for kind in found)
        rows.append(f'"{slug}": {{\n' + ",\n".join(parts) + "\n}")
    SHOWN.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    _write([registry.experiment(slug).slug for slug in sys.argv[1:]])
