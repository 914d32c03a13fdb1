"""Which source files of the library a program needs: those that it imports, directly or not."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp

from icl_lib.companion.modules import module_file
from papers import BOOK


@cache
def graph() -> grimp.ImportGraph:
    """Return which of our modules imports which."""
    return grimp.build_graph(*BOOK.packages, cache_dir=None)


@cache
def imported_modules(source: str) -> set[str]:
    """Return the names of our modules that a piece of Python source imports, parent packages included."""
    return {part for name in _targets(ast.parse(source)) for part in _parts(name) if part in graph().modules}


def _targets(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _parts(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def with_rooms(modules: set[str]) -> set[str]:
    """Add what stands beside one of these modules and is imported by none, as claims and figures are: `show` finds them."""
    rooms = {module.rpartition(".")[0] for module in modules if not graph().find_children(module)}
    beside = {each for room in rooms for each in graph().find_children(room)}
    return modules | {each for each in beside if not graph().find_modules_that_directly_import(each)}


def code_closure(*modules: str) -> list[Path]:
    """Return the source files of these modules and of all they import from this library, directly or not, sorted."""
    needed = {each for name in modules for each in (name, *graph().find_upstream_modules(name))}
    return sorted({module_file(part) for name in needed for part in _parts(name)})
