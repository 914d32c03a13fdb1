"""Faults by rule: every small change that a rule makes in a function, so that the list is not its authors' own."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

from icl_lib.companion import digests
from papers import FLOORS, PAPERS

GROUPS = {
    "shared by rooms": tuple(f"papers/{wing}/*.py" for wing in (*FLOORS, *PAPERS)),
    "displayed formulas": ("papers/*/theory/*.py",),
    "library": tuple(f"icl_lib/{floor}/**/*.py" for floor in ("measure", "models", "tasks", "train", "patches")),
    "verdicts": tuple(f"icl_lib/companion/{name}.py" for name in ("claim", "controls", "slack", "strip", "told", "verdict")),
    "cards": tuple(f"icl_lib/companion/{name}.py" for name in ("cards", "marks", "minute", "quick", "showing", "table")),
    "figures": ("icl_lib/companion/figure.py", "icl_lib/companion/curves.py", "papers/*/lines.py", "papers/**/figures*.py"),
    "boxes": ("papers/*/*/minute.py", "papers/*/minute.py"),
}
"""Where functions are changed, by what a reader sees of them; a file in two groups counts in the later."""
SIZES = ("d", "N", "M", "K", "T", "l", "m", "n")
"""Letters that count something: one is put in the place of another."""
PAIRS = {"min": "max", "argmin": "argmax", "minimum": "maximum", "nanmin": "nanmax", "any": "all", "floor": "ceil"}
OTHER = PAIRS | {other: one for one, other in PAIRS.items()}
ENDS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.In: ast.NotIn, ast.Is: ast.IsNot}
COMPARISONS = ENDS | {other: one for one, other in ENDS.items()}
AXES = {"axis", "dim", "axes"}
STYLE = {
    *("alpha", "arrowprops", "bbox_to_anchor", "capsize", "clip_on", "color", "ecolor", "elinewidth", "facecolor", "fontsize"),
    *("fontweight", "fmt", "ha", "height_ratios", "labelpad", "linestyle", "linewidth", "loc", "marker", "markeredgewidth"),
    *("markerfacecolor", "markersize", "ncols", "pad", "rotation", "size", "va", "width", "width_ratios", "xlim", "xytext"),
    *("ylim", "zorder", "strict"),
}
"""Keywords by which a figure says how it looks, not what it shows; and a guard against what is not there."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, ast.AST, ast.AST]
"""A rule, a node, and what it puts in its place."""


@dataclass(frozen=True)
class Mutant:
    """The change number ``number`` of a function; its rule, and the text before and after. ``group`` is one of ``GROUPS``."""

    group: str
    file: str
    function: str
    number: int
    line: int
    rule: str
    right: str
    wrong: str

    def source(self, root: Path) -> str:
        """Return the source of the file with the change made."""
        tree = ast.parse((root / self.file).read_text(encoding="utf-8"))
        _, right, wrong = list(changes(dict(functions(tree))[self.function]))[self.number]

        class Exchange(ast.NodeTransformer):
            def visit(self, node):
                return wrong if node is right else super().visit(node)

        return ast.unparse(ast.fix_missing_locations(Exchange().visit(tree)))

    def __str__(self) -> str:
        return f"{self.file}: {self.function}: {self.right} -> {self.wrong} ({self.number})"


def every(root: Path) -> list[Mutant]:
    """Return all mutants, one of each function, then a second of each, and so on; which comes first, a digest decides."""
    files = {path: group for group, patterns in GROUPS.items() for each in patterns for path in root.glob(each)}
    rows = []
    for path, group in sorted(files.items()):
        file = path.relative_to(root).as_posix()
        for name, function in functions(ast.parse(path.read_text(encoding="utf-8"))):
            found = [
                Mutant(group, file, name, number, node.lineno, rule, _words(node), _words(wrong))
                for number, (rule, node, wrong) in enumerate(changes(function))
            ]
            rows.append(sorted(found, key=_order))
    rows.sort(key=lambda row: _order(row[0]) if row else "")
    return [each for each in chain.from_iterable(zip_longest(*rows)) if each is not None]


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield the functions of a module and the methods of its classes by qualified name; what is inside belongs to them."""

    def below(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
        for statement in body:
            if isinstance(statement, Function):
                yield prefix + statement.name, statement
            elif isinstance(statement, ast.ClassDef):
                yield from below(statement.body, f"{prefix}{statement.name}.")

    return below(tree.body, "")


def changes(function: Function) -> Iterator[Change]:
    """Yield every change that the rules make in a function's body; its docstring and what is raised stay."""
    nodes = list(_walk(function))
    names = {node.id for node in nodes if isinstance(node, ast.Name)} | {each.arg for each in function.args.args}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        for rule, wrong in _wrong(node, names):
            yield rule, node, ast.copy_location(wrong, node)
    for node in attributes:
        others = {each.attr for each in attributes if each.value.id == node.value.id and id(each) not in called} - {node.attr}
        if id(node) not in called and isinstance(node.ctx, ast.Load) and others:
            wrong = ast.Attribute(node.value, min(others), node.ctx)
            yield "two variables exchanged", node, ast.copy_location(wrong, node)


def _walk(function: Function) -> Iterator[ast.AST]:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.arguments) or isinstance(node, ast.keyword) and node.arg in STYLE:
            continue
        if isinstance(node, ast.AnnAssign):
            waiting += [node.value] if node.value else []
            continue
        yield node
        waiting += reversed([*ast.iter_child_nodes(node)])


def _wrong(node: ast.AST, names: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield the rules that fit one node, and what each puts in its place."""
    match node:
        case ast.Constant(value=bool()):
            yield "condition", ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as value):
            wrong = {value + 1, value - 1, 2 * value} - {value}
            yield from (("constant", ast.Constant(each)) for each in sorted(wrong, key=repr))
        case ast.Name(id=name, ctx=ast.Load()) if name in SIZES:
            yield from (("d and N exchanged", ast.Name(each, node.ctx)) for each in SIZES if each in names and each != name)
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()) if name in OTHER:
            yield "min and max", _named(node, OTHER[name])
        case ast.BinOp(left, ast.Add() | ast.Sub(), right):
            yield "a term dropped", left
            yield "a term dropped", right
            yield "sign", ast.BinOp(left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), right)
        case ast.BinOp(left, ast.Mult() | ast.Div() | ast.Pow() | ast.MatMult(), right):
            yield "a factor dropped", left
            if not isinstance(node.op, ast.Pow | ast.MatMult):
                yield "a factor dropped", right
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield "sign", operand
        case ast.Compare(left, [op], [right]):
            yield "< and <=", ast.Compare(left, [COMPARISONS[type(op)]()], [right])
        case ast.BoolOp(op, values):
            yield "condition", ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.Call(function, [first, second, *rest], keywords) if _exchangeable(first, second):
            yield "two variables exchanged", ast.Call(function, [second, first, *rest], keywords)
        case ast.keyword(arg, ast.Constant(str() as dims)) if arg in AXES or "dims" in str(arg):
            yield "an axis", ast.keyword(arg, ast.Constant(" ".join(reversed(dims.split())) + "_"))


def _exchangeable(first: ast.expr, second: ast.expr) -> bool:
    return ast.dump(first) != ast.dump(second) and not any(
        isinstance(each, ast.Starred | ast.Constant) for each in (first, second)
    )


def _named(node: ast.Name | ast.Attribute, name: str) -> ast.expr:
    return ast.Name(name, node.ctx) if isinstance(node, ast.Name) else ast.Attribute(node.value, name, node.ctx)


@cache
def _words(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 120 else f"{text[:117]}..."


def _order(mutant: Mutant) -> str:
    return digests.of_text(str(mutant))
