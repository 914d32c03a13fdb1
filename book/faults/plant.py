"""The faults, and copies of the code with one of them in it."""

import ast
import hashlib
import json
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from book.build.problem import Problem
from icl_lib.companion import results

FILE = "planted.txt"
STORED = "faults.json"
"""What became of the faults, in ``book/data``."""
COPIED = ("icl_lib", "papers", "tests", "pyproject.toml")


@dataclass(frozen=True)
class Fault:
    """One replacement in one file of ours; ``kind`` is the heading that it stands under."""

    kind: str
    file: str
    right: str
    wrong: str

    @property
    def module(self) -> str:
        """The module that it is in."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def definition(self, root: Path) -> str:
        """Return the name that the top-level statement around the fault binds; empty when it binds none."""
        source = (root / self.file).read_text(encoding="utf-8")
        line = source[: source.index(self.right)].count("\n") + 1
        for statement in ast.parse(source).body:
            first = min([statement.lineno, *(mark.lineno for mark in getattr(statement, "decorator_list", ()))])
            if first <= line <= statement.end_lineno:
                names = [
                    node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                ]
                return getattr(statement, "name", names[0] if names else "")
        return ""

    def __str__(self) -> str:
        return f"{self.file}: {self.right} -> {self.wrong}"


def read(root: Path) -> list[Fault]:
    """Return the faults of the list, ``FILE | RIGHT | WRONG`` a line below headings; raises Problem naming a bad line."""
    found, kind = [], ""
    for number, line in enumerate((root / "book" / "faults" / FILE).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            kind = line.lstrip("# ").strip()
        elif line.strip():
            parts = line.split(" | ")
            if len(parts) != 3:
                raise Problem(f"{FILE}, line {number}: write FILE | RIGHT | WRONG, with blanks around the bars.")
            found.append(Fault(kind, *(part.strip() for part in parts)))
            _require_one(found[-1], number, root)
    return found


def _require_one(fault: Fault, number: int, root: Path) -> None:
    file = root / fault.file
    times = file.read_text(encoding="utf-8").count(fault.right) if file.is_file() else 0
    if times != 1:
        raise Problem(f"{FILE}, line {number}: {fault.file} has '{fault.right}' {times} times; quote what is there once.")


def copy(fault: Fault | None, root: Path, to: Path) -> None:
    """Copy the code with a fault in it; stored results and weights are those of ``root``."""
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(root / name, to / name)
    (to / "book").mkdir()
    (to / "book" / "data").symlink_to(root / "book" / "data", target_is_directory=True)
    if fault is not None:
        source = (to / fault.file).read_text(encoding="utf-8")
        (to / fault.file).write_text(source.replace(fault.right, fault.wrong), encoding="utf-8")


@cache
def code(root: Path, *names: str) -> tuple[Path, ...]:
    """Return the files that decide what becomes of a fault, or those below these names alone."""
    return tuple(
        sorted(path for name in names or COPIED for path in [root / name, *(root / name).rglob("*.py")] if path.is_file())
    )


@cache
def digest(files: tuple[Path, ...]) -> str:
    """Return the digest of the bytes of these files."""
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()[:24]


def keep(content: dict, path: Path) -> None:
    """Write what became of faults, whole or not at all."""
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    results.write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
