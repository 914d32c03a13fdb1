"""The benchmark: its clocks, its groups on small sizes, and what it prints, writes and refuses."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from papers.engine import speed
from papers.engine.bench import __main__ as bench
from papers.engine.bench import table, training
from papers.engine.bench.build import build
from papers.engine.bench.scale import QUICK
from papers.engine.one_layer import one_layer_laps
from papers.engine.sizes import Size, engine_laps

ROOT = Path(__file__).resolve().parents[3]
TOY = Size("toy", layers=2, heads=2, width=8, d=3, N=4, B=4, every=1)
SCALE = replace(
    QUICK,
    sizes=(TOY,),
    replicates=(2,),
    patterns=2,
    prompts=32,
    growth=((5,), (4,), (2,), (1,)),
    accuracy=0.3,
    side=64,
    copied=2**12,
)


# --- times --------------------------------------------------------------------------------------------------------


def test_contenders_take_turns_and_the_median_counts():
    order, values = [], iter([1.0, 10.0, 5.0, 20.0, 2.0, 90.0])

    def contender(name):
        return lambda: order.append(name) or [next(values)]

    assert speed.alternating({"a": contender("a"), "b": contender("b")}, 3) == {"a": 2.0, "b": 20.0}
    assert order == list("ababab")


def test_rates_divide_by_the_time(monkeypatch):
    """A clock that adds 2 s a look: every call takes 2 s."""
    ticks = iter(range(0, 10_000, 2))
    monkeypatch.setattr(speed, "timer", lambda: float(next(ticks)))
    assert speed.product_rate([(3, 4, 5, 6), (1, 2, 2, 2)], "cpu", 3) == (2 * 3 * 4 * 5 * 6 + 16) / 2
    assert speed.copy_rate(100, "cpu", 3) == 2 * 100 / 2


def test_laps_leave_out_the_warm_up(monkeypatch):
    """Marks at 100, 104 and 110 s, two steps apart: 2 s and 3 s a step, whatever came before the first."""
    watch, ticks = speed.Stopwatch(2), iter([100.0, 104.0, 110.0])
    monkeypatch.setattr(speed, "timer", lambda: next(ticks))
    assert watch.load() is None
    for _ in range(3):
        watch.save({})
    assert watch.laps() == [2.0, 3.0]
    with pytest.raises(ValueError, match="run at least 4 steps"):
        speed.Stopwatch(2).laps()


def test_a_training_is_timed_by_lap():
    assert len(engine_laps(TOY, 2, 3, 0, "cpu")) == 3
    assert all(seconds > 0 for seconds in one_layer_laps(2, 2, 0, "cpu"))


# --- the command --------------------------------------------------------------------------------------------------


def test_commands_in_the_prose_are_accepted():
    prose = [ROOT / "README.md", ROOT / "book" / "how_to_rerun.md", ROOT / "notebooks" / "engine.ipynb"]
    found = [words for path in prose for words in re.findall(r"\./run bench([^\n#`\\]*)", path.read_text(encoding="utf-8"))]
    assert len(found) >= 4
    for words in found:
        bench.parser().parse_args(shlex.split(words))


@pytest.fixture
def toy_scale(monkeypatch):
    monkeypatch.setattr(bench, "QUICK", SCALE)


@pytest.mark.long
def test_every_group_runs_and_is_written(toy_scale, tmp_path, capsys):
    pytest.importorskip("transformers")
    out = tmp_path / "bench.json"
    assert bench.main(["--quick", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert {"device", "threads", "torch", "numpy", "repeats"} == set(found["machine"])
    assert list(dict.fromkeys(row["group"] for row in found["rows"])) == list(bench.GROUPS)
    printed = capsys.readouterr().out
    for row in found["rows"]:
        assert row["what"] in printed
        numbers = {k: v for k, v in row.items() if k not in ("group", "what")}
        assert all(np.isfinite(v) and v > 0 for v in numbers.values()), row
        assert numbers or row["group"] == "build", row
        if "ratio" in row:
            assert row["ratio"] == pytest.approx(row["seconds"] / row["against_seconds"])
    counts = {group: sum(row["group"] == group for row in found["rows"]) for group in bench.GROUPS}
    assert counts["loop"] == 2 and counts["rates"] == 4 and counts["batches"] == 4 and counts["growth"] == 4


def test_groups_can_be_chosen(toy_scale, capsys):
    assert bench.main(["--quick", "--only", "closed-form"]) == 0
    assert capsys.readouterr().out.startswith("== closed-form\nerror to 30%")
    with pytest.raises(SystemExit) as stopped:
        bench.main(["--only", "nothing"])
    assert stopped.value.code == 2 and "invalid choice: 'nothing'" in capsys.readouterr().err


def test_bad_places_and_devices_are_told_in_one_sentence(toy_scale, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for words in (["--device", "cuda"], ["--quick", "--only", "build", "--out", "/proc/nowhere/bench.json"]):
        assert bench.main(words) == 2
        message = capsys.readouterr().err
        assert message.startswith("error: ") and message.count("\n") == 1


def test_without_transformers_the_rest_is_measured(monkeypatch):
    monkeypatch.setattr(training, "installed", lambda: False)
    rows = list(training.loop("cpu", SCALE))
    assert "not installed" in rows[0]["what"] and [set(row) for row in rows[1:]] == [{"what", "steps_per_second"}]


def test_a_row_is_one_readable_line():
    row = table.comparison("this / that", 3.0, 2.0) | {"kept_bytes": 2.5e6, "roof_rate": 4e10}
    assert " ".join(table.shown(row).split()) == "this / that seconds 3 s against 2 s ratio 1.5 kept 2.5 MB roof rate 40 10^9/s"


def test_the_build_is_read_from_its_records(tmp_path):
    assert [row.keys() for row in build("cpu", SCALE, tmp_path)] == [{"what"}]
    for name, seconds in {"alpha": 2.5, "beta": 4.0}.items():
        folder = tmp_path / "quick" / name
        folder.mkdir(parents=True)
        (folder / "record.json").write_text(json.dumps({"profile": "quick", "seconds": seconds}))
    whole, slowest = build("cpu", SCALE, tmp_path)
    assert whole == {"what": "book, quick: computing of 2 notebooks", "seconds": 6.5}
    assert slowest == {"what": "book, quick: the slowest, beta", "seconds": 4.0}
