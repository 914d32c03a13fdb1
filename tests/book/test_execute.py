"""One notebook in its own process: what it is told to run, and how a failure is told."""

import os
from multiprocessing.process import BaseProcess
from pathlib import Path

import nbformat
import pytest

from book.builder import execute, workers


def write_notebook(path, source, tag):
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_code_cell('profile = "quick"\nseed = 0', metadata={"tags": [tag]}),
        nbformat.v4.new_code_cell(source),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "tag", "told"),
    [
        ("x = 1\n1 / 0", "parameters", "cell 3/3 failed with ZeroDivisionError: division by zero"),
        ("import os; os._exit(1)", "parameters", "the kernel died in cell 3/3"),
        ("1", "other", "no cell tagged 'parameters' sets 'profile'"),
    ],
)
def test_bad_notebook_is_told_in_one_sentence(monkeypatch, tmp_path, source, tag, told):
    (tmp_path / "notebooks").mkdir()
    write_notebook(tmp_path / "notebooks" / "bad.ipynb", source, tag)
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    tasks = {"bad": (execute.work, ("bad", "quick", str(tmp_path), ("quick",)))}
    outcome = workers.run_all(tasks, tmp_path, {}, [])["bad"]
    assert outcome.status == 1
    assert told in outcome.complaint


def test_one_that_was_killed_says_so_whatever_it_said_before():
    assert workers.Outcome(-9, 1.0, ("UserWarning: harmless",)).complaint.startswith("it was killed by signal 9")
    assert workers.Outcome(1, 1.0, ("a: b", "why")).complaint == "why"


def test_how_a_task_ended_is_what_it_says_itself(monkeypatch, tmp_path):
    tasks = {"right": (int, ("0",)), "wrong": (int, ("3",)), "dead": (os._exit, (7,))}
    assert {name: one.status for name, one in workers.run_all(tasks, tmp_path, {}, []).items()} == dict(
        right=0, wrong=3, dead=7
    )
    monkeypatch.setattr(BaseProcess, "exitcode", 255)  # what a thread is told when another has read the exit status before it
    assert {name: one.status for name, one in workers.run_all(tasks, tmp_path, {}, []).items()} == dict(
        right=0, wrong=3, dead=255
    )


def test_page_shows_the_profile_that_was_run(tmp_path):
    cells = [
        nbformat.v4.new_code_cell('profile = "quick"\nseed = 0', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell('profile = "full"', metadata={"tags": ["injected-parameters"]}),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "x.ipynb")
    execute.fold_parameters(tmp_path / "x.ipynb", "full")
    (cell,) = nbformat.read(tmp_path / "x.ipynb", as_version=4).cells
    assert cell.source == 'profile = "full"\nseed = 0'


@pytest.mark.parametrize("words", execute.NO_ANSWER)
def test_a_kernel_that_never_answers_is_started_once_more(monkeypatch, tmp_path, words):
    calls = []

    def papermill_run(source, target, **settings):
        calls.append(target)
        if len(calls) < 2 or source.name == "never.ipynb":
            raise RuntimeError(f"{words} in 60 seconds")

    monkeypatch.setattr(execute.papermill, "execute_notebook", papermill_run)
    execute.run(Path("once.ipynb"), tmp_path / "once.ipynb", "quick")
    assert len(calls) == 2
    with pytest.raises(RuntimeError, match=words):
        execute.run(Path("never.ipynb"), tmp_path / "never.ipynb", "quick")
    assert len(calls) == 4
