"""What an experiment computes and what a dataset holds, laid open as tables and text."""

import ast
import inspect
import json
import linecache
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import get_type_hints

import xarray as xr

from icl_lib.companion import declaration, identity, settings
from icl_lib.companion.claim import Claim
from icl_lib.companion.figure import Drawing
from icl_lib.companion.html import template
from icl_lib.companion.mathematics import plain
from icl_lib.companion.modules import DEFINING
from icl_lib.companion.paper import HERE, by_name, declared, require_about, seen_by
from icl_lib.companion.table import Table

IMPORTS = (ast.Import, ast.ImportFrom)


def described(dataset: xr.Dataset) -> Table:
    """Return what a dataset holds: its variables with their long names, units and dimensions.

    >>> import xarray as xr
    >>> from icl_lib.companion import described, variable
    >>> described(xr.Dataset({"loss": variable("step", [2.0, 1.0], "squared error", "y^2")}))
    name | what it is    | unit | over
    loss | squared error | y^2  | step (2)
    """
    rows = (
        (
            name,
            each.attrs.get("long_name", ""),
            each.attrs.get("units", ""),
            ", ".join(f"{d} ({n})" for d, n in each.sizes.items()),
        )
        for name, each in dataset.variables.items()
    )
    return Table(("name", "what it is", "unit", "over"), tuple(rows))


# --- what is declared ---------------------------------------------------------------------------------------------


def drawing_of(experiment) -> Drawing | None:
    """Return the figure that is named after a result, if there is one; the last where a notebook has made it twice."""
    return {each.name: each for each in declared(seen_by(experiment), Drawing)}.get(experiment.slug)


def claims_about(experiment) -> dict[str, Claim]:
    """Return the claims of its room about a result, by id; raises ValueError for one about a result that the room has not."""
    modules = seen_by(experiment)
    claims = by_name(declared(modules, Claim), lambda claim: claim.id)
    slugs = sorted({experiment.slug, *(each.slug for each in declared(modules, type(experiment)))})
    require_about(((claim.id, claim.experiment) for claim in claims.values()), slugs)
    return {name: claim for name, claim in claims.items() if claim.experiment == experiment.slug}


def settings_of(experiment) -> Table:
    """Return the declaration as a table: fields, their values in quick and in full, what they take and what they are."""
    scales = (experiment.quick, experiment.full)
    quick, full = (dict(settings.entries(json.loads(json.dumps(asdict(each))))) for each in scales)
    rows = ((n, quick.get(n, ""), full.get(n, ""), *_meant(scales[n not in quick], n)) for n in quick | full)
    return Table(("field", "quick", "full", "takes", "meaning"), tuple(rows))


def _meant(owner, name: str) -> tuple[str, str]:
    """Return what a field such as ``settings[0].beta`` takes, and what its class says of it."""
    *within, last = name.split(".")
    for part in within:
        key, *places = re.findall(r"\w+", part)
        owner = getattr(owner, key)
        for place in places:
            owner = owner[int(place)]
    field = re.match(r"\w+", last)[0]
    takes = declaration.words(get_type_hints(type(owner), include_extras=True)[field])
    return takes, _told_of_fields(type(owner)).get(field, "").replace("``", "")


def _told_of_fields(kind: type) -> dict[str, str]:
    """Return what the docstrings of a class and of its bases say of its fields: ``name   words``, and more behind a semicolon.

    Fields that share their words are named together, ``l, alpha: words``; a class has the last word on what it inherits.
    """
    name = f"(?:{'|'.join(each.name for each in fields(kind))})"
    names = f"({name}(?:, {name})*)"
    found = {}
    for each in reversed(kind.__mro__):
        told = inspect.cleandoc(vars(each).get("__doc__") or "")
        for named, text in re.findall(rf"^{names} {{2,}}(.+(?:\n {{2,}}.+)*)", told, re.MULTILINE):
            first, *others = re.split(rf"; {names}: ", " ".join(text.split()))
            for group, words in ((named, first), *zip(others[::2], others[1::2], strict=True)):
                found |= dict.fromkeys(group.split(", "), words)
    return found


# --- its code -----------------------------------------------------------------------------------------------------


def sources(experiment) -> Iterator[tuple[str, str]]:
    """Yield the code of run, expect and figure, each with the file that it stands in."""
    kind, drawn = type(experiment.quick), drawing_of(experiment)
    ours = (next(each for each in kind.__mro__ if method in vars(each)) for method in ("run", "expect"))
    kinds = [each for each in dict.fromkeys([kind, *ours]) if not identity.carries(each.__module__)]
    for each in [*kinds, *([drawn.draw] if drawn else [])]:
        file = f"{each.__module__.replace('.', '/')}.py"
        yield "in this notebook or script" if each.__module__ == HERE else file, code(each)


def code(thing) -> str:
    """Return the source of a class or a function, below the imports that it needs, or why there is none."""
    methods = filter(inspect.isfunction, vars(thing).values()) if isinstance(thing, type) else [thing]
    files = [each.__code__.co_filename for each in map(inspect.unwrap, methods) if hasattr(each, "__code__")]
    files.append(getattr(sys.modules.get(thing.__module__), "__file__", None) or "")  # for a class that has fields alone
    for file in dict.fromkeys(files):
        lines = linecache.getlines(file)  # of a cell, too; for what a dataclass adds, Python 3.13 has `python -c`'s
        tree = ast.parse("".join(lines))
        own = [each for each in tree.body if isinstance(each, DEFINING) and each.name == getattr(thing, "__name__", "")]
        if own:
            first = min(each.lineno for each in (own[-1], *own[-1].decorator_list))
            imports = [ast.unparse(each) for each in _needed(tree, own[-1], thing.__module__)]
            return "\n".join([*imports, *["\n"] * bool(imports), "".join(lines[first - 1 : own[-1].end_lineno])])
    return "# its code cannot be read here"


def _needed(tree: ast.Module, own: ast.stmt, module: str) -> Iterator[ast.stmt]:
    """Yield the imports of a module that one of its definitions needs, one of its other definitions among them."""
    used = {each.id for each in ast.walk(own) if isinstance(each, ast.Name)} - {own.name}
    beside = []
    for statement in tree.body:
        if isinstance(statement, IMPORTS):
            yield from imported(statement, used)
        else:
            bound = [statement.name] if isinstance(statement, DEFINING) else _assigned(statement)
            beside += [ast.alias(name) for name in bound if name in used]
    if beside and module != HERE:
        yield ast.ImportFrom(module, beside, 0)


def imported(statement: ast.Import | ast.ImportFrom, used: set[str]) -> Iterator[ast.stmt]:
    """Yield of an import what binds one of the names, if there is any."""
    names = [each for each in statement.names if (each.asname or each.name.split(".")[0]) in used]
    if names and isinstance(statement, ast.Import):
        yield ast.Import(names)
    elif names:
        yield ast.ImportFrom(statement.module, names, statement.level)


def _assigned(statement: ast.stmt) -> list[str]:
    targets = [*getattr(statement, "targets", ()), getattr(statement, "target", None)]
    return [each.id for target in targets if target for each in ast.walk(target) if isinstance(each, ast.Name)]


# --- all of it ----------------------------------------------------------------------------------------------------


def commands(experiment, words: str = "--seed 7", profile: str = "quick") -> list[str]:
    """Return the commands that compute a result anew, the whole of it first; none where a setting cannot be typed."""
    typed = [f"{name}={_typed(value)}" for name, value in experiment.changed_in(profile).items()]
    try:
        again = experiment.in_the_book.with_settings(profile, typed) if typed else experiment
    except ValueError:
        return []
    if again.declaration(profile) != experiment.declaration(profile):
        return []
    own = [f" --set {shlex.quote(each)}" for each in typed]
    command, names = experiment.book.command, ["figure", "check"] if drawing_of(experiment) else ["check"]
    return [] if not command else [f"{command} {name} {experiment.slug} {words}{''.join(own)}" for name in names]


def _typed(value: object) -> str:
    """Return a value as ``--set`` reads it, if it does."""
    one = isinstance(value, tuple) and len(value) == 1 and not isinstance(value[0], tuple)
    return repr(value[0] if one else value)


def in_words(experiment) -> str:
    """Return what an experiment computes, as text."""
    claims = [f"{claim.id}  {plain(claim.sentence)}" for claim in claims_about(experiment).values()]
    parts = [_title(experiment), repr(settings_of(experiment)), "\n".join(claims), "\n".join(_reruns(experiment))]
    return "\n\n".join(filter(None, parts))


def _title(experiment) -> str:
    changed = f"\nchanged from the book: {settings.told(experiment.changed)}" if experiment.changed else ""
    return f"{experiment.slug}: {experiment.title}{changed}"


def _reruns(experiment) -> list[str]:
    return (
        [experiment.not_stored(0)] if experiment.module == HERE else commands(experiment) or ["its run('quick', 7) computes it"]
    )


def as_html(experiment) -> str:
    """Return what an experiment computes and with which code, as plain HTML."""
    title, *changed = _title(experiment).split("\n")
    return PAGE.render(
        title=title,
        changed=changed,
        table=settings_of(experiment)._repr_html_(),
        sources=sources(experiment),
        claims=claims_about(experiment).values(),
        commands="\n".join(_reruns(experiment)),
    )


PAGE = template(
    """
<div class="icl-experiment">
<p><b>{{ title }}</b></p>
{% for line in changed %}
<p><em>{{ line }}</em></p>
{% endfor %}
{{ table | safe }}
{% for file, code in sources %}
<details><summary>{{ file }}</summary><pre>{{ code }}</pre></details>
{% endfor %}
{% if claims %}
<table>{% for claim in claims %}<tr><th>{{ claim.id }}</th><td>{{ claim.sentence | math }}</td></tr>{% endfor %}</table>
{% endif %}
<pre>{{ commands }}</pre>
</div>"""
)
