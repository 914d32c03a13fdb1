"""The `run` script: what it refuses, when it makes an environment, and whose exit status it returns."""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from book.builder import arguments
from book.release import lock

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A copy of the files that `run` itself reads."""
    for name in ("run", "requirements.txt", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "book" / "builder").mkdir(parents=True)
    (tmp_path / "icl_lib" / "companion").mkdir(parents=True)
    read = ("book/__init__.py", "book/job.py", "book/builder/__init__.py", "book/builder/arguments.py")
    for name in (*read, "icl_lib/__init__.py", "icl_lib/typed.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "alpha.ipynb").write_text("{}")
    (tmp_path / "notebooks" / "beta.ipynb").write_text("{}")
    (tmp_path / "beta.ipynb").write_text("{}")
    return tmp_path


@pytest.fixture
def run(checkout):
    """The script as a module."""
    loader = importlib.machinery.SourceFileLoader("run_script", str(checkout / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_script", loader))
    loader.exec_module(module)
    return module


OF_PAPERS = "list, compute, figure, check, renew, train, sweep, merge, calibrate, patch"


def call(checkout, *words):
    return subprocess.run([sys.executable, "run", *words], cwd=checkout, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], f"book, pdf, test, lab, bench, gpu, outputs, faults, bundle, verify, {OF_PAPERS}"),
        (["bok"], "no command 'bok'"),
        (["book", "--profile", "fast"], "invalid choice: 'fast'"),
        (["bundel"], "no command 'bundel'; did you mean bundle"),
        (["book", "--only", "gamma"], "unknown notebook 'gamma': take one of alpha, beta"),
        (["book", "--only", "alhpa"], "unknown notebook 'alhpa': did you mean alpha?"),
        (["book", "--quick"], "--quick"),
        (["book", "--only"], "expected one argument"),
        (["test", "notebooks/gamma.ipynb"], "no file 'notebooks/gamma.ipynb'"),
        (["test", "tests/test_none.py::test_one"], "no file 'tests/test_none.py::test_one'"),
        (["test", "beta.ipynb"], "'beta.ipynb' is none of the committed notebooks"),
        (["test", "notebooks/alpha.ipynb", "-k", "word"], "'-k' is for pytest, notebooks is not"),
        (["test", "--all", "-x"], "'-x' is for pytest, --all is not"),
    ],
)
def test_bad_input_is_one_sentence_and_makes_nothing(checkout, words, told):
    done = call(checkout, *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


def test_help_is_no_error(checkout):
    done = call(checkout, "--help")
    assert done.returncode == 0
    assert "./run book" in done.stdout


def test_the_notebook_may_be_named_by_its_path(checkout):
    assert arguments.parse(["--only", "notebooks/beta.ipynb"], checkout).only == "beta"


def test_environment_is_made_once_and_again_after_a_change(run, checkout, monkeypatch):
    steps = []

    def pretend(command):
        steps.append(command)
        run.BIN.mkdir(parents=True, exist_ok=True)
        run.PYTHON.touch()

    monkeypatch.setattr(run, "install", pretend)
    run.ensure_environment()
    made = len(steps)
    assert made > 0
    run.ensure_environment()
    assert len(steps) == made
    (checkout / "requirements.txt").write_text((checkout / "requirements.txt").read_text() + "\n# changed\n")
    run.ensure_environment()
    assert len(steps) > made


def test_a_locked_environment_takes_files_with_digests_only_and_serves_every_call(run, monkeypatch):
    steps = []

    def pretend(command):
        steps.append([str(word) for word in command])
        run.BIN.mkdir(parents=True, exist_ok=True)
        run.PYTHON.touch()

    monkeypatch.setattr(run, "install", pretend)
    run.ensure_environment()
    made = len(steps)
    run.ensure_environment(locked=True)
    (packages,) = (step for step in steps[made:] if "-r" in step)
    assert {"--require-hashes", "--no-deps"} <= {*packages}
    assert packages[-1] == str(run.ROOT / run.LOCK)
    made = len(steps)
    run.ensure_environment(locked=True)
    run.ensure_environment()
    assert len(steps) == made
    (run.ROOT / "requirements.lock").write_text("# other digests\n")
    run.ensure_environment(locked=True)
    assert len(steps) > made


def test_interrupted_installation_leaves_no_stamp(run, monkeypatch):
    run.BIN.mkdir(parents=True)
    run.PYTHON.touch()
    run.STAMP.write_text("of an older environment")

    def interrupted(command):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "install", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.ensure_environment()
    assert not run.STAMP.exists()


def test_failed_installation_shows_its_output(run, capfd):
    with pytest.raises(run.Problem):
        run.install([sys.executable, "-c", "print('no such package'); raise SystemExit(1)"])
    assert "no such package" in capfd.readouterr().err


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_missing_venv_module_is_told(run, monkeypatch, missing):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find(name))
    with pytest.raises(run.Problem, match="no venv module"):
        run.ensure_environment()


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_an_environment_behind_a_link_is_kept(run, tmp_path):
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "kept").touch()
    run.VENV.symlink_to(elsewhere)
    with pytest.raises(run.Problem, match="take the link away"):
        run.ensure_environment()
    assert (elsewhere / "kept").exists()


@pytest.mark.parametrize("version", [(3, 10, 4), (3, 15, 2)])
def test_a_python_without_files_for_the_pins_is_told(version, run, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(run.Problem, match=rf"^Python 3\.11 to 3\.14 is needed; this is 3\.{version[1]}\.$"):
        run.main(["book"])


def test_the_pythons_are_those_of_the_lock_wherever_they_are_told(run):
    assert [lock.PYTHONS[end] for end in (0, -1)] == ["{}.{}".format(*each) for each in (run.OLDEST, run.NEWEST)]
    told = re.compile(rf"Python(\*\*)? {lock.PYTHONS[0]} (to|至) {lock.PYTHONS[-1]}\b")
    for name in ("run", "README.md", "requirements.txt", "book/index.md", "book/index.zh.md", "book/environment.md"):
        assert told.search((ROOT / name).read_text(encoding="utf-8")), name


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for .venv is a symbolic link")
def test_exit_status_and_variables_are_those_of_the_job(run, checkout):
    run.BIN.mkdir(parents=True)
    run.PYTHON.symlink_to(sys.executable)
    run.STAMP.write_text(run.fingerprint())
    (checkout / "book" / "builder" / "__main__.py").write_text(
        "import os, sys\nprint(os.environ['JUPYTER_PREFER_ENV_PATH'], *sys.argv[1:])\nsys.exit(7)\n"
    )
    done = call(checkout, "book", "--only", "alpha", "--fresh")
    assert done.returncode == 7
    assert done.stdout.split() == ["1", "--only", "alpha", "--fresh"]


@pytest.fixture
def called(run, monkeypatch):
    """The commands of `run test`, none of which is run; the style check fails."""
    commands = []

    def pretend(command, variables):
        commands.append(command)
        return 3 if "format" in command else 0

    monkeypatch.setattr(run, "status_of", pretend)
    return commands


def test_every_check_runs_also_after_one_has_failed(run, checkout, called, capsys):
    assert run.test(arguments.parse_test(["--all"], checkout)) == 3
    assert len(called) == 5
    assert called[-1][-2:] == ["book.builder.check", "--all"]
    summary = capsys.readouterr().out.split("== summary")[1]
    assert summary.count("passed") == 4 and summary.count("FAILED") == 1


def test_what_fails_is_run_once_more_for_its_values(run, checkout, monkeypatch):
    commands = []
    monkeypatch.setattr(run, "status_of", lambda command, variables: commands.append(command) or int("pytest" in command))
    assert run.test(arguments.parse_test([], checkout)) == 1
    first, second = (command for command in commands if "pytest" in command)
    assert "--assert=plain" in first and "--assert=plain" not in second and "--last-failed" in second
    assert {*first} - {*second} == {"--assert=plain"}


def test_pytest_arguments_are_handed_on(run, checkout, called):
    (checkout / "tests").mkdir()
    (checkout / "tests" / "test_one.py").touch()
    for words in (["-k", "word", "tests/test_one.py::test_that"], ["-q", "-k", "beta"]):  # a notebook's name, too
        assert run.test(arguments.parse_test(words, checkout)) == 0
        assert called[-1][-3:] == words and "pytest" in called[-1]
    assert len(called) == 2


def test_notebooks_are_checked_by_file_by_name_or_all(run, checkout, called):
    run.test(arguments.parse_test(["notebooks/beta.ipynb"], checkout))
    run.test(arguments.parse_test(["beta"], checkout))
    run.test(arguments.parse_test(["notebooks", "--all"], checkout))
    assert [command[2:] for command in called] == [
        *[["book.builder.check", "notebooks/beta.ipynb"]] * 2,
        ["book.builder.check", "--all", "notebooks/alpha.ipynb", "notebooks/beta.ipynb"],
    ]


def test_help_on_lab_installs_nothing(run, monkeypatch, capsys):
    monkeypatch.delattr(run, "install")
    assert run.lab(["--help"]) == 0 and capsys.readouterr().out.startswith("./run lab [--reset] ")
