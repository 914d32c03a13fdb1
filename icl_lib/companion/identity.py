"""The code that a number was made with, as one digest; ``origins`` adds declaration, seed, device, weights and versions.

The code of a result is the set of definitions (functions, classes, constants) that its declaration's class reaches, each as
its syntax tree. Names of ours stand in it as the definitions they mean, so that comments, docstrings, annotations, line
breaks and the module in which something lives do not count, and a namesake does. Nor do refusals count, the statements
``refuse(wrong, sentence)``: what has run to its end was refused nothing. Names from outside stand as dotted paths.
"""

import ast
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple

from icl_lib.companion import book, digests
from icl_lib.companion.modules import DEFINING, SCOPES, Module, file_of, is_text, module_file, names_of, read, stored

CARRIER = f"{book.LIBRARY}.companion"
"""The package that carries results and computes none of their numbers: a change there leaves stored numbers valid."""
SILENT = {"annotation", "returns", "type_params", "type_comment", "kind", "ctx"}
"""Fields of syntax trees that compute nothing."""


def expectation(function: Callable) -> Callable:
    """Mark what theory or a paper says beside the numbers: it is no part of the identity of what is measured."""
    return function


EXPECTATION = f" carried.{expectation.__name__}"
"""How the mark is written, from wherever in the companion it is imported."""


class Definition(NamedTuple):
    """A name in one of our modules."""

    module: str
    name: str


REFUSAL = Definition(f"{book.LIBRARY}.typed", "refuse")
"""What refuses a run that would have no number, or a wrong one."""


def carries(module: str) -> bool:
    """Say whether a module carries results."""
    return f"{module}.".startswith(f"{CARRIER}.")


# --- one definition -----------------------------------------------------------------------------------------------


@cache
def written(definition: Definition) -> tuple[str | Definition, ...]:
    """Return the syntax of a definition as text, in which definitions of ours stand for themselves.

    An empty name stands for all of a module.
    """
    module = read(definition.module)
    if not definition.name:
        every = [Definition(definition.module, name) for name in sorted(module.bindings)]
        return tuple(part for each in every for part in ("|", each))
    writer = _Writer(module, definition)
    for statement in [*module.bindings[definition.name], *module.loose]:
        writer.write(statement, frozenset())
    return tuple(writer.parts)


class _Writer:
    def __init__(self, module: Module, definition: Definition):
        self.module, self.definition, self.parts = module, definition, []
        self.outside: dict[int, frozenset[str]] = {}

    def write(self, node: Any, hidden: frozenset[str]) -> None:
        """Write a node; ``hidden`` are the names that enclosing functions bind, and so hide the module's."""
        hidden = self.outside.get(id(node), hidden)
        if isinstance(node, SCOPES):
            self.outside |= {id(each): hidden for each in _evaluated_outside(node)}
        if isinstance(node, list):
            for each in node:
                if not self._leaves_no_trace(each, hidden):
                    self.write(each, hidden)
        elif not isinstance(node, ast.AST):
            self.parts.append(repr(node))
        elif isinstance(node, ast.Name | ast.Attribute) and (meant := self._meant(node, hidden)):
            self.parts.append(meant)
        elif isinstance(node, ast.ImportFrom):  # within a function
            self._named(names_of(node, self.definition.module))
        elif isinstance(node, ast.Import) and any(book.package_of(each.name) for each in node.names):
            self._named([(each, each.name) for each in node.names])
        else:
            self._plain(node, hidden | _bound(node) if isinstance(node, SCOPES) else hidden)

    def _named(self, imported: list[tuple[ast.alias, str]]) -> None:
        for alias, whole in imported:
            own = alias.asname or alias.name
            self.parts += [_imported(whole, []), f" as:{own}" if own != alias.name else ""]

    def _plain(self, node: ast.AST, hidden: frozenset[str]) -> None:
        self.parts.append(f"({type(node).__name__}")
        for name, value in ast.iter_fields(node):
            if name not in SILENT and value is not None and value != []:
                self.parts.append(f" {name}:")
                self.write(value, hidden)
        self.parts.append(")")

    def _leaves_no_trace(self, node: Any, hidden: frozenset[str]) -> bool:
        if isinstance(node, DEFINING):
            checks = node.name == "__post_init__" and all(self._leaves_no_trace(each, hidden) for each in node.body)
            return checks or any(self._meant(mark, hidden) == EXPECTATION for mark in node.decorator_list)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self._meant(node.value.func, hidden) == REFUSAL
        return isinstance(node, ast.Pass) or (isinstance(node, ast.stmt) and is_text(node))

    def _meant(self, node: ast.AST, hidden: frozenset[str]) -> str | Definition | None:
        """Return what a name or a dotted name means when the module binds or imports its first part."""
        path: list[str] = []
        while isinstance(node, ast.Attribute):
            path.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in hidden:
            return None
        if isinstance(node.ctx, ast.Store) and node.id != self.definition.name:  # a field of a class
            return None
        if node.id in self.module.imports:
            return _imported(self.module.imports[node.id], path)
        if node.id in self.module.bindings and not path:
            return Definition(self.definition.module, node.id)
        return None  # an attribute of a definition of ours is written part by part


def _imported(target: str, path: list[str]) -> str | Definition | None:
    """Return the meaning of an imported dotted name, or None when it is an attribute of something of ours."""
    if not book.package_of(target):
        return " " + ".".join([target, *path])
    module, rest = _split([*target.split("."), *path])
    if carries(module):
        return f" carried.{'.'.join(rest)}"
    if not rest:
        return Definition(module, "")
    source = read(module)
    if rest[0] not in source.bindings and rest[0] in source.imports:  # passed on from elsewhere
        return _imported(source.imports[rest[0]], rest[1:])
    return Definition(module, rest[0]) if rest[0] in source.bindings and not rest[1:] else None


def _split(parts: list[str]) -> tuple[str, list[str]]:
    """Return the longest beginning that names a module of ours, and the rest."""
    end = max(end for end in range(1, len(parts) + 1) if module_file(".".join(parts[:end])))
    return ".".join(parts[:end]), parts[end:]


def _evaluated_outside(scope: ast.AST) -> list[ast.AST]:
    """Return what is evaluated before a function or a comprehension is entered, where the names that it binds hide none."""
    if hasattr(scope, "generators"):
        return [scope.generators[0].iter]
    given = [*scope.args.defaults, *filter(None, scope.args.kw_defaults)]
    return given + getattr(scope, "decorator_list", [])


def _bound(scope: ast.AST) -> frozenset[str]:
    """Return the names that a function or a comprehension binds."""
    given = ast.iter_child_nodes(scope.args) if hasattr(scope, "args") else ()  # and not those of a lambda in a default
    arguments = [node.arg for node in given if isinstance(node, ast.arg)]
    elsewhere = {name for node in ast.walk(scope) if isinstance(node, ast.Global) for name in node.names}
    own = (name for child in ast.iter_child_nodes(scope) for name in stored(child))
    return frozenset({*arguments, *own} - elsewhere)


# --- what is reached ----------------------------------------------------------------------------------------------


@cache
def reached(*roots: Definition) -> tuple[Definition, ...]:
    """Return these definitions and all they reach, in the order in which a reader who follows every name meets them."""
    found: dict[Definition, None] = {}
    waiting = [*reversed(roots)]
    while waiting:
        definition = waiting.pop()
        if definition not in found:
            found[definition] = None
            waiting += [part for part in reversed(written(definition)) if isinstance(part, Definition)]
    return tuple(found)


def parts(declaration) -> list:
    """Return a declaration and the declarations in its fields, at any depth."""
    if isinstance(declaration, tuple):
        return [found for entry in declaration for found in parts(entry)]
    if not is_dataclass(declaration) or isinstance(declaration, type):
        return []
    return [declaration, *parts(tuple(getattr(declaration, field.name) for field in fields(declaration)))]


def readable(declaration) -> bool:
    """Say whether the code of a declaration is in files: that of a cell is not, and has no identity."""
    return all(file_of(type(part).__module__) for part in parts(declaration))


def definitions(declaration) -> tuple[Definition, ...]:
    """Return every definition that a run of a declaration may use; raises ValueError for what is declared in a cell.

    What a class reaches is its code; the numbers of a declaration are no part of it:

    >>> from icl_lib.companion.identity import code, definitions
    >>> from icl_lib.models.baselines import OneGradientStep, Ridge
    >>> [each.name for each in definitions(OneGradientStep(0.5))]
    ['OneGradientStep', 'predict', 'mean_label_input']
    >>> code(Ridge(1.0)) == code(Ridge(2.0)), code(Ridge(1.0)) == code(OneGradientStep(1.0))
    (True, False)
    """
    classes = [Definition(type(part).__module__, type(part).__qualname__) for part in parts(declaration)]
    if not classes:
        raise ValueError(f"{declaration!r:.60} is no declaration: give an instance of a dataclass")
    for each in classes:
        if each.name not in read(each.module).bindings:
            raise ValueError(f"{each.name} is no class at the top of a module: define it there, so that its code can be read")
    return reached(*classes)


@cache
def digest(found: tuple[Definition, ...]) -> str:
    """Return the digest of definitions as ``reached`` gives them; a name of ours counts as its place among them."""
    number = {definition: f" #{place}" for place, definition in enumerate(found)}
    text = "\n".join("".join(number.get(part, part) for part in written(definition)) for definition in found)
    return digests.of_text(text)[:16]


def code(declaration) -> str:
    """Return the digest of the code that a run of a declaration may use."""
    return digest(definitions(declaration))


def trains(declaration) -> bool:
    """Say whether a run of a declaration may train: other machines then get other numbers, else the same up to rounding."""
    return Definition("icl_lib.train.loop", "train") in definitions(declaration)
