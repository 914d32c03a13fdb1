"""What changed from one edition's ledger to the next's."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from icl_lib.companion.html import template

FOLDER = "editions"
"""Below `book`: the ledger of every edition that was published, `VERSION.json`."""
NONE = (
    "Version {version} is the first. What was corrected while it was written stands in the errata, by day; what changes "
    "after it will stand here."
)
COMPARED = {"verdict": "verdict", "value": "number", "margin": "margin", "sentence": "sentence"}
"""What is compared of a claim, with its name on the page."""


@dataclass(frozen=True)
class Change:
    """What became of one claim: `kind` is *added*, *gone*, or what changed; `old` and `new` as they were told."""

    claim: str
    kind: str
    old: str = ""
    new: str = ""


def changes(old: Iterable[dict], new: Iterable[dict]) -> list[Change]:
    """Every claim that was added, went, or has another verdict, number, margin or sentence."""
    before, after = told(old), told(new)
    found = [Change(claim, "added", new=one["verdict"]) for claim, one in after.items() if claim not in before]
    found += [Change(claim, "gone", old=one["verdict"]) for claim, one in before.items() if claim not in after]
    for claim in [claim for claim in after if claim in before]:
        pairs = {name: (before[claim][part], after[claim][part]) for part, name in COMPARED.items()}
        found += [Change(claim, name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]]
    return found


def told(ledger: Iterable[dict]) -> dict[str, Mapping[str, str]]:
    """The claims of a ledger by id, each with what is compared of it."""
    return {
        row["id"]: {
            "verdict": row["verdict"],
            "value": row[row["profile"]]["value"],
            "margin": "" if row["margin"] is None else f"{row['margin']:.6g}",
            "sentence": row["sentence"],
        }
        for row in ledger
    }


def earlier(book: Path) -> list[tuple[str, list[dict]]]:
    """The editions that were published, with their ledgers, in the order of their versions."""
    files = sorted((book / FOLDER).glob("*.json"), key=lambda path: [int(part) for part in path.stem.split(".")])
    return [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in files]


def page(published: list[tuple[str, list[dict]]], ledger: list[dict], version: str) -> str:
    """What changed since each edition that came before, the newest first, in Markdown."""
    before = [one for one in published if one[0] != version]
    if not before:
        return NONE.format(version=version)
    steps = [*before, (version, ledger)]
    pairs = zip(steps[:-1], steps[1:], strict=True)
    return "\n\n".join(section(old, new) for old, new in reversed(list(pairs)))


def section(old: tuple[str, list[dict]], new: tuple[str, list[dict]]) -> str:
    """What changed from one edition to the next, in Markdown."""
    return SECTION.render(old=old[0], new=new[0], changes=changes(old[1], new[1]))


SECTION = template(
    """
## {{ new }} after {{ old }}

{% if changes %}
<div class="icl-claims"><table>
<thead><tr>{% for title in ("claim", "what changed", old, new) %}<th scope="col">{{ title }}</th>{% endfor %}</tr></thead>
<tbody>
{% for one in changes %}
<tr><td data-title="claim">{{ one.claim }}</td><td data-title="what changed">{{ one.kind }}</td>\
<td data-title="{{ old }}">{{ one.old }}</td><td data-title="{{ new }}">{{ one.new }}</td></tr>
{% endfor %}
</tbody></table></div>
{% else %}
No claim changed.
{% endif %}"""
)
