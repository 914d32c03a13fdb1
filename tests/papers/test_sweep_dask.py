"""The same sweep on a Dask cluster that loses a worker, in a pool and in shards; and the page's Slurm profile."""

import os
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sweep_toys
from sweep_toys import ONE_DEATH, PLAIN, SECOND, Toy, alike, cells, entries

from icl_lib.companion import content, results, sweep
from icl_lib.companion.sweep import Cell, Incomplete, run_sweep
from papers import registry, sweep_commands
from papers.__main__ import main

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def diary(tmp_path_factory):
    """Where every run of a toy is noted; set before the workers start, which inherit it."""
    file = tmp_path_factory.mktemp("diary") / "diary"
    file.touch()
    os.environ[sweep_toys.DIARY] = str(file)
    yield file
    del os.environ[sweep_toys.DIARY]


@pytest.fixture(scope="module")
def client(diary, tmp_path_factory):
    """A cluster of two workers on this machine."""
    place = {"local_directory": str(tmp_path_factory.mktemp("dask")), "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **place) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def test_dask_with_a_killed_worker_the_pool_and_three_shards_agree(client, diary, tmp_path):
    asked = cells(12, 0.1)
    asked[3] = replace(asked[3], declaration=Toy(1.5, 0.1, "one death"))
    by_dask = run_sweep(asked, client.get_executor(), tmp_path / "dask")
    words = [word for word, _ in entries(diary)]
    assert words.count(ONE_DEATH) == 1 and words.count("start") > len(asked)  # the cell was lost, and computed again
    shards = [asked[number::3] for number in range(3)]
    with sweep.local_pool(2) as pool:
        by_pool = run_sweep(asked, pool, tmp_path / "pool")
        for number, part in enumerate(shards):
            run_sweep(part, pool, tmp_path / f"shard{number}")
    merged = [
        next(found for k in range(3) if (found := sweep.kept(name, tmp_path / f"shard{k}"))) for name in sweep.cell_names(asked)
    ]
    assert len(by_dask) == 12 and alike(by_dask, by_pool) and alike(by_dask, merged)
    digests = [[content.of_dataset(dataset, sweep.OF_THE_RUN) for dataset in way] for way in (by_dask, by_pool, merged)]
    assert digests[0] == digests[1] == digests[2]


def test_the_command_line_gives_the_same_files_by_dask_and_by_merged_shards(client, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(registry, "EXPERIMENTS", {each.slug: each for each in (PLAIN, SECOND)})
    monkeypatch.setattr(sweep, "local_pool", ThreadPoolExecutor)
    asked = ["sweep", "--seeds", "0-1"]
    assert main([*asked, "--dask", client.scheduler.address, "--out", str(tmp_path / "dask")]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "4 cells to compute, 0 are there."
    shards = [str(tmp_path / f"shard{number}") for number in (1, 2, 3)]
    for number, shard in enumerate(shards, 1):
        assert main([*asked, "--shard", f"{number}/3", "--out", shard]) == 0
    assert main(["merge", *shards, "--out", str(tmp_path / "merged")]) == 0
    by_dask, merged = (sorted((tmp_path / way).glob("*.nc")) for way in ("dask", "merged"))
    assert [file.name for file in by_dask] == [file.name for file in merged] and len(by_dask) == 4
    assert alike([results.load(file) for file in by_dask], [results.load(file) for file in merged])


def test_a_cell_that_fails_on_a_worker_is_named(client, tmp_path):
    asked = [*cells(1), Cell("toy-plain", "quick", Toy(1.5, ending="error"), 7)]
    with pytest.raises(Incomplete, match=r"1 of 2 cells failed.*seed7.*ZeroDivisionError: this toy always fails"):
        run_sweep(asked, client.get_executor(), tmp_path)
    assert sweep.kept(*sweep.cell_names(cells(1)), tmp_path) is not None


def test_an_address_where_nobody_answers_is_one_sentence(tmp_path, capsys, monkeypatch):
    assert sweep_commands.SECONDS_TO_ANSWER <= 10
    monkeypatch.setattr(sweep_commands, "SECONDS_TO_ANSWER", 2)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, and not listening
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        assert main(["sweep", "zhang-flow", "--dask", address, "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert f"no Dask scheduler answers at {address}" in message and message.count("\n") == 1
    assert not (tmp_path / "out").exists()


SBATCH = """#!/bin/sh
cp "$1" "{folder}/job"  # as Slurm does: the script is removed after this call
bash "{folder}/job" >"{folder}/log" 2>&1 &
echo "Submitted batch job $!"
"""


@pytest.mark.skipif(os.name == "nt", reason="Slurm's commands are stood in for by shell scripts")
def test_the_slurm_profile_of_the_page_runs_a_sweep(tmp_path):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed: pip install -r requirements-dask.txt")
    page = (ROOT / "book" / "how_to_rerun.md").read_text(encoding="utf-8")
    (script,) = [code for code in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) if "dask_jobqueue" in code]
    small = ["sweep", "zhang-flow", "--set", "starts=1", "--profile", "quick", "--seeds", "0-1", "--out", str(tmp_path / "out")]
    changes = {
        '["sweep", "--seeds", "0-9"': repr(small)[:-1],
        "minimum_jobs=20, maximum_jobs=20": "minimum_jobs=1, maximum_jobs=1",
    }
    for old, new in changes.items():
        assert script.count(old) == 1
        script = script.replace(old, new)
    (tmp_path / "slurm_sweep.py").write_text(script)
    for name, text in {"sbatch": SBATCH.format(folder=tmp_path), "scancel": '#!/bin/sh\nkill "$@"\n'}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "slurm_sweep.py"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert {file.name for file in (tmp_path / "out").glob("*.nc")} == {"zhang-flow.quick.nc", "zhang-flow.quick.seed1.nc"}
    assert "--cpus-per-task=1" in (tmp_path / "job").read_text()
