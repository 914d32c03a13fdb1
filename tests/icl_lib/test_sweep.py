"""Sweeps: identical by every executor, kept cell by cell, checked before they are used."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sweep_toys
import torch
import xarray as xr
from sweep_toys import Toy, alike, cells, entries

from icl_lib.companion import content, identity, origins, results, sweep
from icl_lib.companion.sweep import OF_THE_RUN, Cell, Incomplete, cell_file, cell_names, keep, kept, run_sweep


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def diary(tmp_path, monkeypatch):
    file = tmp_path / "diary"
    file.touch()
    monkeypatch.setenv(sweep_toys.DIARY, str(file))
    return file


def test_a_cell_computes_on_one_thread_and_a_graphics_card_has_one_process():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        (cell,) = cells(1)
        sweep.run_cell(cell, *cell_names([cell]))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert sweep.processes([cell, replace(cell, device="cuda")]) == 1
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert sweep.processes([cell]) == ours


@pytest.mark.long
def test_pool_and_threads_agree_and_keep_the_order(tmp_path, threads):
    asked = cells(5)
    by_pool = run_sweep(asked, None, tmp_path / "pool")
    assert [dataset.attrs["seed"] for dataset in by_pool] == list("01234")
    assert alike(by_pool, run_sweep(asked, threads, tmp_path / "threads"))
    assert alike(by_pool[::-1], run_sweep(asked[::-1], threads, tmp_path / "backwards"))
    assert alike(by_pool, [cell.run() for cell in asked])
    assert not alike(by_pool, by_pool[::-1])


def test_a_second_sweep_computes_nothing(tmp_path, threads, diary):
    first = run_sweep(cells(3), threads, tmp_path)
    noted = entries(diary)
    lines = []
    assert alike(first, run_sweep((each for each in cells(3)), threads, str(tmp_path)))
    assert alike(first, run_sweep(cells(4)[:3] + cells(1), threads, tmp_path, lines.append)[:3])
    assert entries(diary) == noted and len(noted) == 6
    assert lines == ["0 cells to compute, 3 are there."]


def test_every_finished_cell_is_one_line(tmp_path, threads):
    lines = []
    run_sweep(cells(3), threads, tmp_path, lines.append)
    assert lines[0] == "3 cells to compute, 0 are there."
    assert all(" s  " in line and f"{k} of 3, about " in line for k, line in enumerate(lines[1:], 1)) and len(lines) == 4


SCRIPT = """
import sys, sweep_toys
from icl_lib.companion import sweep
from pathlib import Path
with sweep.local_pool(2) as pool:
    sweep.run_sweep(sweep_toys.cells(12, 0.3), pool, Path(sys.argv[1]))
"""


def awaited(condition, seconds: float = 600.0) -> bool:
    """Wait for a condition, on a busy machine for long; whether it came true."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_killed_sweep_leaves_no_process_and_continues(tmp_path, threads, diary):
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder) for folder in Path(__file__).parents[1:3]])}
    driver = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], env=env)
    assert awaited(lambda: len(list(tmp_path.glob("cells/[!.]*.nc"))) >= 3)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    workers = {process for _, process in entries(diary)}
    assert len(workers) == 2 and awaited(lambda: not any(map(lives, workers)))
    there = len(list(tmp_path.glob("cells/[!.]*.nc")))
    begun = entries(diary)
    again = run_sweep(cells(12, 0.3), threads, tmp_path)
    assert 3 <= there < 12
    assert [word for word, _ in entries(diary)[len(begun) :]].count("start") == 12 - there
    assert alike(again, run_sweep(cells(12, 0.3), threads, tmp_path / "whole"))


@pytest.mark.long
def test_an_interrupt_ends_the_workers_at_once(tmp_path):
    asked, interrupted = [*cells(1), *cells(2, 600.0)], []

    def interrupt(line: str) -> None:
        if " 1 of 3" in line:
            interrupted.append(time.monotonic())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), sweep.local_pool(2) as pool:
        run_sweep(asked, pool, tmp_path, interrupt)
    assert time.monotonic() - interrupted[0] < 300
    assert [kept(name, tmp_path) is None for name in cell_names(asked)] == [False, True, True]


def test_a_failing_cell_loses_no_other(tmp_path, threads):
    asked = cells(3)
    asked[1] = replace(asked[1], declaration=Toy(1.5, ending="error"))
    with pytest.raises(Incomplete) as stopped:
        run_sweep(asked, threads, tmp_path)
    names = cell_names(asked)
    said = f"1 of 3 cells failed, the others are kept: {names[1]} (ZeroDivisionError: this toy always fails)"
    assert str(stopped.value) == said and isinstance(stopped.value.__cause__, ZeroDivisionError)
    assert [kept(name, tmp_path) is None for name in names] == [False, True, False]


@pytest.mark.long
def test_a_worker_that_dies_ends_the_sweep_with_a_reason(tmp_path):
    with sweep.local_pool(1) as pool:
        assert len(run_sweep(cells(1), pool, tmp_path)) == 1
        with pytest.raises(Incomplete, match=r"1 of 2 cells failed.*seed0.*terminated abruptly"):
            run_sweep([*cells(1), Cell("toy-plain", "quick", Toy(1.5, ending="death"), 0)], pool, tmp_path)


def flipped(content: bytes) -> bytes:
    return content[:900] + bytes([content[900] ^ 1]) + content[901:]


@pytest.mark.parametrize(
    "damage",
    [flipped, lambda content: content[:-1], lambda content: content[:40], lambda content: b"", lambda content: b"x" * 99],
)
def test_a_damaged_cell_is_computed_again(tmp_path, threads, diary, damage):
    (before,) = run_sweep(cells(1), threads, tmp_path)
    file = cell_file(*cell_names(cells(1)), tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    assert kept(*cell_names(cells(1)), tmp_path) is None
    assert alike([before], run_sweep(cells(1), threads, tmp_path))
    assert len(entries(diary)) == 4
    assert kept(*cell_names(cells(1)), tmp_path) is not None


def test_a_cell_under_another_name_is_not_taken(tmp_path, threads, diary):
    one, other = cell_names(cells(2))
    run_sweep(cells(1), threads, tmp_path)
    cell_file(one, tmp_path).rename(cell_file(other, tmp_path))
    found = run_sweep(cells(2), threads, tmp_path)
    assert [dataset.attrs["seed"] for dataset in found] == ["0", "1"]
    assert len(entries(diary)) == 6


def test_a_plain_result_is_no_cell_and_a_cell_is_plain_netcdf(tmp_path):
    (cell,), (name,) = cells(1), cell_names(cells(1))
    results.save(cell.run(), cell_file(name, tmp_path))
    assert kept(name, tmp_path) is None
    keep(name, cell.run(), tmp_path)
    assert results.load(cell_file(name, tmp_path)).attrs["cell"] == name


def test_what_a_file_cannot_give_back_is_refused(tmp_path):
    dataset = xr.Dataset({"x": ("n", [1.5, 2.5], {}, {"dtype": "int8"})}, {"when": np.datetime64("2020-01-01", "D")})
    with pytest.raises(ValueError, match="numbers and strings only"):
        keep("a", dataset, tmp_path)
    assert not list(tmp_path.glob("cells/*"))


def test_all_that_determines_a_cell_is_in_its_name(monkeypatch):
    cell = cells(1)[0]
    others = [replace(cell, **change) for change in ({"seed": 1}, {"device": "cuda"}, {"declaration": Toy(1.6)})]
    others += [replace(cell, profile="full"), replace(cell, slug="toy-other")]
    names = cell_names([cell, *others])
    monkeypatch.setattr(origins, "versions", lambda declaration: {"torch": "0"})
    names += cell_names([cell])
    monkeypatch.undo()
    monkeypatch.setattr(identity, "code", lambda declaration: "other")
    names += cell_names([cell])
    assert len(set(names)) == len(names) == 8
    monkeypatch.undo()
    assert cell_names([cell]) == names[:1] and names[0].startswith("toy-plain.quick.seed0.")


def test_a_worker_with_other_code_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="other code"):
        sweep.run_cell(cells(1)[0], "toy-plain.quick.seed0.0123456789abcdef")


def test_the_digest_sees_content_and_not_the_run():
    dataset = xr.Dataset({"x": ("n", [1.0, np.nan], {"units": "1"})}, {"n": ["a", "b"]}, {"slug": "toy", "seconds": "1"})
    same = dataset.copy(deep=True).assign_attrs(seconds="2", created="now", commit="0")
    digest = partial(content.of_dataset, without=OF_THE_RUN)
    assert digest(same) == digest(dataset) and content.of_dataset(same) != content.of_dataset(dataset)
    changed = [
        dataset.assign_attrs(slug="other"),
        dataset.assign(x=("n", [1.0, 2.0], {"units": "1"})),
        dataset.assign(x=("n", [1.0, np.nan], {"units": "m"})),
        dataset.assign(x=dataset.x.astype("float32")),
        dataset.assign_coords(n=["a", "c"]),
        dataset.rename(n="m"),
        dataset.assign(y=0),
        dataset.assign_coords(z=("n", [1, 2])).reset_coords("z"),
        dataset.assign_coords(z=("n", [1, 2])),
    ]
    assert len({digest(each) for each in [dataset, *changed]}) == len(changed) + 1
