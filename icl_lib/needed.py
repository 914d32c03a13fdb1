"""Whether packages have what they ask for, in a sentence, before they are imported."""

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement


class Missing(ValueError):
    """A package that one result needs; a notebook shows its sentence alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


RANGES = "ranges.txt"
"""The file of a package that lists what it asks for, a requirement a line."""


def require(*packages: str) -> None:
    """Raise ImportError that names all that these packages ask for and that is missing or has a version out of range.

    >>> from icl_lib.needed import require
    >>> require("icl_lib")
    >>> require("icl_lib", "wings")
    Traceback (most recent call last):
        ...
    ImportError: wings is missing
    """
    if told := [sentence for package in packages for sentence in _lacking(package)]:
        raise ImportError(", ".join(told))


def require_beside(what: str, *names: str) -> None:
    """Raise Missing for a package that something needs beside what all of the library needs.

    >>> from icl_lib.needed import require_beside
    >>> require_beside("toy-coin", "numpy", "cointossing")
    Traceback (most recent call last):
        ...
    icl_lib.needed.Missing: toy-coin needs cointossing, which is missing: install it with pip install cointossing
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise Missing(f"{what} needs {name}, which is missing: install it with pip install {name}")


def _lacking(package: str) -> Iterator[str]:
    found = importlib.util.find_spec(package)
    if found is None:
        yield f"{package} is missing"
        return
    lines = Path(found.origin).with_name(RANGES).read_text(encoding="utf-8").splitlines()
    for asked in (Requirement(line) for line in lines if not line.startswith("#")):
        try:
            version = importlib.metadata.version(asked.name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{asked.name} is missing"
        else:
            if not asked.specifier.contains(version, prereleases=True):
                yield f"{asked} is needed, not {version}"
