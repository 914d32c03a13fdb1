"""What the quick profile finds, as numbers: `book/data/quick.json`, and how far another machine may be from it."""

import shutil
from pathlib import Path

import numpy as np

from book.builder import judged
from book.builder.cache import Executed
from icl_lib.companion import writing
from icl_lib.companion.quick import FILE, near_claims, stored_quick
from icl_lib.companion.verdict import NOT_REPRODUCED, STANDARD_ERRORS, TOLERANCE, UNDECIDED

SIZES = 10
"""Two estimates of one standard error, of five trainings each, are further apart than this factor once in 1,700 times."""
VERBS = {word: f"is {word}" for word in (NOT_REPRODUCED, UNDECIDED)}
"""Verdicts as what a claim does, where they are no verbs."""


def update(executed: dict[str, Executed], path: Path, others: dict[str, dict] | None = None) -> bool:
    """Write what these notebooks found beside the `others`; whether some were cleared away, for other claims are near now.

    What differs from before only as another machine may differ stays as it was.
    """
    before, found = stored_quick(path), {name: judged.of(one, "quick") for name, one in executed.items()}
    after = {slug: entry for each in found.values() for slug, entry in each.items()}
    other = {slug for slug, entry in after.items() if _near(before, slug, entry) != _near(after, slug, entry)}
    outdated = [name for name, each in found.items() if other & each.keys()]
    for name in outdated:  # before the file is written, so that they are executed again also after an interruption
        shutil.rmtree(executed[name].folder)
    kept = {slug for slug in before.keys() & after.keys() - other if not differences(before, {slug: after[slug]})}
    writing.write_json(path, (others or {}) | after | {slug: before[slug] for slug in kept})
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
            pair = (known["claims"].get(claim_id), now["claims"].get(claim_id))
            sentences += of_claim(claim_id, *pair, record, now["trained"])
    return sentences


def near_differences(stored: dict[str, dict], found: dict[str, dict]) -> list[str]:
    """One sentence for every claim whose words differ from the stored ones so near its margin that this may be the machine."""
    claims = [
        (claim_id, stored[slug]["claims"].get(claim_id), new, now["trained"])
        for slug, now in found.items()
        if slug in stored
        for claim_id, new in now["claims"].items()
    ]
    return [
        f"{id} {_words(new)}; in {FILE} it {_words(old)}: it is so near its margin that another machine may say so."
        for id, old, new, trained in claims
        if old and _undecidable(old, new, trained) and _words(old) != _words(new)
    ]


def of_claim(claim_id: str, old: dict | None, new: dict | None, record: str, trained: bool = False) -> list[str]:
    """What is said of a claim, where it is not what the record says; ``trained`` as `apart` takes it."""
    if old is None:
        return [f"{claim_id} is not in {record}{'; ./run outputs writes it' if record == FILE else ''}."]
    if new is None:
        return [f"{claim_id} is in {record} and was not judged."]
    sentences = []
    if not _undecidable(old, new, trained) and _words(old) != _words(new):
        sentences.append(f"{claim_id} {_words(new)}; in {record} it {_words(old)}.")
    if not np.isclose(old["margin"], new["margin"], TOLERANCE, 0):
        sentences.append(f"{claim_id} has the margin {new['margin']:.3g}; in {record} it is {old['margin']:.3g}.")
    if apart(old, new, trained):
        sentences.append(f"{claim_id} has the value {number(new)}; in {record} it is {number(old)}.")
    return sentences


def _undecidable(old: dict, new: dict, trained: bool) -> bool:
    """Whether another machine may say otherwise: near the margin on both, or on one where networks are ``trained`` anew."""
    return (any if trained else all)((old["near"], new["near"]))


def apart(old: dict, new: dict, trained: bool = False) -> bool:
    """Whether the values are further apart than another machine may move them.

    Networks that are ``trained`` there may be other ones: then some standard errors of the difference, where there are any.
    Errors of another size would leave any room that one likes, and are apart themselves. All else moves by rounding: a
    share of the value, and a number that is made of rounding errors by any within its margin.
    """
    values, margin = np.array([old["value"], new["value"]]), old["margin"]
    if not np.isfinite(values).all():
        return str(values[0]) != str(values[1])
    if new["rounding"] and (abs(values) <= margin).all():
        return False
    rounding, errors = TOLERANCE * max(abs(values[0]), abs(margin)), (old["two_se"], new["two_se"])
    if max(errors) > max(rounding, (SIZES if trained else 1 + TOLERANCE) * min(errors)):
        return True
    error = trained * np.hypot(*errors) / 2
    return bool(abs(values[1] - values[0]) > (STANDARD_ERRORS * error if error > 0 else rounding))


def _words(entry: dict) -> str:
    verdict, control, positive = (VERBS.get(entry[name], entry[name]) for name in ("verdict", "control", "positive"))
    return f"{verdict} and its control {control}" + (f" and its positive input {positive}" if positive else "")


def number(entry: dict) -> str:
    """A value with its error, as it is told."""
    return f"{entry['value']:.3g} ± {entry['two_se']:.1g}"
