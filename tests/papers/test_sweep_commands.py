"""python -m papers sweep and merge: files, shards, and what is refused."""

import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sweep_toys
from sweep_toys import PLAIN, SECOND, Toy, alike, entries

from icl_lib.companion import results, sweep, writing
from papers import registry
from papers.__main__ import main, parser

BOTH = ["toy-plain", "toy-second", "--profile", "quick", "--seeds", "0-1"]


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    """The registry holds the toys alone, and threads of this process run their cells."""
    monkeypatch.setattr(registry, "EXPERIMENTS", {each.slug: each for each in (PLAIN, SECOND)})
    monkeypatch.setattr(sweep, "local_pool", ThreadPoolExecutor)


@pytest.fixture
def diary(tmp_path, monkeypatch):
    file = tmp_path / "diary"
    file.touch()
    monkeypatch.setenv(sweep_toys.DIARY, str(file))
    return file


def files(folder):
    return {file.name for file in folder.glob("*.nc")}


ALL = {f"toy-{kind}.quick{seed}.nc" for kind in ("plain", "second") for seed in ("", ".seed1")}


def test_sweep_writes_every_result_as_run_gives_it(tmp_path, capsys):
    assert main(["sweep", *BOTH, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "4 cells to compute, 0 are there." and said[-1] == f"4 of 4 results are complete in {tmp_path}."
    assert files(tmp_path) == ALL
    for experiment in (PLAIN, SECOND):
        for seed, end in enumerate(("", ".seed1")):
            found, expected = results.load(tmp_path / f"{experiment.slug}.quick{end}.nc"), experiment.run("quick", seed)
            assert alike([found], [expected]) and set(found.attrs) == set(expected.attrs)


def test_without_names_all_experiments_run_in_full_and_are_stored_results(tmp_path):
    assert main(["sweep", "--out", str(tmp_path), "--jobs", "1"]) == 0
    for experiment in (PLAIN, SECOND):
        assert alike([results.stored(experiment, folder=tmp_path)], [experiment.run("full", 0)])


@pytest.mark.long
def test_three_shards_are_merged_into_the_same_results(tmp_path, capsys, diary):
    folders = [str(tmp_path / name) for name in "abc"]
    for number, folder in enumerate(folders, 1):
        assert main(["sweep", *BOTH, "--shard", f"{number}/3", "--out", folder]) == 0
    assert len(entries(diary)) == 8  # four cells, each started and ended once
    out = tmp_path / "merged"
    assert main(["merge", *folders[:2], "--out", str(out)]) == 1
    message = capsys.readouterr().err
    assert "1 of 4 cells are missing" in message and "toy-second.quick.seed0." in message and message.count("\n") == 1
    assert files(out) < ALL
    assert main(["merge", *folders, "--out", str(out)]) == 0
    assert main(["sweep", *BOTH, "--out", str(tmp_path / "whole")]) == 0
    assert files(out) == ALL
    assert alike(*([results.load(folder / name) for name in sorted(ALL)] for folder in (out, tmp_path / "whole")))


def test_shards_may_share_a_folder(tmp_path):
    for number in ("1/2", "2/2"):
        assert main(["sweep", *BOTH, "--shard", number, "--out", str(tmp_path)]) == 0
    assert files(tmp_path) == ALL
    assert main(["merge", str(tmp_path), "--out", str(tmp_path)]) == 0


def test_merge_takes_sound_cells_only_and_keeps_them(tmp_path, capsys):
    sound, damaged, out = (tmp_path / name for name in ("sound", "damaged", "out"))
    for folder in (sound, damaged):
        assert main(["sweep", "toy-plain", "--out", str(folder)]) == 0
    (cell,) = (file.name for file in (damaged / "cells").iterdir())
    (damaged / "cells" / cell).write_bytes((damaged / "cells" / cell).read_bytes()[:-3])
    assert main(["merge", str(damaged), "--out", str(out)]) == 1
    assert "1 of 1 cells are missing, damaged or of other code" in capsys.readouterr().err and not files(out)
    assert main(["merge", str(damaged), str(sound), "--out", str(out)]) == 0
    before = (out / "cells" / cell).read_bytes()
    assert main(["merge", str(damaged), "--out", str(out)]) == 0
    assert (out / "cells" / cell).read_bytes() == before


def test_merge_names_cells_that_differ(tmp_path, capsys):
    for name in "ab":
        assert main(["sweep", "toy-plain", "--out", str(tmp_path / name)]) == 0
    (name,) = (file.stem for file in (tmp_path / "b" / "cells").iterdir())
    other = sweep.kept(name, tmp_path / "b")
    sweep.keep(name, other.assign(product=other["product"] + 1), tmp_path / "b")
    assert main(["merge", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "out")]) == 1
    assert f"these cells differ between folders, the first was taken: {name}" in capsys.readouterr().err
    assert sweep.kept(name, tmp_path / "out").identical(sweep.kept(name, tmp_path / "a"))


def test_a_failing_cell_leaves_the_other_results(tmp_path, capsys, monkeypatch):
    failing = replace(PLAIN, slug="toy-failing", quick=Toy(1.0, ending="error"))
    monkeypatch.setitem(registry.EXPERIMENTS, "toy-failing", failing)
    assert main(["sweep", "toy-failing", "toy-plain", "--profile", "quick", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: 1 of 2 cells failed, the others are kept: toy-failing.quick.seed0.")
    assert files(tmp_path) == {"toy-plain.quick.nc"} and "FAILED" in said.out and said.err.count("\n") == 1


def test_a_full_disk_ends_the_sweep_and_loses_nothing(tmp_path, capsys, monkeypatch):
    assert main(["sweep", "toy-plain", "--out", str(tmp_path)]) == 0
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.nc")}

    def full(path, write):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "write_atomically", full)
    assert main(["sweep", "--out", str(tmp_path)]) == 1
    assert "No space left on device: free space or take another --out" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.nc")} == before


def test_an_interrupt_says_that_the_sweep_continues(tmp_path, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run_sweep", interrupted)
    assert main(["sweep", "--out", str(tmp_path)]) == 130
    assert "finished cells are kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sweep", "toy-nothing"], "unknown experiment 'toy-nothing'"),
        (["sweep", "toy-plain", "--set", "scael=2"], "unknown field of Toy 'scael'"),
        (["sweep", "--shard", "0/8"], "no shard 0/8"),
        (["sweep", "--shard", "9/8"], "no shard 9/8"),
        (["sweep", "--shard", "1"], "no shard 1"),
        (["sweep", "--shard", "0/0"], "no shard 0/0"),
        (["merge", "nowhere"], "nowhere holds no sweep"),
        (["sweep", "toy-plain", "--dask", "tcp://127.0.0.1:9"], "pip install -r requirements-dask.txt"),
        (["sweep", "toy-plain", "--device", "cuda"], "no CUDA device"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(tmp_path, capsys, monkeypatch, words, says):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and says in message and message.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--seeds", "a"], "'a' names no seeds"),
        (["--seeds", "0,"], "names no seeds"),
        (["--seeds", "3-1"], "empty range"),
        (["--jobs", "0"], "no positive number"),
        (["--jobs", "2", "--dask", "tcp://host:1"], "not allowed with"),
    ],
)
def test_bad_options_exit_with_2(capsys, options, says):
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", *options])
    message = capsys.readouterr().err
    assert stopped.value.code == 2 and says in message and message.count("\n") == 1


def test_the_job_array_of_the_page_computes_every_shard(monkeypatch):
    page = (Path(__file__).parents[2] / "book" / "how_to_rerun.md").read_text(encoding="utf-8")
    last = int(re.search(r"--array=1-(\d+)", page)[1])
    monkeypatch.setenv("SLURM_ARRAY_TASK_COUNT", str(last))
    folders = []
    for number in range(1, last + 1):
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", str(number))
        words = re.search(r"\./run (sweep .*SLURM.*)", page)[1].split()
        options = parser().parse_args([os.path.expandvars(word) for word in words])
        assert options.shard == f"{number}/{last}"
        folders.append(options.out)
    assert parser().parse_args(re.search(r"\./run (merge [^#\n]*)", page)[1].split()).folders == folders


def test_seeds_are_lists_and_ranges():
    from papers.sweep_commands import seed_list

    assert seed_list("0-3") == (0, 1, 2, 3)
    assert seed_list("7, 0-2,1,5") == (7, 0, 1, 2, 5)


def test_one_folder_holds_one_setting_of_a_result(tmp_path, capsys):
    out = str(tmp_path)
    assert main(["sweep", "toy-plain", "--set", "scale=3", "--out", out]) == 0
    assert json.loads(results.load(tmp_path / "toy-plain.full.nc").attrs["declaration"])["scale"] == 3.0
    assert main(["sweep", "toy-plain", "--out", out]) == 2
    assert "two settings" in capsys.readouterr().err
    assert main(["sweep", "toy-second", "--out", out]) == 0
    assert main(["sweep", "toy-plain", "--profile", "quick", "--out", out]) == 0
    assert main(["sweep", "toy-plain", "--seeds", "1", "--out", out]) == 0, "another file"


def test_a_damaged_plan_is_named(tmp_path, capsys):
    assert main(["sweep", "toy-plain", "--out", str(tmp_path)]) == 0
    (plan,) = (tmp_path / "plans").iterdir()
    for text in ("{", "[]", '{"slugs": []}'):
        plan.write_text(text)
        assert main(["merge", str(tmp_path), "--out", str(tmp_path)]) == 2
        assert f"{plan} is damaged" in capsys.readouterr().err
