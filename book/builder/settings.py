"""The files by which a reader sets what the book is, looked at before anything is made of them."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import yaml

from book.builder.problem import Problem

READERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("_config.yml", "_toc.yml", "CITATION.cff"), yaml.safe_load),
    "pyproject.toml": tomllib.loads,
    "book/data/quick.json": json.loads,
}


def require_settings(root: Path) -> None:
    """Raise a Problem that names the first of these files that cannot be read, or in which there is no table."""
    for name, read in READERS.items():
        path = root / name
        if path.exists():
            try:
                told = read(path.read_text(encoding="utf-8"))
            except (ValueError, yaml.YAMLError, RecursionError) as error:  # each reader's own are values that are wrong
                first = " ".join(str(error).split())[:160]
                raise Problem(f"{name} cannot be read: {first}. Mend it, or restore it from git.") from error
            if not isinstance(told, dict):
                raise Problem(f"{name} holds no table of names and values; restore it from git.")
            if name == "_toc.yml" and not isinstance(told.get("root"), str):
                raise Problem(f"{name} names no first page, as in 'root: book/index'; mend it, or restore it from git.")


def pages_in_contents(root: Path) -> list[str]:
    """The pages that the table of contents names, the first one among them."""
    return re.findall(r"\b(?:file|root): *(\S+)", (root / "_toc.yml").read_text(encoding="utf-8"))


def require_in_contents(names: Iterable[str], root: Path) -> None:
    """Raise a Problem that names the first of these notebooks that the table of contents does not."""
    shown = pages_in_contents(root)
    for name in names:
        if f"notebooks/{name}" not in shown:
            raise Problem(f"notebooks/{name}.ipynb is in no part of _toc.yml: add a line '- file: notebooks/{name}' to one.")
