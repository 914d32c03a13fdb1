"""What a bundle says was found: the quick results and the ledger, well-formed, to be compared with what is found again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import jsonschema

from book.build.problem import Problem
from book.release.unpacked import SOURCE

QUICK, LEDGER, PINS = (f"{SOURCE}book/data/quick.json", "html/ledger.json", f"{SOURCE}requirements.txt")
CLAIM = {
    "type": "object",
    "required": ["verdict", "control", "value", "two_se", "margin", "positive", "near"],
    "properties": dict.fromkeys(("value", "two_se", "margin"), {"type": "number"}),
}
RESULT = {
    "type": "object",
    "required": ["declaration", "claims"],
    "properties": {"claims": {"type": "object", "additionalProperties": CLAIM}},
}
SCHEMAS = {
    QUICK: {"type": "object", "additionalProperties": RESULT},
    LEDGER: {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}, "full": {"type": "object", "required": ["verdict"]}},
        },
    },
}


@dataclass(frozen=True)
class Recorded:
    """The quick results by slug, the verdict of every claim on the stored results, and the pins of the environment."""

    quick: dict[str, dict]
    verdicts: dict[str, str]
    pins: str

    @classmethod
    def of(cls, kept: Mapping[str, bytes]) -> "Recorded":
        """Read the files that were kept of a bundle, or raise a Problem that names the one at fault."""
        for name in (QUICK, LEDGER, PINS):
            if name not in kept:
                raise Problem(f"{name} is missing; this is not all of a bundle.")
        quick, ledger = (_read(name, kept[name]) for name in (QUICK, LEDGER))
        verdicts = {row["id"]: row["full"]["verdict"] for row in ledger if "full" in row}
        return cls(quick, verdicts, kept[PINS].decode(errors="replace"))


def _read(name: str, content: bytes):
    try:
        told = json.loads(content)
        jsonschema.Draft202012Validator(SCHEMAS[name]).validate(told)
    except (ValueError, RecursionError) as error:
        raise Problem(f"{name} cannot be read.") from error
    except jsonschema.ValidationError as error:
        raise Problem(f"{name} is not what it should be: {error.message[:200]}.") from error
    return told
