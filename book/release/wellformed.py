"""JSON that a bundle brings: no name is told twice, all is as a schema says, and what will be printed is one line."""

import json

import jsonschema

from book.builder.problem import Problem
from book.release.line import is_line
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED

WORDS = [HOLDS, FAILS, UNDECIDED, NOT_REPRODUCED]
"""The verdicts that there are."""
LINE = {"type": "string", "minLength": 1, "maxLength": 200, "format": "line"}
"""A text that a certificate may print."""
RULES = jsonschema.FormatChecker(formats=())


RULES.checks("line")(is_line)


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
