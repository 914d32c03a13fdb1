"""The planted faults: small wrong changes, each with the words that it replaces."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from book.builder.problem import Problem
from book.faults.mutants import functions
from icl_lib.companion import digests

FILE = "planted.txt"
STORED = "faults.json"
"""What became of the faults, in ``book/data``."""
CODE = ("icl_lib", "papers", "tests", "pyproject.toml")


@dataclass(frozen=True)
class Fault:
    """One replacement in one file of ours; ``kind`` is the heading that it stands under, ``function`` where it lies."""

    kind: str
    file: str
    right: str
    wrong: str
    function: str

    def source(self, root: Path) -> str:
        """Return the source of the file with the replacement made."""
        return (root / self.file).read_text(encoding="utf-8").replace(self.right, self.wrong)

    def __str__(self) -> str:
        return f"{self.file}: {self.right} -> {self.wrong}"


def read(root: Path) -> list[Fault]:
    """Return the faults of the list, ``FILE | RIGHT | WRONG`` a line below headings; raises Problem naming a bad line."""
    found, kind = [], ""
    for number, line in enumerate((root / "book" / "faults" / FILE).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            kind = line.lstrip("# ").strip()
        elif line.strip():
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3:
                raise Problem(f"{FILE}, line {number}: write FILE | RIGHT | WRONG, with blanks around the bars.")
            found.append(Fault(kind, *parts, _function(parts[0], parts[1], number, root)))
    return found


def _function(file: str, right: str, number: int, root: Path) -> str:
    """Return the function in whose body the words stand; raises Problem where they do not stand in one, once."""
    source = (root / file).read_text(encoding="utf-8") if (root / file).is_file() else ""
    if source.count(right) != 1:
        raise Problem(f"{FILE}, line {number}: {file} has '{right}' {source.count(right)} times; quote what is there once.")
    line = source[: source.index(right)].count("\n") + 1
    bodies = {name: (each.body[0].lineno, each.end_lineno) for name, each in functions(_parsed(source))}
    inside = [name for name, (first, last) in bodies.items() if first <= line <= last]
    if not inside:
        raise Problem(f"{FILE}, line {number}: '{right}' lies in no function of {file}; what is changed is a function's code.")
    return inside[0]


_parsed = cache(ast.parse)


@cache
def code(root: Path, *names: str) -> tuple[Path, ...]:
    """Return the files that decide what becomes of a fault, or those below these names alone."""
    return tuple(
        sorted(path for name in names or CODE for path in [root / name, *(root / name).rglob("*.py")] if path.is_file())
    )


@cache
def digest(files: tuple[Path, ...]) -> str:
    """Return the digest of the bytes of these files."""
    return digests.of_bytes(*(bytes.fromhex(digests.of_file(path)) for path in files))[:24]
