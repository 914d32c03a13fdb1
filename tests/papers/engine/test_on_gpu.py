"""The one call for a GPU machine: its steps exist, keep to their time, and go on where they were stopped."""

import json
import sys

import pytest

from papers import __main__ as command_line
from papers import registry
from papers.engine import on_gpu
from papers.engine.bench.__main__ import parser as bench_parser


def test_every_step_is_a_command_that_exists(tmp_path):
    commands = on_gpu.steps("cuda", tmp_path)
    asked = {name: command_line.parser().parse_args(commands[name][2:]) for name in ("roofline", "check", "train")}
    assert asked["roofline"].device == asked["check"].device == asked["train"].device == "cuda"
    assert {*on_gpu.LIVE} <= {*registry.EXPERIMENTS} and {*on_gpu.PAPER} <= {*registry.PUBLISHED_TRAININGS}
    assert bench_parser().parse_args(commands["bench"][2:]).device == "cuda"
    root = on_gpu.BOOK.root
    assert all((root / word).exists() for word in commands["tests"] if word.startswith("tests/"))
    assert sum(on_gpu.LONGEST.values()) < 40 and {*on_gpu.LONGEST} == {*commands} - {"train"}


@pytest.mark.long
def test_what_is_through_is_not_done_again_and_what_is_not_is_told(tmp_path, capsys):
    noted = tmp_path / "ran"
    count = f"open({str(noted)!r}, 'a').write('x')"
    commands = {"good": ["-c", count], "bad": ["-c", "import sys; sys.exit(3)"], "long": ["-c", "import time; time.sleep(60)"]}
    done = on_gpu.run(commands, 0.05, tmp_path)
    assert {name: step["status"] for name, step in done.items()} == {
        "good": "done",
        "bad": "failed with status 3",
        "long": "stopped when its time was over",
    }
    assert json.loads((tmp_path / on_gpu.NOTE).read_text()) == done
    again = on_gpu.run({"good": commands["good"], "bad": ["-c", count], "long": ["-c", count]}, 1, tmp_path)
    assert noted.read_text() == "xxx" and {step["status"] for step in again.values()} == {"done"}
    assert "== good" not in capsys.readouterr().out.rpartition("== bad")[2]


def test_steps_start_with_this_python_and_their_words_are_kept(tmp_path):
    on_gpu.run({"tell": ["-c", "import sys; print(sys.executable)"]}, 1, tmp_path)
    assert (tmp_path / "tell.txt").read_text().strip() == sys.executable


@pytest.mark.parametrize(
    ("words", "told"), [([], "cuda"), (["--minutes", "0"], "positive"), (["--minutes", "nan"], "positive")]
)
def test_bad_input_is_one_sentence(words, told, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    try:
        status = on_gpu.main(words)
    except SystemExit as left:
        status = left.code
    assert status == 2 and told in capsys.readouterr().err.lower()
