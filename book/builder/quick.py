"""What the quick profile finds, as numbers: `book/data/quick.json`, and how far another machine may be from it."""

import shutil
from pathlib import Path

import numpy as np

from book.builder import judged
from book.builder.cache import Executed
from icl_lib.companion import writing
from icl_lib.companion.quick import FILE, near_claims, stored_quick
from icl_lib.companion.verdict import STANDARD_ERRORS, TOLERANCE

SIZES = 4
"""Two estimates of one standard error are not further apart than this factor."""
ROUNDING = 1e-4
"""A margin up to here leaves room for rounding only, in float32 at most; within it digits mean nothing."""


def update(executed: dict[str, Executed], path: Path) -> bool:
    """Write what these notebooks found; whether some were cleared away, for other claims are near their margins now."""
    before, found = stored_quick(path), {name: judged.of(one, "quick") for name, one in executed.items()}
    after = {slug: entry for each in found.values() for slug, entry in each.items()}
    other = {slug for slug, entry in after.items() if _near(before, slug, entry) != _near(after, slug, entry)}
    outdated = [name for name, each in found.items() if other & each.keys()]
    for name in outdated:  # before the file is written, so that they are executed again also after an interruption
        shutil.rmtree(executed[name].folder)
    writing.write_json(path, after)
    return bool(outdated)


def _near(stored: dict[str, dict], slug: str, entry: dict) -> set[str]:
    return near_claims(stored, {"slug": slug, "profile": "quick", "seed": "0", "declaration": entry["declaration"]})


def differences(stored: dict[str, dict], found: dict[str, dict], record: str = FILE) -> list[str]:
    """One sentence for every claim of the experiments in `found` that is not as `stored`; `record` names what is stored."""
    sentences = []
    for slug, now in found.items():
        known = stored.get(slug, {"declaration": now["declaration"], "claims": {}})
        if known["declaration"] != now["declaration"]:
            sentences.append(f"{slug} is declared otherwise than in {record}; ./run outputs writes it anew.")
            continue
        for claim_id in known["claims"] | now["claims"]:
            sentences += of_claim(claim_id, known["claims"].get(claim_id), now["claims"].get(claim_id), record)
    return sentences


def near_differences(stored: dict[str, dict], found: dict[str, dict]) -> list[str]:
    """One sentence for every claim whose words differ from the stored ones so near its margin that this may be the machine."""
    claims = [
        (claim_id, stored[slug]["claims"].get(claim_id), new)
        for slug, now in found.items()
        if slug in stored
        for claim_id, new in now["claims"].items()
    ]
    return [
        f"{id} {_words(new)}; in {FILE} it {_words(old)}: it is so near its margin that another machine may say so."
        for id, old, new in claims
        if old and old["near"] and new["near"] and _words(old) != _words(new)
    ]


def of_claim(claim_id: str, old: dict | None, new: dict | None, record: str, sampled: bool = True) -> list[str]:
    """What is said of a claim, where it is not what the record says; ``sampled`` as `apart` takes it."""
    if old is None:
        return [f"{claim_id} is not in {record}{'; ./run outputs writes it' if record == FILE else ''}."]
    if new is None:
        return [f"{claim_id} is in {record} and was not judged."]
    sentences = []
    if not (old["near"] and new["near"]) and _words(old) != _words(new):
        sentences.append(f"{claim_id} {_words(new)}; in {record} it {_words(old)}.")
    if not np.isclose(old["margin"], new["margin"], TOLERANCE, 0):
        sentences.append(f"{claim_id} has the margin {new['margin']:.3g}; in {record} it is {old['margin']:.3g}.")
    if apart(old, new, sampled):
        sentences.append(f"{claim_id} has the value {number(new)}; in {record} it is {number(old)}.")
    return sentences


def apart(old: dict, new: dict, sampled: bool = True) -> bool:
    """Whether the values are further apart than some standard errors of their difference, or a share where there are none.

    Values of the same stored data, not ``sampled`` again, may be apart by that share only. Errors of another size would
    leave any room that one likes, and are apart themselves.
    """
    values, margin = np.array([old["value"], new["value"]]), old["margin"]
    if not np.isfinite(values).all():
        return str(values[0]) != str(values[1])
    if 0 < margin <= ROUNDING and (abs(values) <= margin).all():
        return False
    rounding, errors = TOLERANCE * max(abs(values[0]), abs(margin)), (old["two_se"], new["two_se"])
    if max(errors) > max(rounding, (SIZES if sampled else 1 + TOLERANCE) * min(errors)):
        return True
    error = sampled * np.hypot(*errors) / 2
    return bool(abs(values[1] - values[0]) > (STANDARD_ERRORS * error if error > 0 else rounding))


def _words(entry: dict) -> str:
    said = f"{entry['verdict']} and its control {entry['control']}"
    return f"{said} and its positive input {entry['positive']}" if entry["positive"] else said


def number(entry: dict) -> str:
    """A value with its error, as it is told."""
    return f"{entry['value']:.3g} ± {entry['two_se']:.1g}"
