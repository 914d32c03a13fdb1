"""A paper, as a wing of the book."""

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from icl_lib.companion import book
from icl_lib.typed import Misdeclared, unknown

T = TypeVar("T")
HERE = "__main__"
"""The module of a script or of the cells of a notebook, where all stands in one place."""


@dataclass(frozen=True)
class Paper:
    """One wing, ``papers/<key>``; its claims are numbered by ``letters``. The library itself does not read it.

    scope   what of the paper the book covers, and what it was read from; easy, hard: what was so when it was recomputed
    """

    key: str
    letters: tuple[str, ...]
    authors: str
    title: str
    arXiv: str
    scope: str = ""
    easy: str = ""
    hard: str = ""


def paper_of(module: str) -> str:
    """Return the wing of a module, zhang of papers.zhang.s4_1_convergence.risk; nothing in a script or a notebook."""
    return _below_wings(module)[0]


def notebook_of(module: str) -> str:
    """Return the notebook of a module's room: zhang_4_1_convergence of papers.zhang.s4_1_convergence.risk."""
    return "_".join(re.sub(r"^s(?=\d)", "", part) for part in _below_wings(module)[:-1])


def _below_wings(module: str) -> list[str]:
    return module.removeprefix(book.of_module(module).wings).removeprefix(".").split(".")


def section_of(module: str) -> str:
    """Return the number of the section a module's room is about, 4.1 of s4_1_convergence; else the room's name in words."""
    room = "".join(module.split(".")[-2:-1])
    numbered = re.match(r"s(\d+(?:_\d+)*)_", room)
    return numbered[1].replace("_", ".") if numbered else room.replace("_", " ")


def in_order(rooms: Iterable[str]) -> list[str]:
    """Return rooms in the order of the paper: those of numbered sections by number, then the others by name.

    >>> from icl_lib.companion import in_order
    >>> in_order(["proofs", "s10_limits", "s4_1_convergence", "s4_model", "figures"])
    ['s4_model', 's4_1_convergence', 's10_limits', 'figures', 'proofs']
    """

    def place(room: str) -> tuple[bool, list[int], str]:
        numbered = re.match(r"s(\d+(?:_\d+)*)_", room)
        return not numbered, [int(part) for part in numbered[1].split("_")] if numbered else [], room

    return sorted(rooms, key=place)


def declared(modules: Iterable[ModuleType], kind: type) -> list:
    """Return what modules declare of a kind, in their order; a name such as ``_`` of a notebook is no declared one."""
    named = (item for module in modules for item in vars(module).items())
    return [value for name, value in named if isinstance(value, kind) and not name.startswith("_")]


def by_name(found: Iterable[T], name: Callable[[T], str]) -> dict[str, T]:
    """Return what is declared by name; raises Misdeclared where two modules declare one name. A cell may be run again."""
    named: dict[str, T] = {}
    for each in found:
        other = named.get(name(each), each)
        if other is not each and {other.module, each.module} != {HERE}:
            raise Misdeclared(f"{name(each)} is declared twice, in {other.module} and {each.module}: rename one")
        named[name(each)] = each
    return named


def require_about(named: Iterable[tuple[str, str]], slugs: Iterable[str]) -> None:
    """Raise Misdeclared for what names a result that is not among those there are: what it is, and the name."""
    slugs = [*slugs]
    for what, slug in named:
        if slug not in slugs:
            raise Misdeclared(f"{what} is about {slug}: {unknown('experiment', slug, slugs)}")


def seen_by(experiment) -> list[ModuleType]:
    """Return the modules of an experiment's room, its claims and figures among them; of a script or a notebook, itself."""
    room = experiment.module.rpartition(".")[0]
    return seen_in(room) if room else [sys.modules[experiment.module]]


def seen_in(package: str) -> list[ModuleType]:
    """Return the modules of a room."""
    room = importlib.import_module(package)
    names = [each.name for each in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")]
    return [importlib.import_module(each) for each in names if not each.endswith(f".{HERE}")]  # which would be executed
