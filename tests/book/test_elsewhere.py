"""The small book on other machines: what does not matter changes no byte, and what is missing is told in a sentence."""

import errno
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
import toy_book
from killed_commands import site
from toy_book import MAIN, build, environment, snapshot, stale

from book.builder import book, render
from book.builder.layout import Layout
from book.release import commit

OFFLINE = """
import errno, os, socket

HERE = ("127.0.0.1", "::1", "localhost", "", None)
connect, look_up = socket.socket.connect, socket.getaddrinfo


def refuse(host):
    with open(os.environ["TRIED"], "a") as tried:
        tried.write(f"{host}\\n")
    raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))


def only_here(self, address):
    return refuse(address[0]) if isinstance(address, tuple) and address[0] not in HERE else connect(self, address)


socket.socket.connect = only_here
socket.getaddrinfo = lambda host, *rest, **named: look_up(host, *rest, **named) if host in HERE else refuse(host)
"""
OTHER_PLACE = {"LC_ALL": "C", "TZ": "XYZ-24", "PYTHONHASHSEED": "7", "PATH": os.devnull}
can_be_alone = pytest.mark.skipif(os.name != "posix", reason="builds are kept apart by locks of POSIX")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return toy_book.built(tmp_path_factory)


def on_one_core():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def called(root, *words, **variables):
    done = subprocess.run(
        [sys.executable, *words],
        cwd=root,
        env=environment(root) | variables,
        capture_output=True,
        text=True,
        errors="replace",
        preexec_fn=on_one_core if os.name == "posix" else None,
    )
    return SimpleNamespace(status=done.returncode, said=done.stdout + done.stderr)


@pytest.fixture(scope="module")
def elsewhere(checkout, tmp_path_factory):
    """The same book, built where folder, language, time zone, hashes and cores are others; without git and network."""
    root = tmp_path_factory.mktemp("other") / "ein Büch 書 'é'"
    shutil.copytree(checkout, root, ignore=shutil.ignore_patterns("_build", "__pycache__"))
    (root / "sitecustomize.py").write_text(OFFLINE, encoding="utf-8")
    tried = root.parent / "tried"
    reaching = "import socket; socket.create_connection(('icl.example.org', 80))"
    assert "Network is unreachable" in called(root, "-c", reaching, TRIED=str(tried)).said
    assert tried.read_text() == "icl.example.org\n"
    made = called(root, "-m", "book.builder", TRIED=str(tried), **OTHER_PLACE)
    assert made.status == 0, made.said
    return SimpleNamespace(root=root, tried=tried.read_text().split()[1:])


@pytest.mark.long
def test_built_elsewhere_it_is_the_same_bytes(checkout, elsewhere):
    wanted, found = site(checkout), site(elsewhere.root)
    assert [name for name in {**wanted, **found} if wanted.get(name) != found.get(name)] == []


@pytest.mark.long
def test_a_build_reaches_for_no_network(elsewhere):
    assert elsewhere.tried == []


@pytest.mark.long
def test_a_clock_that_was_set_back_hides_no_change(elsewhere):
    for path in elsewhere.root.rglob("*"):
        built = "_build" in path.parts
        os.utime(path, (4e9, 4e9) if built else (2e9, 2e9))
    assert stale(elsewhere.root) == []
    beta = elsewhere.root / "icl_lib" / "beta.py"
    beta.write_text("VALUE = 7\n")
    os.utime(beta, (1e9, 1e9))
    assert stale(elsewhere.root) == [MAIN]


@pytest.mark.long
@can_be_alone
def test_of_two_builds_at_once_the_second_is_refused(checkout):
    before = snapshot(checkout)
    with book.alone(Layout(checkout)):
        refused = build(checkout)
    assert refused.status == 1 and refused.said.startswith("Another build of this book is running; wait for it to end.")
    assert snapshot(checkout) == before
    assert "No page would change" in build(checkout).said


def can_mount():
    return bool(shutil.which("unshare")) and not subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode


@pytest.mark.long
@pytest.mark.skipif(not can_mount(), reason="a file system can be made read-only by who may mount")
def test_a_checkout_that_cannot_be_written_is_told_in_a_sentence(checkout):
    program = 'mount --bind . . && mount -o remount,ro,bind "$PWD" && cd "$PWD" && exec "$0" -m book.builder'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", program, sys.executable],
        cwd=checkout,
        env=environment(checkout) | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told.startswith("Stopped: Read-only file system (") and told.endswith(f"run it there. {book.UNTOUCHED}")


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_is_full_is_told_in_a_sentence_and_nothing_is_lost(checkout):
    import resource

    page, before = checkout / "book" / "cite.md", snapshot(checkout)
    kept = page.read_bytes()
    page.write_bytes(kept + b"\nAnother line.\n")
    done = subprocess.run(
        [sys.executable, "-m", "book.builder"],
        cwd=checkout,
        env=environment(checkout),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
    )
    page.write_bytes(kept)
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told.startswith("Stopped: File too large") and told.endswith(f"Free some space and run it again. {book.UNTOUCHED}")
    assert snapshot(checkout) == before
    assert "No page would change" in build(checkout).said


def test_a_disk_that_fills_while_pages_are_made_is_told_once(tmp_path, capsys):
    said = "WARNING: Failed to copy a file: OSError(28, 'No space left on device')\n" * 200
    with pytest.raises(OSError) as stopped:
        render.require_rendered(True, said, tmp_path)
    assert stopped.value.errno == errno.ENOSPC and capsys.readouterr().out == ""
    with pytest.raises(book.Problem):
        render.require_rendered(True, "WARNING: a word\n", tmp_path)
    assert capsys.readouterr().out == "WARNING: a word\n\n"


def test_a_page_that_was_not_written_is_told_in_a_sentence(tmp_path):
    (tmp_path / "_toc.yml").write_text("root: book/index\nparts:\n  - chapters:\n      - file: book/a\n      - file: book/b\n")
    for name in ("index", "a"):
        (tmp_path / "book").mkdir(exist_ok=True)
        (tmp_path / "book" / f"{name}.html").touch()
    with pytest.raises(book.Problem, match="wrote no page of book/b, and"):
        render.require_whole(tmp_path, tmp_path)
    (tmp_path / "book" / "b.html").touch()
    render.require_whole(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "", "a.html"), "No space left on device (a.html). Free some space and run it again. "),
        (shutil.Error([("a", "b", "[Errno 28] No space left on device")]), "No space left on device. Free some space"),
        (OSError(errno.EACCES, "", "_build"), "Permission denied (_build). Copy the book to where you may write"),
        (OSError(errno.ENOENT, "", "a.md"), "No such file or directory (a.md). "),
        (shutil.Error([("a", "b", "odd")]), "files could not be copied. "),
    ],
)
def test_what_went_wrong_with_a_file_is_told_with_what_to_do(error, told):
    assert book.in_words(error).startswith(told)


def test_without_git_a_bundle_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(book.Problem, match="there is no git here; install it"):
        commit.clean_commit(tmp_path)
