"""Settings by name: fields of a declaration changed, compared and listed, ``setting.beta`` for a field of a field."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

from icl_lib.companion.declaration import require_admitted
from icl_lib.typed import unknown


class Refused(ValueError):
    """What a reader asks for and cannot have; a notebook shows its sentence alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


Made = Callable[[object], object]
"""What makes the new value of a field of the present one; raises ValueError when it cannot."""


def changed(declaration, made: Mapping[str, Made]):
    """Return a declaration with all these fields changed at once; raises ValueError in one sentence for what is refused."""
    names = [each.name for each in fields(declaration)]
    own: dict[str, object] = {}
    inner: dict[str, dict[str, Made]] = {}
    for field, new in made.items():
        head, _, rest = field.partition(".")
        if head not in names:
            raise ValueError(unknown(f"field of {type(declaration).__name__}", head, names))
        present = getattr(declaration, head)
        if not rest:
            own[head] = new(present)
        elif is_dataclass(present):
            inner.setdefault(head, {})[rest] = new
        else:
            raise ValueError(f"{head} is one value: write {head}=VALUE")
    own |= {head: changed(own.get(head, getattr(declaration, head)), parts) for head, parts in inner.items()}
    require_admitted(type(declaration), own)
    return replace(declaration, **own)


def given(value: object, field: str) -> Made:
    """Return what makes a field of a value: a single one may stand for a tuple of one, a whole number for a float."""

    def made(present: object) -> object:
        if is_dataclass(present) and not is_dataclass(value):
            inner = ", ".join(each.name for each in fields(present))
            raise ValueError(f"{field} is made of fields: name one, such as {field}.X=VALUE with X one of {inner}")
        plain = _without_numpy(value)
        several = isinstance(present, tuple)
        one = present[0] if several and present else present
        entries = tuple(plain) if several and isinstance(plain, tuple | list | range) else (plain,)
        try:
            entries = tuple(float(each) if type(one) is float and type(each) is int else each for each in entries)
        except OverflowError as error:
            raise ValueError(f"{field} is larger than any number that can be computed with") from error
        return entries if several else entries[0]

    return made


def _without_numpy(value: object) -> object:
    """Return a value, or the entries of several, as Python's own numbers."""
    if isinstance(value, tuple | list):
        return tuple(map(_without_numpy, value))
    return value.tolist() if hasattr(value, "tolist") else value


def read(text: str, field: str) -> Made:
    """Return what makes a field of a text; it has to be of the kind of the present value."""

    def made(present: object) -> object:
        try:
            value = present if text == "" else ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError):  # the last of a set of sets
            value = text
        except (MemoryError, RecursionError) as error:  # thousands of signs, or of brackets
            raise ValueError(f"{field}={text[:20]}... is too long to be read") from error
        found = given(value, field)(present)
        several = isinstance(present, tuple)
        one, entries = (present[0] if present else None, found) if several else (present, (found,))
        other = one is not None and any(type(entry) is not type(one) for entry in entries)  # else its annotation decides
        if text == "" or not entries or other:
            shown = text if len(text) < 60 else f"{text[:60]}..."
            raise ValueError(f"{field}={shown} is not of the kind of its present value {present!r}: give one of that kind")
        return found

    return made


def differences(one, other, within: str = "") -> Iterator[tuple[str, object, object]]:
    """Yield the name of every field in which two declarations of a class differ, with both values."""
    for field in fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if is_dataclass(mine) and type(mine) is type(theirs):
            yield from differences(mine, theirs, f"{within}{field.name}.")
        elif mine != theirs:
            yield f"{within}{field.name}", mine, theirs


def told(values: Mapping[str, object]) -> str:
    """Return settings in words.

    >>> from icl_lib.companion.settings import told
    >>> told({"d": 10, "N": (10, 40)})
    'd = 10; N = 10, 40'
    """
    each = (f"{name} = {', '.join(map(str, value)) if isinstance(value, tuple) else value}" for name, value in values.items())
    return "; ".join(each)


def entries(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and value of every field of a declaration in JSON, ``settings[0]`` for an entry of a list."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key != "class":
                yield from entries(each, f"{name}.{key}".removeprefix("."))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for place, each in enumerate(value):
            yield from entries(each, f"{name}[{place}]")
    else:
        yield name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)
