"""Which source files of the library a program needs: those that it imports, directly or not."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from icl_lib.companion import identity


@cache
def imported_modules(source: str) -> set[str]:
    """Return the names of our modules that a piece of Python source imports, parent packages included."""
    return {name for target in _targets(ast.parse(source)) for name in _prefixes(target) if identity.module_file(name)}


def _targets(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def with_rooms(modules: set[str]) -> set[str]:
    """Add the claims and figures of every room that is among these modules: `show` finds them by itself."""
    folders = [file.parent for module in modules if (file := identity.module_file(module)) and file.name == "__init__.py"]
    seen = (file for folder in folders for kind in ("claims", "figures") for file in folder.glob(f"{kind}*.py"))
    return modules | {".".join(file.relative_to(identity.ROOT).with_suffix("").parts) for file in seen}


def code_closure(*modules: str) -> list[Path]:
    """Return the source files of these modules and of all they import from this library, directly or not, sorted."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        file = identity.module_file(module)
        if file is None:
            raise ValueError(f"no module {module} in this library: name one such as icl_lib.seeds")
        if module not in found:
            found[module] = file
            waiting += imported_modules(file.read_text(encoding="utf-8"))
    return sorted(set(found.values()))
