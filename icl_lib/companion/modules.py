"""Modules of the library and of books, read from their files: what the top level of each binds and imports."""

import ast
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from icl_lib.companion import book

DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


@dataclass(frozen=True)
class Module:
    """A source file by what its top level binds; ``loose`` statements, such as a loop, belong to every definition."""

    bindings: dict[str, list[ast.stmt]]
    imports: dict[str, str]
    loose: list[ast.stmt]


def module_file(module: str) -> Path | None:
    """Return the source file of a module or package of the library or of a loaded book, or None when ``module`` names neither.

    >>> from icl_lib.companion.modules import module_file
    >>> module_file("icl_lib.seeds").name, module_file("numpy")
    ('seeds.py', None)
    """
    package = book.package_of(module)
    if not package:
        return None
    base = Path(sys.modules[package].__file__).parent.joinpath(*module.removeprefix(package).split(".")[1:])
    return next((f for f in (base / "__init__.py", base.with_suffix(".py")) if f.is_file()), None)


@cache
def read(module: str) -> Module:
    """Return one of our modules, or the loaded one of a reader, by what its top level binds."""
    file = file_of(module)
    if file is None:
        raise ValueError("what is declared in a cell is measured and shown, and not stored: write it in a file for that")
    found = Module({}, {}, [])
    for statement in ast.parse(Path(file).read_bytes()).body:
        _enter(found, statement, module)
    return found


def file_of(module: str) -> Path | str | None:
    """Return the file of one of our modules, or of the loaded one of a reader; a cell has none."""
    found = module_file(module) or getattr(sys.modules[module], "__file__", None)
    return found if found and Path(found).is_file() else None  # a script that Python reads from a pipe has none


def _enter(module: Module, statement: ast.stmt, name: str) -> None:
    if isinstance(statement, ast.Import):
        module.imports.update(
            {a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0] for a in statement.names}
        )
    elif isinstance(statement, ast.ImportFrom):
        module.imports.update({a.asname or a.name: whole for a, whole in names_of(statement, name)})
    elif isinstance(statement, DEFINING):
        module.bindings.setdefault(statement.name, []).append(statement)
    elif not is_text(statement) and not _is_main(statement):
        plain = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        names = stored(statement)
        for name in names:
            module.bindings.setdefault(name, []).append(statement)
        if not (plain and names):
            module.loose.append(statement)


def names_of(statement: ast.ImportFrom, module: str) -> list[tuple[ast.alias, str]]:
    """Return what a module imports by a statement, with full names."""
    source = statement.module
    if statement.level:
        package = module if Path(file_of(module)).stem == "__init__" else module.rpartition(".")[0]
        source = importlib.util.resolve_name("." * statement.level + (source or ""), package)
    if statement.names[0].name == "*" and book.package_of(source):
        raise ValueError(f"{module} imports all of {source}: name what it needs, so that its code can be read")
    return [(each, f"{source}.{each.name}") for each in statement.names]


def is_text(statement: ast.stmt) -> bool:
    """Say whether a statement is a text alone, such as a docstring."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant and isinstance(statement.value.value, str)


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)


def stored(node: ast.AST) -> set[str]:
    """Return the names that a statement binds in its own scope."""
    if isinstance(node, DEFINING):
        return {node.name}
    found = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    if isinstance(node, ast.Import | ast.ImportFrom):
        found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(node, ast.ExceptHandler) and node.name:
        found.add(node.name)
    inner = () if isinstance(node, SCOPES) else ast.iter_child_nodes(node)
    return found.union(*(stored(child) for child in inner))
