"""What a bundle says was found: the quick results and the ledger, well-formed, to be compared with what is found again."""

from collections.abc import Mapping
from dataclasses import dataclass

from book.builder.problem import Problem
from book.release.unpacked import SOURCE
from book.release.wellformed import LINE, read
from icl_lib.companion.told import VERDICTS

QUICK, LEDGER, PINS = (f"{SOURCE}book/data/quick.json", "html/ledger.json", f"{SOURCE}requirements.txt")
CLAIM = {
    "type": "object",
    "required": ["verdict", "control", "value", "two_se", "margin", "positive", "near", "rounding"],
    "properties": {
        **{"verdict": {"enum": VERDICTS}, "control": {"enum": VERDICTS}, "positive": {"enum": ["", *VERDICTS]}},
        **dict.fromkeys(("value", "two_se", "margin"), {"type": "number"}),
        **dict.fromkeys(("near", "rounding"), {"type": "boolean"}),
    },
}
RESULTS = {
    "type": "object",
    "propertyNames": LINE,
    "additionalProperties": {
        "type": "object",
        "required": ["declaration", "trained", "claims"],
        "properties": {
            "declaration": {"type": "string"},
            "trained": {"type": "boolean"},
            "claims": {"type": "object", "propertyNames": LINE, "additionalProperties": CLAIM},
        },
    },
}
"""Results by slug, each with its declaration and the judgement of each of its claims."""
LINES = {"type": "array", "items": LINE}
FOUND = {
    "type": "object",
    "required": ["quick", "full", "earlier", "files"],
    "properties": {
        **dict.fromkeys(("quick", "full", "renewed"), RESULTS),
        **{"earlier": LINES, "files": {"type": "object", "propertyNames": LINE}},
    },
}
"""What an execution of a bundle's code notes."""
NOT_RUN = "not run"
"""The word of the ledger for a claim without a stored result."""
NUMBERS = ("value", "two_se")
STORED = {
    "type": "object",
    "required": ["verdict", "control_verdict", "positive_verdict", "margin"],
    "properties": {
        "verdict": {"enum": [*VERDICTS, NOT_RUN]},
        **dict.fromkeys(("control_verdict", "positive_verdict"), {"enum": ["", *VERDICTS]}),
        "margin": {"type": ["number", "null"]},
        "found": {
            "type": "object",
            "required": NUMBERS,
            "properties": dict.fromkeys(NUMBERS, {"type": "number"}),
        },
    },
}
LEDGER_ROWS = {
    "type": "array",
    "items": {"type": "object", "required": ["id"], "properties": {"id": LINE, "full": STORED}},
}


@dataclass(frozen=True)
class Recorded:
    """The quick results by slug, what is judged of every claim on the stored results, and the pins of the environment."""

    quick: dict[str, dict]
    stored: dict[str, dict]
    pins: str

    @classmethod
    def of(cls, kept: Mapping[str, bytes]) -> "Recorded":
        """Read the files that were kept of a bundle, or raise a Problem that names the one at fault."""
        for name in (QUICK, LEDGER, PINS):
            if name not in kept:
                raise Problem(f"{name} is missing; this is not all of a bundle.")
        ledger = read(LEDGER, kept[LEDGER], LEDGER_ROWS)
        if len({row["id"] for row in ledger}) < len(ledger):
            raise Problem(f"{LEDGER} tells of a claim twice.")
        stored = {row["id"]: row["full"] for row in ledger if "full" in row}
        return cls(read(QUICK, kept[QUICK], RESULTS), stored, kept[PINS].decode(errors="replace"))
