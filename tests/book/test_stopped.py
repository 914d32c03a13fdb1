"""What stops a job from outside: a signal, a reader that goes, a library that is broken; and two first calls at once."""

import importlib
import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and locks of POSIX")
RUN = """
import importlib.machinery, importlib.util, os, signal, sys
loader = importlib.machinery.SourceFileLoader("run_script", {run!r})
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_script", loader))
loader.exec_module(run)
signal.signal(signal.SIGTERM, signal.default_int_handler)
"""
FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open("pids", "w").write(f"{os.getpid()} {child.pid} ")
time.sleep(60)
"""


@pytest.fixture
def run():
    loader = importlib.machinery.SourceFileLoader("run_script", str(ROOT / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_script", loader))
    loader.exec_module(module)
    return module


def lives(pid):
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for(found, seconds=20):
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.05)
    return found()


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_check_ends_with_the_run_that_started_it(tmp_path, stop):
    (tmp_path / "family.py").write_text(FAMILY)
    program = (
        RUN.format(run=str(ROOT / "run"))
        + f"run.ROOT = {str(tmp_path)!r}; run.status_of([sys.executable, 'family.py'], os.environ)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    pids = tmp_path / "pids"
    assert wait_for(lambda: pids.exists() and pids.read_text().endswith(" "))
    children = pids.read_text().split()
    process.send_signal(stop)
    process.wait(20)
    ended = children if stop != signal.SIGKILL else children[:1]  # workers of pytest end when its pipes close
    assert wait_for(lambda: not any(map(lives, ended)))
    for pid in filter(lives, children):
        os.kill(int(pid), signal.SIGKILL)


def job(tmp_path, text, **options):
    (tmp_path / "some_job.py").write_text(text)
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    command = [sys.executable, "-m", "book.job", "some_job", "--word"]
    return subprocess.Popen(command, env=os.environ | paths, text=True, **options)


def said(tmp_path, text):
    process = job(tmp_path, text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate()
    return process.returncode, out, err


def test_a_job_has_its_words_and_its_status(tmp_path):
    assert said(tmp_path, "import sys; print(sys.argv[1:]); sys.exit(7)") == (7, "['--word']\n", "")


def test_an_interrupt_while_libraries_are_imported_is_one_sentence(tmp_path):
    text = "import os, signal; os.kill(os.getpid(), signal.{}); import time; time.sleep(9)"
    for name in ("SIGINT", "SIGTERM"):
        status, _, err = said(tmp_path, text.format(name))
        assert status == 130 and err.startswith("Stopped;") and err.count("\n") == 1


def test_a_library_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "broken.py").write_text("x = (\n")
    for text, told in (
        ("import broken", "broken.py, line 1: '(' was never closed"),
        ("import gone", "No module named 'gone'."),
    ):
        status, _, err = said(tmp_path, text)
        assert status == 1 and told in err and "estore it from git" in err.replace("the library", "it") and err.count("\n") == 1


def test_a_reader_that_goes_is_no_fault(tmp_path):
    process = job(tmp_path, "for n in range(10**5): print(n)", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == 141


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_no_file_takes_the_place_of_a_stream_that_is_closed(tmp_path, closed):
    """The next file that is opened has the lowest number that is free, and what is printed would stand in it."""
    program = (
        RUN.format(run=str(ROOT / "run"))
        + f"""
os.close({closed})
run.open_streams()
with open({str(tmp_path / "data")!r}, "w"):
    print("a word", flush=True)
    print("a word", file=sys.stderr, flush=True)
    os.system("echo a word")
"""
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
    assert (tmp_path / "data").read_text() == ""


def test_a_terminal_without_the_signs_gets_others(tmp_path):
    (tmp_path / "some_job.py").write_text("print('a \u2264 b \u27e8')")
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]), "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-m", "book.job", "some_job"], env=os.environ | paths, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a ? b ?\n", b"")


@pytest.mark.long
def test_of_two_first_calls_the_second_waits_and_uses_what_the_first_makes(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    made, there = [], [False, True]
    monkeypatch.setattr(run, "ready", lambda locked: there.pop(0))  # it is made between the two looks
    monkeypatch.setattr(run, "make_environment", made.append)
    program = (
        RUN.format(run=str(ROOT / "run"))
        + f"""
from pathlib import Path
import time
run.ROOT = Path({str(tmp_path)!r})
with run.alone():
    Path(run.ROOT, "held").touch()
    time.sleep(2)
"""
    )
    first = subprocess.Popen([sys.executable, "-c", program])
    assert wait_for((tmp_path / "held").exists)
    run.ensure_environment()
    assert made == [] and there == []
    assert "Another call is making .venv; waiting for it." in capsys.readouterr().out
    assert first.wait() == 0


def test_another_python_says_that_it_makes_the_environment_anew(run, tmp_path, monkeypatch, capsys):
    for name in ("VENV", "STAMP"):
        monkeypatch.setattr(run, name, tmp_path / (name if name == "STAMP" else ""))
    monkeypatch.setattr(run, "install", lambda command: None)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.9.1\n")
    run.make_environment(False)
    here = ".".join(map(str, sys.version_info[:3]))
    assert f"Making .venv anew: that of Python 3.9.1 is replaced by one of {here}." in capsys.readouterr().out


def test_caches_lie_in_the_folder_and_the_caller_is_handed_on(run):
    variables = run.environment()
    for name in ("MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"):
        assert variables[name] == os.environ.get(name, str(ROOT / "_build" / "home" / name.lower()))
    assert variables["ICL_CALLER"] == os.getcwd()


def test_lab_on_a_disk_that_cannot_be_written_is_told(run, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, how: False)
    with pytest.raises(run.Problem, match="cannot be written; copy the book elsewhere"):
        run.lab([])


UNKNOWN = [
    ("book.builder.outputs", ["--junk"], "unrecognized arguments: --junk"),
    ("book.builder.pdf", ["--junk"], "unrecognized arguments: --junk"),
    ("book.faults.__main__", ["junk", "--everywhere"], "--everywhere takes the place of the list"),
    ("book.faults.__main__", ["--everywhere", "-1"], "a number of at least 1"),
    ("papers.engine.on_gpu", ["--junk"], "unrecognized arguments: --junk"),
    ("book.faults.__main__", ["junk"], "no planted fault has junk in its line"),
    ("papers.engine.bench.__main__", ["--only", "junk"], "invalid choice: 'junk'"),
]


@pytest.mark.parametrize(("module", "words", "told"), UNKNOWN)
def test_words_that_a_job_does_not_know_are_refused(module, words, told, capsys):
    main = importlib.import_module(module).main
    with pytest.raises(SystemExit) as refused:
        main(words)
    said = capsys.readouterr().err
    assert refused.value.code == 2 and told in said and said.count("\n") == 1
    if words[0].startswith("-"):
        with pytest.raises(SystemExit) as helped:
            main(["--help"])
        assert helped.value.code == 0 and "usage: ./run" in capsys.readouterr().out
