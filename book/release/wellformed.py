"""JSON that a bundle brings: no name is told twice, all is as a schema says, and what will be printed is one line."""

import json
import re

import jsonschema

from book.builder.problem import Problem

BLANK = re.compile("  |[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Printable, and yet nothing is seen. Spaces in a row would fill a line of a terminal, so that what follows begins another."""
LINE = {"type": "string", "minLength": 1, "maxLength": 200, "format": "line"}
"""A text that a certificate may print."""
RULES = jsonschema.FormatChecker(formats=())


@RULES.checks("line")
def is_line(text: object) -> bool:
    """Whether a text has nothing that breaks a line, turns its direction, cannot be seen or cannot be written."""
    return not isinstance(text, str) or (text.isprintable() and not BLANK.search(text))


def read(name: str, content: bytes, schema: dict):
    """What a file of a bundle holds, or a Problem in a sentence."""
    try:
        told = json.loads(content, object_pairs_hook=_once, parse_int=_number)
        jsonschema.Draft202012Validator(schema, format_checker=RULES).validate(told)
    except (ValueError, RecursionError) as error:
        raise Problem(f"{name} cannot be read.") from error
    except jsonschema.ValidationError as error:
        raise Problem(f"{name} is not what it should be: {error.message[:200]}.") from error
    return told


def _once(pairs: list[tuple[str, object]]) -> dict:
    """An object of which no name is told twice."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name is told twice")
    return dict(pairs)


def _number(text: str) -> int:
    """A whole number of a size that can be computed with."""
    if len(text) > 18:
        raise ValueError("a number has too many digits")
    return int(text)
