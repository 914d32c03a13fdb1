"""What a claim says of itself: the codes of its wording and the parts of its docstring; what is refused, in a sentence.

>>> from icl_lib.companion.told import told_by, unfit
>>> def C1(data):
...     '''A coin shows heads half the time.
...
...     Margin: Two standard errors.
...     Control: sixes of a die
...     '''
>>> told_by(C1)
('A coin shows heads half the time.', {'Margin': 'Two standard errors.', 'Control': 'sixes of a die'})
>>> unfit(told_by(C1)[1], {"control": None, "positive": None}, near=(), of="")
'Control: is told, and control= is missing'
"""

import inspect
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

import numpy as np

from icl_lib.companion.verdict import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from icl_lib.typed import Misdeclared, unknown

CODES = {
    "V": "read in the text of the arXiv version",
    "V2": "read in the text of the arXiv version; the symbols agree with an independent reading note",
    "S": "seen outside the paper: in the authors' own slides, or in a secondary source",
    "A": "read in the published abstract",
    "P": "in a press article by the paper's first author",
    "T": "seen only in a retelling by others",
    "Q": "the paper's words as an article quotes them",
    "D": "found for this book, by proof or by measurement, and not stated in the paper",
    "M": "from memory only",
}
"""How the wording of a claim became known."""
KINDS = ("identity", "formula", "approximation", "bound", "rate", "order", "convergence")
"""What a claim may be: rounding only, an exact expectation, an asymptotic or empirical number, and so on."""
OURS = "D"
"""The code of findings that are ours; the others are those of a paper's own sentences."""
PARTS = ("Margin", "Number", "Moved", "Slack", "Neglects", "Control", "Positive", "Missing", "Fails because")
"""What a claim's docstring tells after its sentence, in this order; only the margin is always there."""
WHOSE = ("the paper", "its retelling", "our threshold", "scale", "our finding")
"""Why a claim does not hold, as ``Fails because:`` begins; ``Missing:`` alone is scale."""
VERDICTS = (HOLDS, UNDECIDED, FAILS, NOT_REPRODUCED)


def told_by(function: Callable) -> tuple[str, dict[str, str]]:
    """Return the sentence of a docstring, and its other parts by name."""
    said = inspect.getdoc(function) or ""
    for word in re.findall(r"\n\s*([A-Z][A-Za-z ]+):", said):
        if word not in PARTS and (meant := get_close_matches(word, PARTS, 1, 0.75)):
            raise Misdeclared(f"{function.__name__}: its docstring says {word}: in the place of {meant[0]}:")
    parts = re.split(rf"\n\s*({'|'.join(PARTS)}):", said)
    sentence, *texts = (" ".join(part.split()) for part in parts)
    told = dict(zip(texts[::2], texts[1::2], strict=True))
    ordered = [part for part in PARTS if part in told]
    if not sentence or not told.get("Margin"):
        raise Misdeclared(
            f"{function.__name__}: its docstring says its sentence, then Margin: and a reason; one of both is missing"
        )
    if texts[::2] != ordered:
        raise Misdeclared(
            f"{function.__name__}: its docstring says {', '.join(f'{part}:' for part in ordered)} once, in this order"
        )
    return sentence, told


def unfit(told: Mapping[str, str], given: Mapping[str, object | None], near: tuple[str, ...], of: str) -> str:
    """Say which control or positive input is not both given and told, if one is not."""
    if isinstance(near, str):
        return f"near= is one text: write near=({near!r},)"
    whose, _, why = told.get("Fails because", "").partition(":")
    if "Fails because" in told and not (whose in WHOSE and why.strip()):
        return f"Fails because: begins with {whose[:40]!r}: take one of {', '.join(WHOSE)}, then a colon and why"
    if not all(isinstance(label, str) and label for label in near):
        return f"near= is {near!r}: take the label of each near miss"
    for name, value in given.items():
        if not (value is None or callable(value)):
            return f"{name}= is {value!r}: take a function of the dataset, such as put(...)"
        part = name.capitalize()
        if (part in told) != (value is not None):
            return f"{name}= is given, and {part}: is missing" if value else f"{part}: is told, and {name}= is missing"
    if bool(near) != bool(of):
        return "of= names a quantity, and near= its near misses: give both or none"
    none = not near and given["control"] is None
    return "it has no near miss: give control= and tell it as Control:, or give of= and near=" if none else ""


def unknown_to_us(confidence: str, kind: str, recorded: str, *margins: float) -> str:
    """Say what a claim is given that there is not."""
    if confidence not in CODES:
        return unknown("code", confidence, CODES)
    if kind not in KINDS:
        return unknown("kind", kind, KINDS)
    if recorded not in VERDICTS:
        return unknown("verdict", recorded, VERDICTS)
    wrong = [
        each
        for each in margins
        if isinstance(each, bool) or not isinstance(each, int | float | np.number) or not np.isfinite(each)
    ]
    return f"its margin is {wrong[0]!r}: take a number" if wrong else ""
