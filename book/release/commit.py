"""The commit that an edition is made of: clean, with its date and its files."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

from book.builder.problem import Problem
from book.citation.record import Edition


def clean_commit(root: Path) -> Edition:
    """The commit of a checkout in which nothing differs from it, or a Problem."""
    changed = _git(root, "status", "--porcelain").decode().splitlines()
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise Problem(f"{changed[0][3:]}{more} differs from the last commit, of which a bundle is made; commit it first.")
    commit, seconds = _git(root, "show", "-s", "--format=%H %ct", "HEAD").decode().split()
    return Edition(commit, int(seconds))


def export(root: Path, edition: Edition, target: Path) -> None:
    """Write the files of the commit below `target`; what else lies there, executed notebooks above all, stays."""
    packed = _git(root, "archive", "--format=tar", edition.commit)
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        for name in {member.name.split("/")[0] for member in files if member.isdir()}:
            shutil.rmtree(target / name, ignore_errors=True)  # no file of an export that was cut short
        files.extractall(target, filter="data")


def names(root: Path, edition: Edition) -> list[str]:
    """The files of the commit."""
    listed = _git(root, "ls-tree", "-r", "-z", "--name-only", edition.commit)
    return [name for name in listed.decode().split("\0") if name]


def _git(root: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True)
    except OSError as error:
        raise Problem("A bundle is made of a commit, and there is no git here; install it.") from error
    except subprocess.CalledProcessError as error:
        told = (error.stderr.decode(errors="replace").strip().splitlines() or [""])[-1]
        raise Problem(f"A bundle is made of a commit, and git gives none of this folder: {told}.") from error
    return done.stdout
